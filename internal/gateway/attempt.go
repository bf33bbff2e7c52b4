package gateway

import (
	"bytes"
	"context"
	"errors"
	"time"

	"weir/internal/capacity"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/provider"
	"weir/internal/quote"
	"weir/internal/route"
)

// forward tries the targets in the order of the plan until one has answered. Before the client has received a part of
// an answer, the rules choose the next step after a failure; later, another target may continue the interrupted answer.
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
		c.held.EndAnswer()
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

// next chooses the next step after a failure and prepares its attempt; nil if no target is left.
func (c *call) next(ctx context.Context, f *provider.Failure) *attempt {
	now := c.server.now()
	if !isDiverged(f) {
		c.plan.Failed(f, now)
	}
	if c.client.Gone() || c.server.stopping.Err() != nil {
		return nil
	}
	if c.out.committed() { // headers and comments are not part of an answer
		return c.rescue.elsewhere(f)
	}
	pause, ok := c.plan.After(f, now)
	if !ok || !c.server.pause(ctx, pause) || c.client.Gone() {
		return nil
	}
	next, err := c.prepare()
	if err != nil || next.Target.Margin > 0 && bytes.Equal(next.body, c.attempt.body) {
		return nil // the client itself set the highest price, which stays
	}
	return next
}

// pause waits for d. It returns false if the server stops or ctx ends first.
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

// record builds the ledger's record of an attempt and passes the request's reservation to it.
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

// open opens the first attempt of a request, or one after an attempt whose late answer is still being read.
//
// Stage 9: open.
func (c *call) open(a *attempt) (err error) {
	record := a.record()
	if a.hold, err = c.server.ledger.Open(record); err == nil {
		c.spent.models = append(c.spent.models, record.FullModel())
	}
	return err
}

// openNext settles the failed attempt and opens the next one.
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

// send sends the attempt to its target and relays the answer. An error means that the client has not received a whole
// answer.
//
// Stage 10: send.
func (c *call) send(ctx context.Context, a *attempt) error {
	a.tally.Choices = c.Head.Choices
	if c.Head.Stream {
		c.beginStream(a)
	}
	c.upstream.bills.Store(a.Target.Provider.BillsAfterDisconnect())
	if client := c.r.Context(); client.Err() != nil {
		ctx = client // the client left before anything was sent
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
	defer resp.Body.Close() //nolint:errcheck // the answer has been read
	if a.keepBack(resp); c.out != nil && len(a.back) > 0 {
		c.out.tell(a.answered())
	}
	a.answer = capacity.Arriving{ReadCloser: resp.Body, Held: &c.held}
	resp.Body = &a.answer
	if c.Head.Stream && resp.Streamed {
		return c.relayStream(a, resp)
	}
	return c.relayWhole(a, resp)
}

// outcome describes the attempt so far.
func (a *attempt) outcome() quote.Answer {
	c := a.call
	return quote.Answer{
		Quote: &a.Quote, Tally: &a.tally, Attempt: a.hold.Attempt(), Ended: c.server.ledger.Now(),
		Gone: c.client.Gone(),
	}
}

// settlementOf returns the settlement of a failed attempt.
func (a *attempt) settlementOf(f *provider.Failure) ledger.Settlement {
	c := a.call
	c.spent.reached = c.spent.reached || f.Sent()
	s := a.outcome().Failed(f)
	costs := !s.Usage.IsZero() || s.AtMost != 0
	c.spent.costs = c.spent.costs || costs
	c.spent.failed = c.spent.failed || costs || s.Outcome != ledger.OutcomeRejected || !c.plan.Mistaken(f)
	return s
}

// settle records the end of the request's last attempt. If the ledger cannot write, it logs the error itself; the
// client still gets its answer, because it has been served.
//
// Stage 12: settle.
func (c *call) settle(s ledger.Settlement) {
	mistaken := s.Outcome == ledger.OutcomeRejected && !c.spent.failed
	s.Counts = c.spent.reached && !mistaken // a request that failed by the client's own mistake does not count as used
	c.server.settle(c.attempt.hold, &s)
	c.spent.add(&s, c.attempt.hold.Charge())
	c.settleLimits()
}

// settle settles and counts an attempt.
func (s *Server) settle(h *ledger.Hold, settlement *ledger.Settlement) {
	cost, _ := h.Settle(*settlement)
	s.count(h, settlement, cost)
}

// count counts a settled attempt in the metrics.
func (s *Server) count(h *ledger.Hold, settlement *ledger.Settlement, cost *llm.Money) {
	provider := h.Attempt().Provider
	s.metrics.Attempt(provider, settlement, cost)
	if difference, computed, ok := h.Difference(settlement); ok {
		s.metrics.ProviderCost(provider, difference, computed)
		s.router.Table().Charged(provider, h.Attempt().Model, computed+difference, computed, s.now())
	}
}

// settleFailed ends a request that no target answered and returns the error for the client.
func (c *call) settleFailed(s ledger.Settlement, f *provider.Failure) error {
	if c.attempt.hold != nil {
		c.attempt.countRejected(f)
		c.settle(s)
	}
	awaited := c.server.late.offerOf(c)
	if c.rescue.broke != nil {
		f = c.rescue.broke // the failures of later attempts are only logged
	}
	if c.client.Gone() {
		return &llm.Error{Code: llm.CodeInternal, Message: "The client left.", Err: errors.Join(capacity.ErrGone, f)}
	}
	if c.out != nil && len(c.out.pending) > 0 {
		c.out.write(c.out.pending) // no better answer will follow
	}
	if c.server.stopping.Err() != nil {
		return stopped(f)
	}
	return c.told(f, awaited)
}

// told returns the failure as the client sees it. If a late answer is still awaited, the message says how to get it. If
// the provider cannot be reached and its circuit is open, the code is PROVIDER_UNAVAILABLE.
func (c *call) told(f *provider.Failure, awaited bool) error {
	e := *f.Err
	switch {
	case awaited && e.Code == llm.CodeProviderTimeout:
		e.Message += " Its late answer is still awaited and will be charged: " +
			"send the same request again to receive it without a second charge."
		e.Err = f
	case route.FaultOf(f) == route.FaultUnreachable && c.plan.Unavailable(c.server.now()):
		e.Code = llm.CodeProviderUnavailable
	default:
		return f
	}
	return &e
}

// abandonHold settles an attempt that a defect left open, so that no hold outlives its request.
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
