package ratelimit

import (
	"context"
	"fmt"
	"time"

	"weir/internal/llm"
)

// Rejections are how many attempts a minute of a key, and of an account, may be rejected by providers for nothing;
// 0 for any number. Each leaves a row in the ledger, and costs nothing that would bound them.
type Rejections struct{ PerKey, PerAccount int64 }

// The windows of attempts that cost nothing are beside those of the limits. Their requests are attempts at providers
// that are unavailable, and their tokens are attempts that were rejected.
const (
	freeOfKey rank = numRanks + iota
	freeOfAccount
)

// freeWindow says whose attempts for nothing a window counts.
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

// Rejected counts so many attempts of a request that providers rejected, though it was let in, and which cost nothing.
// What is counted beyond the limit, because it was in flight already, has to be waited for: so on average there are no
// more than the limit.
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

// admitRejected refuses a caller of whose attempts providers have rejected too many within a minute. It asks Valkey
// where this node has seen such an attempt of the caller.
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

// lookAtRejected is admitRejected by what this node knows. Seen is whether it knows of any.
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

// sharers returns among how many nodes this one has to divide limits that it decides by itself; 1 for none but this.
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
		Message: fmt.Sprintf("Providers have rejected %d requests of this %s within a minute, and no more are sent for now. "+
			"Correct the requests: the answers to them say what is wrong. %s", f.most, f.title(), llm.TryAgain(wait)),
		Err: &Exceeded{Of: f.of, What: "rejected", Limit: f.most},
	}
}

// title returns the owner of the window for people.
func (f *freeWindow) title() string {
	if f.of == "key" {
		return "API key"
	}
	return f.of
}

// AdmitUnavailable lets a request try a provider that is unavailable, so that somebody notices when it is back: as many
// of a key and an account within a minute as may be rejected, and beyond these one a second. The error says how many
// there were.
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
