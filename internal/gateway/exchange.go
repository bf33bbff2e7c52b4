package gateway

import (
	"context"
	"errors"
	"strconv"
	"time"

	"weir/internal/capacity"
	"weir/internal/contentlog"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/provider"
	"weir/internal/ratelimit"
	"weir/internal/route"
	"weir/internal/telemetry"
)

// exchange answers a request: it makes the attempts, relays the answer and settles them.
type exchange struct {
	in       *intake
	measured measured

	choice  choice
	room    []byte      // memory for a whole reply
	hold    ledger.Hold // memory for the hold of the first attempt
	values  answered    // memory for the values of the answer's headers
	model   [1]string   // memory for the list of models, nearly always long enough
	spent   spent       // usage and cost of all attempts
	called  llm.Called  // maps calls of a translated answer back to the client's names
	late    lateAttempts
	reading reading
	rescue  rescue
	out     *clientStream // nil if no stream was begun
	idem    *idempotent   // nil without an Idempotency-Key
	content *contentlog.Capture
	cache   *caching // nil if the answer is not stored
}

// forward tries the targets in the order of the plan until one has answered. Before the client has received a part of
// an answer, the rules choose the next step after a failure; later, another target may continue the interrupted answer.
func (x *exchange) forward() error {
	in := x.in
	upstream := x.reading.begin()
	defer func() { upstream.end() }()
	defer func() { x.out.close() }()
	now := in.server.now()
	x.choice.begin(in, now)
	defer x.choice.plan.Release()
	if err := in.server.admitUnavailable(in.principal, &x.choice.plan, now); err != nil {
		return err
	}
	x.rescue.words.on = in.rescues()
	a, err := x.choice.prepare()
	if counted := x.choice.counted; !counted.IsZero() {
		x.measured.asked(counted)
	}
	if err != nil {
		return err
	}
	x.spent.priced, x.spent.models = true, x.model[:0]
	if err := x.open(a); err != nil {
		return err
	}
	x.content = captureOf(x.in)
	for {
		x.begin(a)
		unsent, err := x.send(&upstream.Lifetime, a)
		if err == nil {
			return nil
		}
		if a, upstream, err = goOn(x, a, upstream, err, unsent); a == nil {
			return err
		}
	}
}

// goOn opens the next attempt after a failed one, and returns it with its context. If there is none, it returns nil
// and the error for the client.
func goOn(x *exchange, a *attempt, upstream *upstreamContext, err error, unsent []byte) (
	*attempt, *upstreamContext, error,
) {
	failure := a.Target.Provider.Judge(err)
	settlement := x.settlementOf(a, failure)
	x.choice.failed = &settlement
	x.content.Failed(contentlog.Failure{
		Attempt: x.spent.attempts(), Target: a.Target.Provider.Name() + "/" + a.Target.Model,
		Message: failure.Err.Message, Provider: failure.Upstream.Message,
	})
	if failure.Late != nil && x.detachLate(a, failure.Late, settlement, upstream) {
		upstream = x.reading.begin()
	}
	next := x.next(&upstream.Lifetime, failure)
	if next == nil || x.openNext(next, settlement) != nil {
		return nil, upstream, x.settleFailed(settlement, failure, unsent)
	}
	x.late.read(x.in.server, false)
	x.rescue.keepUsage(&settlement.Usage, a.resumes.onBehind())
	return next, upstream, nil
}

// begin makes an opened attempt the current one. It releases the tree, because an answer may take long.
func (x *exchange) begin(a *attempt) {
	x.choice.opened(a)
	x.called = a.called
	x.in.DropTree()
	x.in.held.EndAnswer()
	x.rescue.words.counted = 0
}

// open opens the first attempt of a request, or one after an attempt whose late answer is still being read.
//
// Stage 9: open.
func (x *exchange) open(a *attempt) (err error) {
	record := a.record(x.in.earlier + x.spent.attempts() + 1)
	a.reservation = nil // the ledger has it now
	hold := &x.hold
	if x.choice.current != nil {
		hold = new(ledger.Hold)
	}
	began := x.in.trace.Now()
	err = x.in.server.ledger.OpenIn(hold, record)
	x.in.trace.Waited("journal", began)
	if err == nil {
		a.hold = hold
		x.spent.models = append(x.spent.models, record.FullModel())
		x.traceAttempt(a)
	}
	return err
}

