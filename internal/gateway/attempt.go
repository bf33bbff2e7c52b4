package gateway

import (
	"bytes"
	"context"
	"errors"
	"time"

	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/provider"
	"weir/internal/quote"
	"weir/internal/route"
)

// forward asks the targets, as the plan orders them, until one has answered.
// Before the client has seen any of an answer a failure is followed as the
// rules say; after that, an answer that broke off may be continued elsewhere.
func (c *call) forward() error {
	upstream := c.upstream.first.begin(c)
	defer func() { upstream.end() }()
	defer func() { c.out.close() }()
	c.plan = c.table.Plan(c.principal.Account().ID, c.targets, c.server.now())
	defer c.plan.Release()
	if err := c.server.admitUnavailable(c.principal, &c.plan); err != nil {
		return err
	}
	c.rescue.call, c.rescue.words.on = c, c.rescues()
	a, err := c.prepare()
	if err != nil {
		return err
	}
	c.spent.priced = true
	if err := c.open(a); err != nil {
		return err
	}
	for {
		c.attempt = a
		c.dropTree() // an answer may take long
		c.held.endAnswer()
		c.rescue.words.counted = 0
		err := c.send(&upstream.Lifetime, a)
		if err == nil {
			return nil
		}
		failure := a.Target.Provider.Judge(err)
		settlement := a.settlementOf(failure)
		a.settling = &settlement
		if c.detachLate(a, failure, settlement, upstream) {
			upstream = new(upstreamContext).begin(c)
		}
		next := c.next(&upstream.Lifetime, failure)
		if next == nil || c.openNext(next, settlement) != nil {
			return c.settleFailed(settlement, failure)
		}
		c.readLate(false)
		c.rescue.keepUsage(&settlement.Usage, a.resumes.onBehind())
		a = next
	}
}

// next decides what follows a failure, and prepares it; nil where nothing is left to try.
func (c *call) next(ctx context.Context, f *provider.Failure) *attempt {
	now := c.server.now()
	if !isDiverged(f) {
		c.plan.Failed(f, now)
	}
	if c.client.gone() || c.server.stopping.Err() != nil {
		return nil
	}
	if c.out.committed() { // headers and comments alone are no answer
		return c.rescue.elsewhere(f)
	}
	pause, ok := c.plan.After(f, now)
	if !ok || !c.server.pause(ctx, pause) || c.client.gone() {
		return nil
	}
	next, err := c.prepare()
	if err != nil || next.Target.Margin > 0 && bytes.Equal(next.body, c.attempt.body) {
		return nil // the highest price is the client's own, and stays
	}
	return next
}

// pause waits, unless the server stops or ctx ends.
func (s *Server) pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-s.stopping.Done():
	}
	return false
}

// record is what the ledger has of the next attempt.
func (a *attempt) record() ledger.Attempt {
	c := a.call
	r := ledger.Attempt{
		ID:      ledger.AttemptID{Request: c.id.UUID, N: uint16(len(c.spent.models) + 1)},
		Account: c.principal.Account().ID, Key: c.principal.Key().ID,
		Requested: c.Head.Model, Provider: a.Target.Provider.Name(), Model: a.Target.Model,
		Region: a.Target.Provider.ServesIn(),
		Opened: c.server.ledger.Now().UTC().Truncate(time.Microsecond), Arrived: c.started,
		Stream: c.Head.Stream, Attribution: c.own.attribution, Parts: c.principal.Parts(&c.own.attribution),
		Price: a.Price, BillByProvider: a.Target.Provider.BillsItself(),
	}
	asked := c.Head.Asked
	if c.reservation == nil {
		r.Bound = a.BoundBooks()
	} else {
		asked = a.demand.Asked
		r.Bound = a.demand.Granted(a.cap, a.calls)
		r.Reservation, c.reservation = c.reservation, nil
	}
	r.Hold = min(llm.MaxCost, r.Price.BoundAsked(&r.Bound, asked))
	if r.Terms = a.Terms; r.Terms != nil {
		r.ChargeHold = r.Terms.Bound(r.Hold, &r.Price, &r.Bound, asked)
	}
	return r
}

// open opens an attempt that follows none, or one that is read on.
//
// Stage 9: open.
func (c *call) open(a *attempt) (err error) {
	record := a.record()
	if a.hold, err = c.server.ledger.Open(record); err == nil {
		c.spent.models = append(c.spent.models, record.FullModel())
	}
	return err
}

// openNext settles the attempt that failed and opens the next one.
func (c *call) openNext(next *attempt, s ledger.Settlement) error {
	if c.attempt.hold == nil {
		return c.open(next)
	}
	record := next.record()
	hold, cost, err := c.attempt.hold.Next(s, record)
	if err != nil {
		return err
	}
	c.server.count(c.attempt.hold, &s, cost)
	c.spent.add(&s, c.attempt.hold.Charge())
	c.spent.models = append(c.spent.models, record.FullModel())
	next.hold = hold
	return nil
}

