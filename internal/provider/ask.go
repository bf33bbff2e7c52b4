package provider

import (
	"context"
	"errors"
	"net/http"
	"time"

	"weir/internal/dialect"
	"weir/internal/llm"
)

const (
	askFor   = 20 * time.Second // one question, from the dial to the end of the answer
	maxAsked = 8 << 20          // bytes of an answer: a Responses object has all of the text
	// keysAsked is how many credentials a question is asked with: which one the reply was
	// asked for with is not kept.
	keysAsked = 4
)

// Asks reports whether the provider can be asked about replies in a wire format. Nil stands
// for any.
func (p *Provider) Asks(in *dialect.Dialect) bool {
	way := p.opts.Ask
	return way != nil && (way.Every || in == nil || in.Asks(way))
}

// ErrNotTold says that the provider was reached and does not say what the reply used: it is
// still at work, has not put it on record yet, or keeps none.
var ErrNotTold = errors.New("the provider does not say what the reply used")

// Ask asks the provider what a reply used and cost in the end; key is a credential, as in
// Call. It is a GET, which makes nothing and is charged for nothing, so that it needs no
// hold of the ledger. Of the answer the usage, the tier and the provider's own figure are
// decoded. The error is ErrNotTold, or a *Failure.
func (p *Provider) Ask(ctx context.Context, id string, key int) (*llm.Reply, error) {
	if key < 0 || key >= p.Keys() || !p.Asks(nil) {
		return nil, p.internal(errNoKey)
	}
	way, quirks := p.opts.Ask, &p.opts.Quirks
	if !way.Every && !p.opts.Dialect.Asks(way) {
		quirks = &p.otherQuirks
	}
	c := Call{Dialect: p.opts.Dialect, Op: llm.OpChat, Key: key}
	body, f := p.question(ctx, &c, http.MethodGet, p.prefix+way.Path(id), bounds{askFor, maxAsked})
	if f != nil && f.Status == http.StatusNotFound {
		return nil, ErrNotTold
	}
	if f != nil {
		return nil, f
	}
	reply, _ := way.Decode(body, quirks) // beside an error, such as that of a cancelled answer, is its usage
	if reply == nil || !reply.Reported || reply.Most != nil || reply.ID != id || len(reply.Choices) > 0 &&
		reply.Choices[0].Finish == "" {
		return nil, ErrNotTold
	}
	return reply, nil
}

// AskWithAny asks with one credential after the other until one is told of the reply.
func (p *Provider) AskWithAny(ctx context.Context, id string) (reply *llm.Reply, err error) {
	for key := range min(p.Keys(), keysAsked) {
		if reply, err = p.Ask(ctx, id, key); err == nil {
			return reply, nil
		}
	}
	return nil, err
}

// bounds are those of a question that is charged for nothing.
type bounds struct {
	within time.Duration // from the dial to the end of the answer
	answer int64         // bytes
}

// question is the body of what the provider answers to a question that is charged for nothing.
func (p *Provider) question(ctx context.Context, c *Call, method, target string, most bounds) ([]byte, *Failure) {
	x := p.newExchange(ctx, false)
	defer x.finish()
	x.endWithin(most.within)
	if f := p.sign(x, c, target); f != nil {
		return nil, f
	}
	a, err := p.wire.send(x, c, method, target)
	if err != nil {
		return nil, x.failure(err, false)
	}
	r := &Response{
		Status: a.status, Header: a.header, Body: &body{x: x, src: a.body},
		exchange: x, dialect: c.Dialect, length: a.length,
	}
	defer func() { _ = r.Body.Close() }()
	if f := r.judge(false, c.Dialect.For(c.Op)); f != nil {
		return nil, f
	}
	return r.readBounded(most.answer)
}