// openNext settles the failed attempt and opens the next one.
func (x *exchange) openNext(next *attempt, s ledger.Settlement) error {
	if x.choice.current.isDetached() {
		return x.open(next)
	}
	record := next.record(x.in.earlier + x.spent.attempts() + 1)
	next.reservation = nil // the ledger has it now
	hold, cost, err := x.choice.current.hold.Next(s, record)
	if err != nil {
		return err
	}
	x.in.server.count(x.choice.current, &s, cost)
	x.spent.add(&s, x.choice.current.hold.Charge())
	x.spent.models = append(x.spent.models, record.FullModel())
	next.hold = hold
	x.traceAttempt(next)
	return nil
}

// next chooses the next step after a failure and prepares its attempt; nil if no target is left.
func (x *exchange) next(ctx context.Context, f *provider.Failure) *attempt {
	in := x.in
	if !isDiverged(f) {
		x.choice.plan.Failed(f, in.server.now())
	}
	if in.client.Gone() || in.server.stopping.Err() != nil {
		return nil
	}
	if !x.out.committed() { // headers and comments are not part of an answer
		return x.choice.again(ctx, f)
	}
	if x.rescue.broke == nil {
		x.rescue.broke = f
	}
	next := x.choice.elsewhere(f, &x.rescue.words)
	if next != nil {
		in.trace.Rescued()
	}
	return next
}

// send sends the attempt to its target and relays the answer. An error means that the client has not received a whole
// answer; unsent is a part of it that the client has not received, if it has received nothing else of it.
func (x *exchange) send(ctx context.Context, a *attempt) (unsent []byte, err error) {
	in := x.in
	a.tally.Choices = in.Head.Choices
	if in.Head.Stream {
		x.beginStream(a)
	}
	resp, err := ask(ctx, x, a)
	if err != nil {
		return nil, err
	}
	defer resp.Release()
	if a.keepBack(resp); x.out != nil && len(a.back) > 0 {
		x.out.tell(a.answered(&x.spent))
	}
	if in.Head.Stream && resp.Streamed {
		return x.relayStream(a, resp)
	}
	return nil, x.relayWhole(a, resp)
}

// ask sends the attempt to its target and waits for the begin of the answer.
//
// Stage 10: send.
func ask(ctx context.Context, x *exchange, a *attempt) (*provider.Response, error) {
	in := x.in
	x.reading.bills.Store(a.Target.Provider.BillsAfterDisconnect())
	if client := in.r.Context(); client.Err() != nil {
		ctx = client // the client left before anything was sent
	}
	x.measured.asked(in.server.now())
	return a.Target.Provider.Do(ctx, provider.Call{
		Dialect: a.Speaks, Op: in.Op.Op, Model: a.Target.Model, Stream: in.Head.Stream, Body: a.body,
		AttemptID: in.id.text + "." + strconv.Itoa(in.earlier+x.spent.attempts()), ContentType: in.formType(),
		Header: a.sentHeaders(), Key: a.Target.Key, Hold: a.hold, KeepLate: in.keepsLate(),
	})
}

// settlementOf returns the settlement of a failed attempt.
func (x *exchange) settlementOf(a *attempt, f *provider.Failure) ledger.Settlement {
	x.spent.reached = x.spent.reached || f.Sent()
	answer := a.outcome()
	s := answer.Failed(f)
	// The pause before a next attempt does not count.
	s.Duration = max(answer.Ended.Sub(a.hold.Attempt().Opened), time.Microsecond)
	costs := !s.Usage.IsZero() || s.AtMost != 0
	x.spent.costs = x.spent.costs || costs
	x.spent.failed = x.spent.failed || costs || s.Outcome != ledger.OutcomeRejected || !x.choice.plan.Mistaken(f)
	return s
}