// send asks the attempt's target and relays its answer. An error means that the client has not
// got a whole one.
//
// Stage 10: send.
func (c *call) send(ctx context.Context, a *attempt) error {
	a.tally.Choices = c.Head.Choices
	if c.Head.Stream {
		c.beginStream(a)
	}
	c.upstream.bills.Store(a.Target.Provider.BillsAfterDisconnect())
	if client := c.r.Context(); client.Err() != nil {
		ctx = client // it has left before anything was sent
	}
	c.measured.asked(c.server.now())
	resp, err := a.Target.Provider.Do(ctx, provider.Call{
		Dialect: a.Speaks, Op: c.Op.Op, Model: a.Target.Model, Stream: c.Head.Stream, Body: a.body,
		AttemptID: a.hold.Attempt().ID.String(), ContentType: c.formType(), Header: a.sentHeaders(), Key: a.Target.Key,
		Hold:      a.hold,
		Abandoned: &c.upstream.draining, KeepLate: c.keepsLate(),
	})
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // nothing is left to be lost
	if a.keepBack(resp); c.out != nil && len(a.back) > 0 {
		c.out.tell(a.answered())
	}
	a.answer = arriving{ReadCloser: resp.Body, held: &c.held}
	resp.Body = &a.answer
	if c.Head.Stream && resp.Streamed {
		return c.relayStream(a, resp)
	}
	return c.relayWhole(a, resp)
}

// outcome is what came of an attempt so far.
func (a *attempt) outcome() quote.Answer {
	c := a.call
	return quote.Answer{
		Quote: &a.Quote, Tally: &a.tally, Attempt: a.hold.Attempt(), Ended: c.server.ledger.Now(),
		Gone: c.client.gone(),
	}
}

// settlementOf says how an attempt ends that failed.
func (a *attempt) settlementOf(f *provider.Failure) ledger.Settlement {
	c := a.call
	c.spent.reached = c.spent.reached || f.Sent()
	s := a.outcome().Failed(f)
	costs := !s.Usage.IsZero() || s.AtMost != 0
	c.spent.costs = c.spent.costs || costs
	c.spent.failed = c.spent.failed || costs || s.Outcome != ledger.OutcomeRejected || !c.plan.Mistaken(f)
	return s
}

// settle writes how the request's last attempt ended. What the ledger cannot
// write it logs itself; the client gets its answer all the same, for it has
// been served.
//
// Stage 12: settle.
func (c *call) settle(s ledger.Settlement) {
	mistaken := s.Outcome == ledger.OutcomeRejected && !c.spent.failed
	s.Counts = c.spent.reached && !mistaken // whose client made a mistake, has used nothing
	c.server.settle(c.attempt.hold, &s)
	c.spent.add(&s, c.attempt.hold.Charge())
	c.settleLimits()
}

// settle settles and counts an attempt.
func (s *Server) settle(h *ledger.Hold, settlement *ledger.Settlement) {
	cost, _ := h.Settle(*settlement)
	s.count(h, settlement, cost)
}

// count counts an attempt that has ended.
func (s *Server) count(h *ledger.Hold, settlement *ledger.Settlement, cost *llm.Money) {
	provider := h.Attempt().Provider
	s.metrics.Attempt(provider, settlement, cost)
	if difference, computed, ok := h.Difference(settlement); ok {
		s.metrics.ProviderCost(provider, difference, computed)
		s.router.Table().Charged(provider, h.Attempt().Model, computed+difference, computed, s.now())
	}
}

// settleFailed ends a request that no target answered. The error is for the
// client.
func (c *call) settleFailed(s ledger.Settlement, f *provider.Failure) error {
	if c.attempt.hold != nil {
		c.attempt.countRejected(f)
		c.settle(s)
	}
	awaited := c.server.late.offerOf(c)
	if c.rescue.broke != nil {
		f = c.rescue.broke // what came of the attempts to mend it is for the log
	}
	if c.client.gone() {
		return &llm.Error{Code: llm.CodeInternal, Message: "The client left.", Err: errors.Join(errGone, f)}
	}
	if c.out != nil && len(c.out.pending) > 0 {
		c.out.write(c.out.pending) // nothing better will come
	}
	if c.server.stopping.Err() != nil {
		return stopped(f)
	}
	return c.told(f, awaited)
}

// told is the failure as the client is told of it: with what becomes of a repeat where an answer is awaited. Where the
// circuit is open anyway, no connection means that the provider is out of service.
func (c *call) told(f *provider.Failure, awaited bool) error {
	e := *f.Err
	switch {
	case awaited && e.Code == llm.CodeProviderTimeout:
		e.Message += " A late answer is still awaited and charged: " +
			"the same request, sent again, gets it and is not charged again."
		e.Err = f
	case route.FaultOf(f) == route.FaultUnreachable && c.plan.Unavailable(c.server.now()):
		e.Code = llm.CodeProviderUnavailable
	default:
		return f
	}
	return &e
}

// abandonHold settles what a defect has left open, so that no hold outlives
// its request.
func (c *call) abandonHold() {
	a := c.attempt
	if a == nil || a.hold == nil || a.hold.Settled() {
		return
	}
	c.spent.reached = true
	c.settle(ledger.Settlement{
		Outcome: ledger.OutcomeFailed, Provenance: ledger.Estimated, Code: llm.CodeInternal,
		Usage: a.outcome().InputUsage(), AtMost: a.hold.Attempt().Hold,
	})
}
