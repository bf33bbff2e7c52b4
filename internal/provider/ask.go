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
	askFor   = 20 * time.Second // for one query, from dialling to the end of the answer
	maxAsked = 8 << 20          // bytes of an answer: a Responses object contains the whole text
	// keysAsked bounds the credentials that a query is tried with, because the ledger does not record which one the
	// reply was requested with.
	keysAsked = 4
)

// Asks reports whether the provider can be queried about replies in a wire format; nil stands for any format.
func (p *Profile) Asks(in *dialect.Dialect) bool {
	way := p.opts.Ask
	return way != nil && (way.Every || in == nil || in.Asks(way))
}

// ErrNotTold means that the provider was reached but did not report the usage of the reply: it is still working, has
// not stored the reply yet, or does not store it.
var ErrNotTold = errors.New("the provider does not report the usage of the reply")

// Ask queries the provider for the usage and cost of an earlier reply; key is a credential, as in Call. The query is a
// GET, which is never charged, so that it needs no hold in the ledger. Only the usage, the service tier and the
// provider's own cost are decoded. The error is ErrNotTold or a *Failure.
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
	reply, _ := way.Decode(body, quirks) // the usage is also valid next to an error, such as that of a cancelled answer
	if reply == nil || !reply.Reported || reply.Most != nil || reply.ID != id || len(reply.Choices) > 0 &&
		reply.Choices[0].Finish == "" {
		return nil, ErrNotTold
	}
	return reply, nil
}

// AskWithAny queries with one credential after the other until one of them gets the usage.
func (p *Provider) AskWithAny(ctx context.Context, id string) (reply *llm.Reply, err error) {
	for key := range min(p.Keys(), keysAsked) {
		if reply, err = p.Ask(ctx, id, key); err == nil {
			return reply, nil
		}
	}
	return nil, err
}

// bounds are the bounds of a query that is not charged.
type bounds struct {
	within time.Duration // from dialling to the end of the answer
	answer int64         // bytes
}

// question sends a query that is not charged, and returns the body of its answer.
func (p *Provider) question(ctx context.Context, c *Call, method, target string, most bounds) ([]byte, *Failure) {
	x := p.newExchange(ctx, false)
	defer x.abandon()
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
		exchange: x, dialect: c.Dialect, length: a.length, most: most.answer,
	}
	defer func() { _ = r.Body.Close() }()
	if f := r.judge(false, c.Dialect.For(c.Op)); f != nil {
		return nil, f
	}
	for {
		if whole, f := r.readPiece(false); whole || f != nil {
			return r.text(), f
		}
	}
}
