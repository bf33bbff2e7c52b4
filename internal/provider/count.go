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
	countFor   = 5 * time.Second // for one count, from dialling to the end of the answer
	maxCounted = 1 << 20         // bytes of an answer: vLLM lists every token
	// countsAtOnce bounds the concurrent counts at a provider, each for another API key of Weir.
	countsAtOnce = 4
	// countsRest is how long no count is requested after a failed one.
	countsRest = 10 * time.Second
)

// ErrNotCounted means that no count was requested, because others are running or the last one failed.
var ErrNotCounted = errors.New("no count of tokens is requested from the provider now")

// Counts returns how the provider counts the tokens of chats in a wire format; nil if it cannot.
func (p *Profile) Counts(in *dialect.Dialect) *dialect.Counter {
	if way := p.opts.Counter; way != nil && in.Counts(way) {
		return way
	}
	return nil
}

// Count lets the provider count the tokens of a chat for its model; caller is the id of an API key. The request is a
// POST that generates nothing and is not charged, so that it needs no hold in the ledger. A caller has at most one
// count at a time. Only the dialect, model, body, headers and key of the call are used. The error is ErrNotCounted or a
// *Failure.
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

// counts are the running counts at a provider.
type counts struct {
	mu      sync.Mutex
	callers []string // of running counts, at most countsAtOnce
	rest    time.Time
}

// begin reports whether a count may be requested, and registers it.
func (c *counts) begin(caller string, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Before(c.rest) || len(c.callers) >= countsAtOnce || slices.Contains(c.callers, caller) {
		return false
	}
	c.callers = append(c.callers, caller)
	return true
}

// end removes a finished count. After a failure of the provider no counts are requested for a while; a refused request
// or a client that left has no such effect.
func (c *counts) end(caller string, f *Failure, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.callers = slices.DeleteFunc(c.callers, func(other string) bool { return other == caller })
	if f == nil || f.Kind == KindCanceled {
		return
	}
	if f.Status < 400 || f.Status >= 500 || f.Status == http.StatusTooManyRequests {
		c.rest = now.Add(countsRest)
	}
}
