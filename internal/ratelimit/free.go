package ratelimit

import (
	"context"
	"fmt"
	"time"

	"weir/internal/llm"
)

// Rejections bounds the attempts a minute of a key and of an account that providers may reject without a charge; 0
// means no limit. Each attempt adds a row to the ledger, and no budget bounds them.
type Rejections struct{ PerKey, PerAccount int64 }

// The windows of attempts that cost nothing are separate from those of the limits. Their requests are attempts at
// unavailable providers, and their tokens are rejected attempts.
const (
	freeOfKey rank = numRanks + iota
	freeOfAccount
)

// freeWindow identifies a window of attempts that cost nothing.
type freeWindow struct {
	subject subject
	most    int64 // a minute
	of      string
}

// free returns the windows of the caller's attempts that cost nothing: of its key, and of its account.
func (l *Limiter) free(c *Caller) [2]freeWindow {
	most := l.policy.Load().Rejected
	return [2]freeWindow{
		{subject{freeOfKey, c.Key}, most.PerKey, "key"},
		{subject{freeOfAccount, c.Account}, most.PerAccount, "account"},
	}
}

// Rejected counts attempts of an admitted request that providers rejected without a charge. Attempts in flight may
// exceed the limit; the excess delays later ones, so that the average does not exceed the limit.
func (l *Limiter) Rejected(c Caller, attempts int64) {
	now := l.elapsed()
	for _, f := range l.free(&c) {
		if f.most == 0 {
			continue
		}
		w := l.memory.lock(f.subject, now)
		w.add(now, 0, attempts)
		if over := min(attempts, w.tokens-f.most); over > 0 {
			w.full = max(w.full, now+span*time.Second) + time.Duration(over)*time.Minute/time.Duration(f.most)
		}
		w.mu.Unlock()
		if l.remote != nil {
			l.remote.outbox.put(change{key: f.subject.windowKey(), excess: attempts})
		}
	}
}

// admitRejected refuses a caller if providers have rejected too many of its attempts within a minute. It queries
// Valkey if this node has seen a rejected attempt of the caller.
func (l *Limiter) admitRejected(ctx context.Context, c *Caller) error {
	seen, err := l.lookAtRejected(c)
	if err != nil || !seen || l.remote == nil {
		return err
	}
	if open, _ := l.remote.breaker.state(l.elapsed()); open {
		return nil
	}
	r := Reservation{limiter: l}
	windows := l.free(c)
	for _, f := range windows {
		r.parts = append(r.parts, level{subject: f.subject, own: Limits{TPM: f.most}})
	}
	r.enforce(1, 0)
	no, err := l.remote.reserve(ctx, &r)
	switch {
	case err != nil:
		l.remote.breaker.trip(err)
	case no.wait > 0:
		return l.tooManyRejected(&windows[no.of.subject.rank-freeOfKey], no.wait)
	}
	return nil
}

// lookAtRejected checks the same by this node's data. seen reports whether the node has seen any.
func (l *Limiter) lookAtRejected(c *Caller) (seen bool, err error) {
	now, nodes := l.elapsed(), l.sharers()
	for _, f := range l.free(c) {
		w := l.memory.find(f.subject)
		if w == nil || f.most == 0 {
			continue
		}
		w.mu.Lock()
		w.advance(now)
		seen = seen || w.tokens > 0
		wait := max(w.full-now, w.wait(now, w.tokens+1-share(f.most, nodes), theTokens))
		w.mu.Unlock()
		if wait > 0 {
			return true, l.tooManyRejected(&f, wait)
		}
	}
	return seen, nil
}

// sharers returns by how many nodes this one divides limits that it decides by itself; 1 if it has them alone.
func (l *Limiter) sharers() int64 {
	if l.remote == nil {
		return 1
	}
	if open, unsure := l.remote.breaker.state(l.elapsed()); open || unsure {
		return int64(max(1, l.nodes()))
	}
	return 1
}

func (l *Limiter) tooManyRejected(f *freeWindow, wait time.Duration) error {
	l.refused.Add(1)
	return &llm.Error{
		Code: llm.CodeRateLimited, RetryAfter: wait,
		Message: fmt.Sprintf("Providers have rejected %d requests of this %s within a minute, so no more are "+
			"sent for now. Correct the requests: their error messages say what is wrong. %s", f.most, f.title(),
			llm.TryAgain(wait)),
		Err: &Exceeded{Of: f.of, What: "rejected", Limit: f.most},
	}
}

// title returns the owner of the window for messages.
func (f *freeWindow) title() string {
	if f.of == "key" {
		return "API key"
	}
	return f.of
}

// AdmitUnavailable admits a request to an unavailable provider, so that its recovery is noticed: within a minute as
// many of a key and an account as may be rejected, and after that one a second. The error has the limit.
func (l *Limiter) AdmitUnavailable(c Caller) error {
	now := l.elapsed()
	for _, f := range l.free(&c) {
		if f.most == 0 {
			continue
		}
		w := l.memory.lock(f.subject, now)
		last := len(w.buckets) - 1
		tried := last >= 0 && w.buckets[last].second == second(now) && w.buckets[last].requests > 0
		refused := tried && w.requests >= f.most
		if !refused {
			w.add(now, 1, 0)
		}
		w.mu.Unlock()
		if refused {
			return &Exceeded{Of: f.of, What: "unavailable", Limit: f.most}
		}
	}
	return nil
}
