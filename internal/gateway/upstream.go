package gateway

import (
	"context"
	"sync/atomic"
	"time"

	"weir/internal/account"
	"weir/internal/lifetime"
)

// reading is how answers are read, above all once their client has left.
type reading struct {
	context  *upstreamContext // of the attempt under way
	first    upstreamContext  // room for it, which is nearly always enough
	bills    atomic.Bool      // the provider charges for a stream whose client has left
	draining atomic.Bool      // the answer is read though the client has left
	ending   atomic.Bool      // the answer is whole, but for its usage and end marker
	departed atomic.Int32
	hangUp   hangUp
}

// What departed is of a request: how far it is with ending because its client has left.
const (
	stays   = iota
	leaves  // in a turn, which is to be ended
	hasLeft // or has had its turn for long
)

// upstreamContext lives as long as somebody wants a provider's answer: until the client leaves,
// or longer where the answer is read for its usage.
type upstreamContext struct {
	lifetime.Lifetime
	call   *call
	client lifetime.Link // where it is cut, what becomes of the client means nothing from here on
}

// begin begins it, of the call's next attempt.
func (u *upstreamContext) begin(c *call) *upstreamContext {
	u.call, c.upstream.context = c, u
	u.client = lifetime.Follow(c.r.Context(), u)
	return u
}

// Ended is called when the client has left, or once a write found that it takes nothing any more.
func (u *upstreamContext) Ended() {
	c := u.call
	if c.server.stopping.Err() != nil {
		u.End()
		return
	}
	depart := func() { c.upstream.depart(&u.Lifetime, u.End, &c.held) }
	if d := c.drain(); d > 0 {
		c.upstream.hangUp.offer(c)
		c.server.drainFor(d, &u.Lifetime, u.End, depart)
		return
	}
	depart()
}

// depart ends an answer whose client has left, when it is its turn: what follows, up to its
// settlement, is work, and thousands may leave at once. Until then the answer is read on.
func (u *reading) depart(ctx context.Context, cancel context.CancelFunc, held *capacity) {
	s, account := held.server, held.account
	if u.departed.Load() != stays {
		cancel()
		return
	}
	go func() {
		defer cancel()
		defer context.AfterFunc(s.stopping, cancel)()
		switch turns := s.processor.departures; {
		case !turns.take(ctx, account, false):
		case u.departed.CompareAndSwap(stays, leaves):
			time.AfterFunc(departureTime, func() { u.endDeparture(s) }) // it may be blocked
		default:
			turns.end()
		}
	}()
}

// endDeparture ends the turn of a request that has ended, if it has one.
func (u *reading) endDeparture(s *Server) {
	if u.departed.Swap(hasLeft) == leaves {
		s.processor.departures.end()
	}
}

func (u *upstreamContext) end() {
	u.client.Cut()
	u.End()
}

// drain is for how long an answer is read on whose client has left; 0 for not at all.
// Most vendors charge for an answer that is not a stream whether or not anybody waits for
// it, so that its usage is worth reading; a stream is cancelled, unless its provider
// charges for all of it all the same. What an account says comes first. There are so many
// drains at most; one beyond them is cancelled.
func (c *call) drain() time.Duration {
	u, timing, how := &c.upstream, &c.server.timing, c.principal.Account().OnDisconnect
	switch {
	case how == account.DisconnectCancel && !u.ending.Load():
		return 0
	case u.ending.Load() && how != account.DisconnectDrain:
		return timing.DrainUsage
	case how != account.DisconnectDrain && c.Head.Stream && !u.bills.Load():
		return 0
	case u.draining.Load(): // somebody else saw it leave
	case !c.server.takeDrain():
		return 0
	case !u.draining.CompareAndSwap(false, true):
		c.server.drains.Add(-1)
	}
	return timing.DrainAnswer
}

// takeDrain takes a place among the answers that are read for their usage alone, if one is
// left.
func (s *Server) takeDrain() bool {
	if s.drains.Add(1) > s.mostDrains {
		s.drains.Add(-1)
		return false
	}
	return true
}

// How many answers are read for their usage alone at most: this share of the requests in
// flight, and some where there are few.
const (
	drainsShare = 8
	leastDrains = 16
)

// drainFor bounds how long an answer is read for its usage alone: stop ends it then, and cancel
// where the server stops.
func (s *Server) drainFor(d time.Duration, ctx context.Context, cancel context.CancelFunc, stop func()) {
	timer := time.AfterFunc(d, stop)
	stopped := context.AfterFunc(s.stopping, cancel)
	context.AfterFunc(ctx, func() {
		timer.Stop()
		stopped()
	})
}

// endDrain gives back the place of a drain.
func (u *reading) endDrain(s *Server) {
	if u.draining.CompareAndSwap(true, false) {
		s.drains.Add(-1)
	}
}
