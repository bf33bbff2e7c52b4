package gateway

import (
	"context"
	"time"

	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/telemetry"
)

// statusGone is what a request counts as whose client left, after nginx's word
// for it.
const statusGone = 499

// enter takes a place in the pipeline.
func (c *call) enter() error {
	reason := c.server.admission.enter(priorityOf(c.r.Header))
	if reason != telemetry.NotShed {
		return c.shed(reason)
	}
	c.admitted = true
	return nil
}

// takeShare takes the place for good, of its account's share of them, now that it is known
// whose it is. As at admission, a few interactive requests may wait for one that is left.
func (c *call) takeShare() error {
	s, id := c.server, c.principal.Account().ID
	got := s.places.take(id, 1)
	if got != granted && priorityOf(c.r.Header) == telemetry.Interactive && s.waiting.take(id, 1) == granted {
		got = s.awaitShare(c.r.Context(), id)
		s.waiting.giveBack(id, 1)
	}
	if got != granted {
		return c.shed(telemetry.AccountConcurrency)
	}
	c.account = id
	return nil
}

// awaitShare asks again for a place, for queueWait.
func (s *Server) awaitShare(ctx context.Context, account string) taken {
	const looks = 8
	every := time.NewTicker(queueWait / looks)
	defer every.Stop()
	for range looks {
		select {
		case <-every.C:
		case <-ctx.Done():
			return ownShare
		}
		if s.places.take(account, 1) == granted {
			return granted
		}
	}
	return ownShare
}

// leavePlace gives it back.
func (s *Server) leavePlace(account string, p telemetry.Priority) {
	if account != "" {
		s.places.giveBack(account, 1)
	}
	s.admission.leave(p)
}

// enterStream asks again, once it is known that the answer is a stream.
func (c *call) enterStream() error {
	if !c.head.Stream {
		return nil
	}
	if reason := c.server.admission.takesStream(priorityOf(c.r.Header), c.server.places.below(
		c.account)); reason != telemetry.NotShed {
		return c.shed(reason)
	}
	return nil
}

// shed is the refusal of a request for which there is no room.
func (c *call) shed(reason telemetry.Reason) error {
	p := priorityOf(c.r.Header)
	c.server.metrics.Shed(reason, p)
	return refusal(reason, p)
}

// leave gives the place back and counts the request.
func (c *call) leave() {
	if c.status == 0 {
		c.status = 200
	}
	now := c.server.now()
	c.counted.Done(c.status, max(0, c.server.ledger.Now().Sub(c.started)))
	if took, ok := c.own.took(now); ok {
		c.server.metrics.Overhead(took)
	}
	switch {
	case !c.admitted:
	case c.shared == nil:
		c.server.leavePlace(c.account, priorityOf(c.r.Header))
	default:
		limited, server, account, priority := c.limited, c.server, c.account, priorityOf(c.r.Header)
		c.shared.end = func(used int64) {
			limited.Settle(used)
			server.leavePlace(account, priority)
		}
		c.shared.leave(c.used)
	}
}

// count counts an attempt that has ended.
func (c *call) count(s *ledger.Settlement, cost *llm.Money) {
	provider := c.hold.Attempt().Provider
	c.server.metrics.Attempt(provider, s, cost)
	if difference, computed, ok := c.hold.Difference(s); ok {
		c.server.metrics.ProviderCost(provider, difference, computed)
	}
}

// ownTime is the time of a request that its provider does not take. Pauses
// between attempts, and attempts that are repeated, count as the provider's.
type ownTime struct {
	read time.Time // the body was in
	ask  time.Time // the provider was asked first
	got  time.Time // a whole answer of it was in; zero for a stream
}

func (o *ownTime) begin(now time.Time) { o.read = now }

func (o *ownTime) asked(now time.Time) {
	if o.ask.IsZero() {
		o.ask = now
	}
}

func (o *ownTime) answered(now time.Time) { o.got = now }

// took is how long it was, when the answer ended now; not ok for a request that
// no provider was asked for.
func (o *ownTime) took(now time.Time) (d time.Duration, ok bool) {
	if o.ask.IsZero() {
		return 0, false
	}
	if d = o.ask.Sub(o.read); !o.got.IsZero() {
		d += now.Sub(o.got)
	}
	return d, true
}
