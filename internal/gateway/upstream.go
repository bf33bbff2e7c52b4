package gateway

import (
	"context"
	"sync/atomic"
	"time"

	"weir/internal/account"
	"weir/internal/lifetime"
)

// reading is the state of reading answers, above all after their client has left.
type reading struct {
	in       *intake
	context  *upstreamContext // of the current attempt
	told     atomic.Bool      // a context has been, or is about to be, notified that the client has left
	bills    atomic.Bool      // the provider charges for a stream after the client has left
	draining atomic.Bool      // the answer is read although the client has left
	ending   atomic.Bool      // the answer is whole except for its usage and end marker
	departed atomic.Int32
	hangUp   hangUp
}

// departureTime bounds how long a request whose client has left keeps its turn to end.
const departureTime = 250 * time.Millisecond

// The values of departed, which record how the request ends after its client has left.
const (
	stays   = iota
	leaves  // in a turn, which must be ended
	hasLeft // ended, or its turn has expired
)

// upstreamContext is the context of a provider's answer. It ends when the client leaves, or later if the answer is
// still read for its usage.
type upstreamContext struct {
	lifetime.Lifetime
	reading *reading
	client  lifetime.Link // after it is cut, the client's context has no effect
}

// begin starts the context of the next attempt. It is memory of its own, because a dialler or a provider's connection
// may refer to it after the request has ended.
func (u *reading) begin() *upstreamContext {
	u.context = &upstreamContext{reading: u}
	u.context.client = lifetime.Follow(u.in.r.Context(), u.context)
	return u.context
}

// isFollowed reports whether a goroutine may still use the reading of a request that has ended.
func (u *reading) isFollowed() bool { return u.told.Load() }

// Ended is called when the client has left, or when a write to it failed.
func (u *upstreamContext) Ended() {
	r, s := u.reading, u.reading.in.server
	r.told.Store(true)
	if s.stopping.Err() != nil {
		u.End()
		return
	}
	depart := func() { r.depart(&u.Lifetime, u.End, s, r.in.held.Account()) }
	if d := r.drain(); d > 0 {
		r.hangUp.offer(r.in)
		s.drainFor(d, &u.Lifetime, u.End, depart)
		return
	}
	depart()
}

// depart ends an answer after its client has left, in a turn: its settlement is work, and thousands of clients may
// leave at once. Until then the answer is still read.
func (u *reading) depart(ctx context.Context, cancel context.CancelFunc, s *Server, account string) {
	if u.departed.Load() != stays {
		cancel()
		return
	}
	go func() {
		defer cancel()
		defer context.AfterFunc(s.stopping, cancel)()
		switch {
		case !s.capacity.Depart(ctx, account):
		case u.departed.CompareAndSwap(stays, leaves):
			time.AfterFunc(departureTime, func() { u.endDeparture(s, account) }) // the settlement may be blocked
		default:
			s.capacity.Departed(account)
		}
	}()
}

// endDeparture ends the turn of a request that has ended, if it has one.
func (u *reading) endDeparture(s *Server, account string) {
	if u.departed.Swap(hasLeft) == leaves {
		s.capacity.Departed(account)
	}
}

// end ends the context with its attempts.
func (u *upstreamContext) end() {
	u.cut()
	u.End()
}

// cut separates the context from the client. If the client has just left, Ended is running or about to.
func (u *upstreamContext) cut() {
	if !u.client.Cut() {
		u.reading.told.Store(true)
	}
}

// drain returns how long an answer is still read after its client has left; 0 means not at all. Most vendors charge for
// a whole answer even if nobody waits for it, so its usage is worth reading. A stream is cancelled, unless its provider
// charges for all of it anyway. The account's setting comes first. The number of drains is limited; further ones are
// cancelled.
func (u *reading) drain() time.Duration {
	s, how := u.in.server, u.in.principal.Account().OnDisconnect
	switch {
	case how == account.DisconnectCancel && !u.ending.Load():
		return 0
	case u.ending.Load() && how != account.DisconnectDrain:
		return s.timing.DrainUsage
	case how != account.DisconnectDrain && u.in.Head.Stream && !u.bills.Load():
		return 0
	case u.draining.Load(): // another caller noticed it first
	case !s.takeDrain():
		return 0
	case !u.draining.CompareAndSwap(false, true):
		s.drains.Add(-1)
	}
	return s.timing.DrainAnswer
}

// takeDrain reserves one of the limited reads for usage alone, if one is free.
func (s *Server) takeDrain() bool {
	if s.drains.Add(1) > s.mostDrains {
		s.drains.Add(-1)
		return false
	}
	return true
}

// The maximum number of answers read only for their usage: 1/drainsShare of the requests in flight, and at least
// leastDrains.
const (
	drainsShare = 8
	leastDrains = 16
)

// drainFor limits an answer that is read only for its usage: it calls stop after d, and cancel if the server stops.
func (s *Server) drainFor(d time.Duration, ctx context.Context, cancel context.CancelFunc, stop func()) {
	timer := time.AfterFunc(d, stop)
	stopped := context.AfterFunc(s.stopping, cancel)
	context.AfterFunc(ctx, func() {
		timer.Stop()
		stopped()
	})
}

// endDrain frees the place of a drain.
func (u *reading) endDrain(s *Server) {
	if u.draining.CompareAndSwap(true, false) {
		s.drains.Add(-1)
	}
}

// end ends the reading when its request ends.
func (u *reading) end() {
	u.endDrain(u.in.server)
	u.endDeparture(u.in.server, u.in.held.Account())
}