// settle records the end of the request's last attempt. If the ledger cannot write, it logs the error itself; the
// client still gets its answer, because it has been served.
//
// Stage 12: settle.
func (x *exchange) settle(s ledger.Settlement) {
	mistaken := s.Outcome == ledger.OutcomeRejected && !x.spent.failed
	// A request counts as used once, and not if it failed by the client's own mistake.
	s.Counts = x.spent.reached && !mistaken && x.in.earlier == 0
	began := x.in.trace.Now()
	x.in.server.settle(x.choice.current, &s)
	x.in.trace.Waited("settle", began)
	x.spent.add(&s, x.choice.current.hold.Charge())
	x.settleLimits()
}

// settle settles and counts an attempt.
func (s *Server) settle(a *attempt, settlement *ledger.Settlement) {
	cost, _ := a.hold.Settle(*settlement)
	s.count(a, settlement, cost)
}

// count counts a settled attempt in the metrics, and ends its span.
func (s *Server) count(a *attempt, settlement *ledger.Settlement, cost *llm.Money) {
	h := a.hold
	a.trace.End(settlement, cost, h.Charge())
	provider := h.Attempt().Provider
	s.metrics.Attempt(telemetry.Ended{Attempt: h.Attempt(), Caller: a.caller(), Trace: a.trace.ID()}, settlement,
		cost)
	if difference, computed, ok := h.Difference(settlement); ok {
		s.metrics.ProviderCost(provider, difference, computed)
		s.router.Table().Charged(provider, h.Attempt().Model, computed+difference, computed, s.now())
	}
}

// settleFailed ends a request that no target answered and returns the error for the client, which gets the unsent part
// of an answer first, because no better answer will follow.
func (x *exchange) settleFailed(s ledger.Settlement, f *provider.Failure, unsent []byte) error {
	in := x.in
	if !x.choice.current.isDetached() {
		if !x.spent.costs && (x.choice.plan.Rejected(f) || in.client.Gone()) {
			in.server.limits.Rejected(ratelimit.CallerOf(in.principal), int64(x.spent.attempts()))
		}
		x.settle(s)
	}
	awaited := x.late.offer(in, x.measured.ask)
	if x.rescue.broke != nil {
		f = x.rescue.broke // the failures of later attempts are only logged
	}
	if in.client.Gone() {
		return &llm.Error{Code: llm.CodeInternal, Message: "The client left.", Err: errors.Join(capacity.ErrGone, f)}
	}
	if len(unsent) > 0 {
		x.out.write(unsent)
	}
	if in.server.stopping.Err() != nil {
		return stopped(f)
	}
	return clientFailure(f, awaited, x.choice.plan.Unavailable(in.server.now()))
}

// clientFailure returns the failure as the client sees it. If a late answer is still awaited, the message says how to
// get it. If the provider cannot be reached and its circuit is open, the code is PROVIDER_UNAVAILABLE.
func clientFailure(f *provider.Failure, awaited, open bool) error {
	e := *f.Err
	switch {
	case awaited && e.Code == llm.CodeProviderTimeout:
		e.Message += " Its late answer is still awaited and will be charged: " +
			"send the same request again to receive it without a second charge."
		e.Err = f
	case route.FaultOf(f) == route.FaultUnreachable && open:
		e.Code = llm.CodeProviderUnavailable
	default:
		return f
	}
	return &e
}

// abandonHold settles an attempt that a defect left open, so that no hold outlives its request.
func (x *exchange) abandonHold() {
	a := x.choice.current
	if !a.isOpen() {
		return
	}
	x.spent.reached = true
	x.settle(ledger.Settlement{
		Outcome: ledger.OutcomeFailed, Provenance: ledger.Estimated, Code: llm.CodeInternal,
		Usage: a.outcome().InputUsage(), AtMost: a.hold.Attempt().Hold,
	})
}

// end releases everything that the exchange holds, however it ended.
func (x *exchange) end() {
	in := x.in
	defer x.reading.end()
	defer x.content.End() // the client has its answer
	x.choice.prepared.drop()
	x.abandonHold()
	in.tally.add(&x.spent)
	in.server.late.forget(x.late.answers)
	x.late.read(in.server, x.spent.reached)
	x.settleLimits()
	x.idem.release()
	x.cache.release()
	x.releaseBody()
	in.held.EndAnswer()
}

// releaseBody releases the request's body. First it ends the offer of a late answer, which reads the body for its
// digest.
func (x *exchange) releaseBody() {
	x.reading.hangUp.give(x.in, nil)
	x.in.release()
}
