package ratelimit

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"weir/internal/llm"
)

// Options configures a Limiter. Now and Log are required.
type Options struct {
	Policy Policy
	// Valkey is a redis:// URL (or rediss, valkey, valkeys); empty for limits in memory.
	Valkey llm.Secret
	// Nodes returns how many nodes share the limits, at least 1; nil means one.
	Nodes func() int
	// Timeout is how long a request waits for Valkey; 0 means 50 ms.
	Timeout time.Duration
	Now     func() time.Time
	Log     *slog.Logger
}

// Limiter decides whether a request is admitted now. Its methods may be called concurrently.
type Limiter struct {
	policy atomic.Pointer[Policy]
	memory *memory
	parts  newParts
	remote *remote // nil for limits in memory
	nodes  func() int
	now    func() time.Time
	start  time.Time

	admitted, refused, alone atomic.Int64
}

// New returns a limiter. It returns an error if the URL of Valkey is invalid, but not if Valkey cannot be reached:
// Run connects again.
func New(o Options) (*Limiter, error) {
	l := &Limiter{memory: newMemory(), nodes: o.Nodes, now: o.Now, start: o.Now()}
	l.Use(o.Policy)
	if l.nodes == nil {
		l.nodes = func() int { return 1 }
	}
	if o.Valkey.IsZero() {
		return l, nil
	}
	var err error
	l.remote, err = newRemote(&o, l.elapsed)
	return l, err
}

// Use replaces the policy for all later requests.
func (l *Limiter) Use(p Policy) { l.policy.Store(&p) }

// elapsed returns the limiter's own time, which changes of the system clock do not affect.
func (l *Limiter) elapsed() time.Duration { return l.now().Sub(l.start) }

// Reserve takes the request from all limits of its caller and its parts: one request, its tokens, and one slot. If
// one limit is exceeded, it takes nothing. The error is then a *llm.Error with CodeRateLimited that names the limit,
// and the request would be admitted after RetryAfter if no other request comes. It waits at most the configured
// timeout, for Valkey.
//
// Settle must be called on r, however the request ends. If nothing is limited, r is unchanged.
func (l *Limiter) Reserve(ctx context.Context, r *Reservation, c Caller, tokens int64) error {
	if err := l.admitRejected(ctx, &c); err != nil {
		return err
	}
	own, some := l.policy.Load().limits(&c)
	if !some {
		return nil
	}
	if err := l.admitParts(&c); err != nil {
		return err
	}
	*r = Reservation{limiter: l}
	r.prepare(&c, &own)
	no := l.decide(ctx, r, min(maxTokens, max(0, tokens)))
	if no.wait == 0 {
		l.admitted.Add(1)
		return nil
	}
	l.refused.Add(1)
	return no.err()
}

// decide asks Valkey, or this node's memory if there is no Valkey or during an outage, or both for a window after
// one.
func (l *Limiter) decide(ctx context.Context, r *Reservation, tokens int64) refusal {
	if l.remote == nil {
		r.enforce(1, tokens)
		return r.reserve(l.memory, l.elapsed())
	}
	l.remote.name(r)
	open, unsure := l.remote.breaker.state(l.elapsed())
	if open || unsure {
		if no := l.decideAlone(r, tokens); no.wait > 0 || open {
			return no
		}
	}
	r.enforce(1, tokens)
	no, err := l.remote.reserve(ctx, r)
	if err == nil {
		r.record(l.memory, l.elapsed(), no)
		l.afterwards(r, no)
		return no
	}
	l.remote.breaker.trip(err)
	if r.taken {
		l.alone.Add(1)
		l.remote.hold(r)
		return refusal{}
	}
	if no = l.decideAlone(r, tokens); no.wait > 0 {
		l.remote.free(r)
	}
	return no
}

// afterwards applies Valkey's decision about a request.
func (l *Limiter) afterwards(r *Reservation, no refusal) {
	switch {
	case no.wait == 0:
		l.remote.hold(r)
	case r.taken:
		r.giveBack()
	}
}

