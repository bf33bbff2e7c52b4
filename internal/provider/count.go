package provider

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"weir/internal/dialect"
	"weir/internal/llm"
)

const (
	countFor   = 5 * time.Second // one count, from the dial to the end of the answer
	maxCounted = 1 << 20         // bytes of an answer: vLLM lists every token
	// countsAtOnce is how many counts a provider is asked for at a time, each for another key of Weir's.
	countsAtOnce = 4
	// countsRest is how long a provider is asked for no count after one that it did not give.
	countsRest = 10 * time.Second
)

// ErrNotCounted says that the provider was not asked for a count, as it counts others or did not count the last one.
var ErrNotCounted = errors.New("the provider is not asked for a count of tokens now")

// Counts reports whether the provider counts the tokens of chats in a wire format, and how; nil for not.
func (p *Provider) Counts(in *dialect.Dialect) *dialect.Counter {
	if way := p.opts.Counter; way != nil && in.Counts(way) {
		return way
	}
	return nil
}

// Count asks the provider how many tokens its model reads of a chat, for the caller of that id. It is a POST that makes
// nothing and is charged for nothing, so that it needs no hold of the ledger. A caller has one count at a time. Of the
// call the dialect, model, body, headers and key count. The error is ErrNotCounted, or a *Failure.
func (p *Provider) Count(ctx context.Context, c Call, caller string) (int64, error) {
	way := p.Counts(c.Dialect)
	if way == nil || !p.counts.begin(caller, p.opts.Now()) {
		return 0, ErrNotCounted
	}
	tokens, f := p.count(ctx, way, &c)
	p.counts.end(caller, f, p.opts.Now())
	if f != nil {
		return 0, f
	}
	return tokens, nil
}

func (p *Provider) count(ctx context.Context, way *dialect.Counter, c *Call) (int64, *Failure) {
	prefix := p.prefix
	if way.AtRoot {
		prefix = strings.TrimSuffix(prefix, "/v1")
	}
	target, err := p.escape(prefix + way.Path(c.Model, false))
	if err == nil {
		err = p.check(c)
	}
	if err != nil {
		return 0, p.internal(err)
	}
	body, f := p.question(ctx, &Call{
		Dialect: c.Dialect, Op: llm.OpChat, Model: c.Model, Key: c.Key, Header: c.Header,
		Body: way.Body(c.Body, c.Model),
	}, http.MethodPost, target, bounds{countFor, maxCounted})
	if f != nil {
		return 0, f
	}
	reply, err := way.Decode(body, p.Quirks(c.Dialect))
	if err != nil {
		return 0, p.failure(KindProtocol, true, err)
	}
	return reply.Counted, nil
}

// counts are those that a provider is asked for.
type counts struct {
	mu      sync.Mutex
	callers []string // of those under way, at most countsAtOnce
	rest    time.Time
}

// begin reports whether a count may be asked for.
func (c *counts) begin(caller string, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Before(c.rest) || len(c.callers) >= countsAtOnce || slices.Contains(c.callers, caller) {
		return false
	}
	c.callers = append(c.callers, caller)
	return true
}

// end takes note of a count that has come, or of why it has not. What the caller's request is refused for, or that the
// caller left, says nothing of the next one's.
func (c *counts) end(caller string, f *Failure, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.callers = slices.DeleteFunc(c.callers, func(other string) bool { return other == caller })
	if f != nil && f.Kind != KindCanceled && (f.Status < 400 || f.Status >= 500 || f.Status == http.StatusTooManyRequests) {
		c.rest = now.Add(countsRest)
	}
}
