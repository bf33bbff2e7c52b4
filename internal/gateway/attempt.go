package gateway

import (
	"context"
	"errors"
	"time"

	"weir/internal/account"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/provider"
	"weir/internal/route"
)

// forward tries the targets in order until one has answered. The next one is
// tried only while no byte of an answer has gone to the client.
func (c *call) forward() error {
	ctx, release := c.upstreamContext()
	defer release()
	if err := c.open(); err != nil {
		return err
	}
	for {
		err := c.attempt(ctx)
		if err == nil {
			return nil
		}
		failure := c.target().Provider.Judge(err)
		settlement := c.settlementOf(failure)
		if c.mayGoOn(failure) {
			if next, err := c.openNext(settlement); err == nil {
				c.hold = next
				continue
			}
		}
		return c.settleFailed(settlement, failure)
	}
}

// upstreamContext lives as long as somebody wants the provider's answer: until
// the client leaves or a little longer, where its account asks for that or only
// the usage of a whole answer is still to come.
func (c *call) upstreamContext() (context.Context, context.CancelFunc) {
	client := c.r.Context()
	drain := c.principal.Account().OnHangup == account.HangupDrain
	if !drain && !c.head.Stream {
		return client, func() {} // nothing is written before the provider is done
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(client))
	c.hangUp = func() {
		switch timing := &c.server.timing; {
		case drain:
			c.drainFor(timing.DrainAnswer, ctx, cancel)
		case c.ending.Load():
			c.drainFor(timing.DrainUsage, ctx, cancel)
		default:
			cancel()
		}
	}
	stop := context.AfterFunc(client, c.hangUp)
	return ctx, func() {
		stop()
		cancel()
	}
}

// drainFor bounds how long an answer is read on whose client has left.
func (c *call) drainFor(d time.Duration, ctx context.Context, cancel context.CancelFunc) {
	timer := time.AfterFunc(d, cancel)
	stopped := context.AfterFunc(c.server.stopping, cancel)
	context.AfterFunc(ctx, func() {
		timer.Stop()
		stopped()
	})
}

// gone says whether the client has left: its connection broke, or it takes
// nothing any more.
func (c *call) gone() bool { return c.deaf.Load() || c.r.Context().Err() != nil }

// target is the one of the attempt under way.
func (c *call) target() *route.Target { return &c.targets[len(c.tried)-1] }

// newAttempt is the record of the next attempt.
func (c *call) newAttempt() ledger.Attempt {
	t := &c.targets[len(c.tried)]
	now := c.server.now().UTC().Truncate(time.Microsecond)
	a := ledger.Attempt{
		ID:      ledger.AttemptID{Request: c.id, N: uint16(len(c.tried) + 1)},
		Account: c.principal.Account().ID, Key: c.principal.Key().ID,
		Requested: c.head.Model, Provider: t.Provider.Name(), Model: t.Model,
		Opened: now, Arrived: c.started, Stream: c.head.Stream, Price: c.table.Price(t, now),
	}
	a.Bound[llm.Input] = int64(len(c.body)) // a token is at least a byte
	a.Bound[llm.Output] = c.maxOutput(t) * max(1, c.head.Choices)
	a.Bound[llm.Requests] = 1
	a.Hold = min(ledger.MaxCost, a.Price.Bound(a.Bound[llm.Input], a.Bound[llm.Output]))
	return a
}

// maxUnknown is the most output tokens, of one choice, that a client is
// believed to get from a model whose size nobody knows.
const maxUnknown = 1 << 20

// maxOutput is the most output tokens that one choice can have: the client's
// cap or the model's, whichever is less.
func (c *call) maxOutput(t *route.Target) int64 {
	most, known := c.table.MaxOutput(t)
	switch {
	case c.head.MaxOutput == 0:
		return most
	case known:
		return min(c.head.MaxOutput, most)
	}
	return min(c.head.MaxOutput, maxUnknown)
}

// open opens the first attempt.
func (c *call) open() error {
	a := c.newAttempt()
	hold, err := c.server.ledger.Open(a)
	if err != nil {
		return err
	}
	c.hold, c.priced = hold, true
	c.tried = append(c.tried, a.FullModel())
	return nil
}

// openNext settles the attempt that failed and opens the next one.
func (c *call) openNext(s ledger.Settlement) (*ledger.Hold, error) {
	a := c.newAttempt()
	next, cost, err := c.hold.Next(s, a)
	if err != nil {
		return nil, err
	}
	c.charge(cost)
	c.tried = append(c.tried, a.FullModel())
	return next, nil
}

// mayGoOn says whether another target is to be tried after this failure.
func (c *call) mayGoOn(f *provider.Failure) bool {
	return len(c.tried) < len(c.targets) && f.Elsewhere() && !c.gone() && !c.out.committed()
}

// attempt asks one provider and relays its answer. An error means that there
// is none yet for the client to see; a failure after that is dealt with inside.
func (c *call) attempt(ctx context.Context) error {
	t := c.target()
	c.sum = &tally{choices: c.head.Choices}
	body, err := c.prepare(t)
	if err != nil {
		return err
	}
	if c.head.Stream {
		c.beginStream()
		defer c.out.close()
	}
	resp, err := t.Provider.Do(ctx, provider.Call{
		Op: c.op, Model: t.Model, Stream: c.head.Stream, Body: body,
		AttemptID: c.hold.Attempt().ID.String(), Key: t.Key, Hold: c.hold,
	})
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // nothing is left to be lost
	if c.head.Stream && resp.Streamed {
		return c.relayStream(resp)
	}
	return c.relayWhole(resp)
}

// prepare is the one branch between forwarding bytes and translating a tree.
func (c *call) prepare(t *route.Target) ([]byte, error) {
	to := t.Provider.Dialect()
	if to == c.dialect {
		s := llm.Splice{Model: t.Model, Stream: c.head.Stream}
		return to.Splice(nil, c.body, &c.head, s, t.Provider.Quirks()), nil
	}
	tree, err := c.tree()
	if err != nil {
		return nil, err
	}
	request := *tree
	request.Model, request.Stream = t.Model, c.head.Stream
	body, _, err := to.EncodeRequest(&request, t.Provider.Quirks())
	return body, err
}

// settleFailed ends a request that no target answered. The error is for the
// client.
func (c *call) settleFailed(s ledger.Settlement, f *provider.Failure) error {
	c.settle(s)
	if c.gone() {
		return &llm.Error{Code: llm.CodeInternal, Message: "The client left.", Err: errors.Join(errGone, f)}
	}
	return f
}
