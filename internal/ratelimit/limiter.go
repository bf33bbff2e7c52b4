package ratelimit

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"weir/internal/llm"
)

// Options is what a Limiter is made of. Now and Log are required.
type Options struct {
	Policy Policy
	// Valkey is a redis:// URL (or rediss, valkey, valkeys); empty for limits in
	// memory.
	Valkey llm.Secret
	// Nodes is how many nodes share the limits, at least 1; nil for one alone.
	Nodes func() int
	// Timeout is how long a request waits for Valkey; 0 for 50 ms.
	Timeout time.Duration
	Now     func() time.Time
	Log     *slog.Logger
}

// Limiter says who may ask now. All its methods may be called at once.
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

// New makes a limiter. A Valkey that cannot be reached is no error: it is asked
// again for as long as Run runs. The error is that its URL is not one.
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

// Use puts another policy in force, for all requests from now on.
func (l *Limiter) Use(p Policy) { l.policy.Store(&p) }

// elapsed is the limiter's own time, which a change of the system's clock does
// not touch.
func (l *Limiter) elapsed() time.Duration { return l.now().Sub(l.start) }

// Reserve takes what a request needs of all limits that hold for its caller and its parts:
// one request, so many tokens, one slot; or nothing of any, and then the error
// is a *llm.Error with CodeRateLimited that says which limit it is, with
// RetryAfter, after which the request is admitted if nobody else asks. It waits
// for Valkey at most as long as Options says, and never for anything else.
//
// Settle has to be called on r, whatever becomes of the request. Where nothing
// is limited r stays as it is.
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

// decide asks whoever has to be asked: Valkey, or this node where there is none
// or it is away, or both, for a window after it came back.
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

// afterwards puts a request that Valkey has decided on in its place.
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

// Look is the refusal that Reserve would give now, as far as this node knows without
// asking anybody; nil where it may be admitted. It takes nothing. Of what Valkey counts
// a node knows that all requests of a minute are used, from when it was told so and
// until when it was told; and nothing of tokens.
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
		nodes = 1 // what Valkey refuses by
	}
	r.enforce(int64(max(1, nodes)), min(maxTokens, max(0, tokens)))
	no := r.look(l.memory, l.elapsed(), alone)
	if no.wait == 0 {
		return nil
	}
	l.refused.Add(1)
	return no.err()
}

// Status is what a caller has left, as far as this node knows without asking
// anybody, for replies to requests that are not limited or did not come so far.
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

// Run keeps in touch with Valkey until ctx ends, and then tells it what is left
// to be told. Without Valkey it has nothing to do.
func (l *Limiter) Run(ctx context.Context) {
	if l.remote != nil {
		l.remote.run(ctx)
	}
}

// Close gives the connections back. Nothing is asked after it.
func (l *Limiter) Close() error {
	if l.remote != nil {
		l.remote.close()
	}
	return nil
}

// Shared says whether the limits are kept on Valkey.
func (l *Limiter) Shared() bool { return l.remote != nil }

// Degraded is why limits are decided from this node's memory though they are to
// be shared; nil where all is well. It holds no secret, and addresses: it is for
// the log and for operators.
func (l *Limiter) Degraded() error {
	if l.remote == nil {
		return nil
	}
	return l.remote.breaker.problem()
}

// Stats are counts since the start, and gauges.
type Stats struct {
	Admitted int64 // requests that some limit holds for
	Refused  int64
	Alone    int64 // of both, decided from memory while Valkey was away
	Outages  int64 // times that Valkey was taken to be away
	Dropped  int64 // changes to counters that Valkey was not told
	Pending  int   // of these, that wait to be told
	Windows  int   // in memory
	Degraded bool
}

// Stats are the limiter's figures.
func (l *Limiter) Stats() Stats {
	s := Stats{Admitted: l.admitted.Load(), Refused: l.refused.Load(), Alone: l.alone.Load(), Windows: l.memory.count()}
	if v := l.remote; v != nil {
		s.Outages, s.Dropped, s.Pending = v.breaker.outages.Load(), v.outbox.dropped.Load(), v.outbox.len()
		s.Degraded = v.breaker.problem() != nil
	}
	return s
}