// decideAlone decides by this node's share of the limits.
func (l *Limiter) decideAlone(r *Reservation, tokens int64) refusal {
	r.enforce(int64(max(1, l.nodes())), tokens)
	no := r.reserve(l.memory, l.elapsed())
	if open, _ := l.remote.breaker.state(l.elapsed()); open {
		l.alone.Add(1)
		if no.wait == 0 {
			l.remote.hold(r)
		}
	}
	return no
}

// Look returns the refusal that Reserve would return now, by this node's data only; nil if the request may be
// admitted. It takes nothing. With Valkey, a node only knows from an earlier refusal until when all requests of a
// minute are used; it knows nothing about tokens.
func (l *Limiter) Look(c Caller, tokens int64) error {
	if _, err := l.lookAtRejected(&c); err != nil {
		return err
	}
	own, some := l.policy.Load().limits(&c)
	if !some {
		return nil
	}
	r, nodes, alone := Reservation{limiter: l}, 1, true
	r.prepare(&c, &own)
	if l.remote != nil {
		open, unsure := l.remote.breaker.state(l.elapsed())
		nodes, alone = l.nodes(), open || unsure
	}
	if !alone {
		nodes = 1 // Valkey enforces the whole limits
	}
	r.enforce(int64(max(1, nodes)), min(maxTokens, max(0, tokens)))
	no := r.look(l.memory, l.elapsed(), alone)
	if no.wait == 0 {
		return nil
	}
	l.refused.Add(1)
	return no.err()
}

// Status returns the remaining limits of a caller, by this node's data only. It is for replies to requests that are
// not limited or were refused earlier.
func (l *Limiter) Status(c Caller) llm.RateLimitStatus {
	own, some := l.policy.Load().limits(&c)
	if !some {
		return llm.RateLimitStatus{}
	}
	now := l.elapsed()
	var levels [numRanks]level
	for i := range levels {
		levels[i].limits = own[i]
		if !levels[i].limited() {
			continue
		}
		if w := l.memory.find(subject{rank(i), c.id(rank(i))}); w != nil {
			w.mu.Lock()
			w.advance(now)
			levels[i].used = w.view(now)
			w.mu.Unlock()
		}
	}
	return statusOf(&levels)
}

// Run maintains the connection to Valkey until ctx ends, and then sends the remaining changes. Without Valkey it
// returns at once.
func (l *Limiter) Run(ctx context.Context) {
	if l.remote != nil {
		l.remote.run(ctx)
	}
}

// Close closes the connections. The limiter must not be used afterwards.
func (l *Limiter) Close() error {
	if l.remote != nil {
		l.remote.close()
	}
	return nil
}

// Shared reports whether the limits are on Valkey.
func (l *Limiter) Shared() bool { return l.remote != nil }

// Degraded returns why limits are decided from this node's memory although they should be shared; nil if all is well.
// It contains no secret, but addresses: it is for the log and for operators.
func (l *Limiter) Degraded() error {
	if l.remote == nil {
		return nil
	}
	return l.remote.breaker.problem()
}

// Stats holds counts since the start, and gauges.
type Stats struct {
	Admitted int64 // requests with some limit
	Refused  int64
	Alone    int64 // of both, decided from memory during an outage of Valkey
	Outages  int64 // detected outages of Valkey
	Dropped  int64 // changes of counters that were not sent to Valkey
	Pending  int   // changes that wait to be sent
	Windows  int   // in memory
	Degraded bool
}

// Stats returns the limiter's figures.
func (l *Limiter) Stats() Stats {
	s := Stats{Admitted: l.admitted.Load(), Refused: l.refused.Load(), Alone: l.alone.Load(), Windows: l.memory.count()}
	if v := l.remote; v != nil {
		s.Outages, s.Dropped, s.Pending = v.breaker.outages.Load(), v.outbox.dropped.Load(), v.outbox.len()
		s.Degraded = v.breaker.problem() != nil
	}
	return s
}
