package gateway

import (
	"context"
	"time"

	"weir/internal/account"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/route"
)

// atMost is the most that the attempt under way can have cost, of whose usage its
// provider did not tell: by the caps of the request, what it may have thought unseen, the
// provider's own tools, and files by what they can be. It leaves out classes that have no
// rate, which it names.
func (c *call) atMost() (llm.Money, llm.Classes) {
	most, unpriced := c.costAtMost(c.mostUsed())
	return max(most, c.hold.Attempt().Hold), unpriced
}

// atMostRead is atMost for an input that was read and not answered.
func (c *call) atMostRead() (llm.Money, llm.Classes) {
	bound := c.mostUsed()
	for i := range bound {
		if class := llm.Class(i); class.IsOutput() || class.IsTool() || class == llm.Images {
			bound[i] = 0
		}
	}
	return c.costAtMost(bound)
}

func (c *call) costAtMost(bound llm.Usage) (llm.Money, llm.Classes) {
	price := &c.hold.Attempt().Price
	return min(ledger.MaxCost, price.BoundAsked(&bound, c.head.Asked)), price.UnboundedAsked(&bound, c.head.Asked)
}

// mostUsed is what the attempt under way can have used at most.
func (c *call) mostUsed() llm.Usage {
	a := c.hold.Attempt()
	if a.Reservation == nil && !c.op.Free { // else the bound is that of afford
		return c.boundUnseen()
	}
	return a.Bound
}

// boundUnseen is what the attempt under way can have used at most, with as much output as
// its model gives where the client named no cap: without a budget none is put in.
func (c *call) boundUnseen() llm.Usage {
	t := c.target()
	r := c.costInputs(t)
	k := c.demand(t, &r, coarse)
	if k.open {
		k.most = c.maxOutput(t)
	}
	return k.bound(k.most)
}

// upstreamContext lives as long as somebody wants a provider's answer: until the client leaves,
// or longer where the answer is read for its usage.
type upstreamContext struct {
	ctx    context.Context
	cancel context.CancelFunc
	detach func() bool // what becomes of the client means nothing from here on
}

func (c *call) upstreamContext() upstreamContext {
	client := c.r.Context()
	ctx, cancel := context.WithCancel(context.WithoutCancel(client))
	c.hangUp = func() {
		if d := c.drain(); d > 0 {
			c.server.drainFor(d, ctx, cancel)
			return
		}
		cancel()
	}
	return upstreamContext{ctx, cancel, context.AfterFunc(client, c.hangUp)}
}

func (u *upstreamContext) end() {
	u.detach()
	u.cancel()
}

// drain is for how long an answer is read on whose client has left; 0 for not at all.
// Most vendors charge for an answer that is not a stream whether or not anybody waits for
// it, so that its usage is worth reading; a stream is cancelled, unless its provider
// charges for all of it all the same. What an account says comes first. There are so many
// drains at most; one beyond them is cancelled.
func (c *call) drain() time.Duration {
	timing, how := &c.server.timing, c.principal.Account().OnDisconnect
	switch {
	case how == account.DisconnectCancel && !c.ending.Load():
		return 0
	case c.ending.Load() && how != account.DisconnectDrain:
		return timing.DrainUsage
	case how != account.DisconnectDrain && c.head.Stream && !c.bills.Load():
		return 0
	case c.draining.Load(): // somebody else saw it leave
	case !c.server.takeDrain():
		return 0
	case !c.draining.CompareAndSwap(false, true):
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

// drainFor bounds how long an answer is read for its usage alone.
func (s *Server) drainFor(d time.Duration, ctx context.Context, cancel context.CancelFunc) {
	timer := time.AfterFunc(d, cancel)
	stopped := context.AfterFunc(s.stopping, cancel)
	context.AfterFunc(ctx, func() {
		timer.Stop()
		stopped()
	})
}

// endDrain gives back the place of a drain.
func (c *call) endDrain() {
	if c.draining.CompareAndSwap(true, false) {
		c.server.drains.Add(-1)
	}
}

// price is what the target costs: at the moment at which the request came, for all its
// attempts.
func (c *call) price(t *route.Target) llm.Price { return c.table.Price(t, c.started) }
