package gateway

import (
	"time"

	"weir/internal/account"
	"weir/internal/budget"
	"weir/internal/capacity"
	"weir/internal/dialect"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/provider"
	"weir/internal/quote"
	"weir/internal/route"
	"weir/internal/telemetry"
	"weir/internal/tracing"
)

// attempt is one request to one provider.
type attempt struct {
	in          *intake
	by          *account.Principal  // whose request it is
	plan        *route.Plan         // of the request
	follows     *ledger.Hold        // of the failed attempt before it; nil for none
	settles     *ledger.Settlement  // the settlement of that attempt
	quote.Quote                     // the quote of the request at the target
	body        []byte              // as sent to the target
	room        *[]byte             // memory for a body that is passed through
	called      llm.Called          // maps calls of a translated answer back to the client's names
	dropped     []string            // names that the target's wire format cannot express
	input       int64               // estimated input tokens, if a stream must report them first; else 0
	cap         int64               // output cap of each answer, set if the client sent none; 0 for none
	calls       int64               // cap on calls of the provider's own tools; 0 for none
	demand      quote.Demand        // the amount to reserve; zero without a budget
	reservation *budget.Reservation // until the attempt is opened; nil without a budget
	mayCount    bool                // the provider may be asked to count the tokens
	counted     time.Time           // when it was; zero if it was not

	hold    *ledger.Hold // nil before it is opened, and after its late answer is detached
	trace   *tracing.Attempt
	tally   quote.Tally
	answer  capacity.Arriving
	ids     callIDs
	back    []dialect.Header // headers of the answer for the client
	resumes *resume          // how it continues an interrupted answer; nil if it does not
}

// drop releases the reservation of an attempt that is not made. A nil attempt has none.
func (a *attempt) drop() {
	if a != nil {
		a.reservation.Release()
		a.reservation = nil
	}
}

// opened returns the attempt's hold; nil if it has none, or there is no attempt.
func (a *attempt) opened() *ledger.Hold {
	if a == nil {
		return nil
	}
	return a.hold
}

// isOpen reports whether the attempt still has to be settled with its request.
func (a *attempt) isOpen() bool { return a.opened() != nil && !a.hold.Settled() }

// isDetached reports whether an attempt that was opened is settled by its late answer.
func (a *attempt) isDetached() bool { return a.hold == nil }

// caller names who sent the attempt's request.
func (a *attempt) caller() (c telemetry.Caller) {
	if of, key := a.by.Account(), a.by.Key(); of != nil {
		c = telemetry.Caller{Account: of.Name, Key: key.ID, KeyLabel: key.Label}
	}
	return c
}

// record builds the ledger's record of the n-th attempt of its request, with the attempt's reservation.
func (a *attempt) record(n int) ledger.Attempt {
	in := a.in
	r := ledger.Attempt{
		ID:      ledger.AttemptID{Request: in.id.UUID, N: uint16(n)},
		Account: in.principal.Account().ID, Key: in.principal.Key().ID,
		Requested: a.Head.Model, Provider: a.Target.Provider.Name(), Model: a.Target.Model,
		Region: a.Target.Provider.ServesIn(),
		Opened: in.server.ledger.Now().UTC().Truncate(time.Microsecond), Arrived: in.arrived,
		Stream: a.Head.Stream, Attribution: in.own.attribution, Parts: in.principal.Parts(&in.own.attribution),
		Price: a.Price, BillByProvider: a.Target.Provider.BillsItself(), Reservation: a.reservation,
	}
	asked := a.Head.Asked
	if a.reservation == nil {
		r.Bound = a.BoundBooks()
	} else {
		asked = a.demand.Asked
		r.Bound = a.demand.Granted(a.cap, a.calls)
	}
	r.Hold = min(llm.MaxCost, r.Price.BoundAsked(&r.Bound, asked))
	if r.Terms = a.Terms; r.Terms != nil {
		r.ChargeHold = r.Terms.Bound(r.Hold, &r.Price, &r.Bound, asked)
	}
	return r
}

// outcome describes the attempt so far.
func (a *attempt) outcome() quote.Answer {
	return quote.AsServed(quote.Answer{
		Quote: &a.Quote, Tally: &a.tally, Attempt: a.hold.Attempt(), Ended: a.in.server.ledger.Now(),
		Gone: a.in.client.Gone(),
	})
}

// refuseServed returns the failure of an answer by another model than the requested one, if the alias refuses it.
func (a *attempt) refuseServed() error {
	if a.Target.ServedPolicy() != route.RefuseServed { // an outcome costs more to build
		return nil
	}
	if model := quote.RefusedModel(a.outcome()); model != "" {
		return provider.Substituted(model)
	}
	return nil
}

// tierOf returns the service tier that a header of an answer in a wire format names; empty for none.
func tierOf(d *dialect.Dialect, resp *provider.Response) string {
	if d.TierHeader == "" {
		return ""
	}
	return resp.Header.Get(d.TierHeader)
}
