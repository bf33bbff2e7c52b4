package plan

import (
	"container/heap"
	"slices"

	"weir/internal/account"
	"weir/internal/budget"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/ratelimit"
	"weir/internal/route"
)

// outcome is the course of a request in a replay.
type outcome struct {
	replay    *replay
	request   request
	principal *account.Principal
	limited   ratelimit.Reservation
	target    *route.Target // answers instead of the recorded target; nil for the same
	refused   Refusal
	estimated bool
	charge    llm.Money // charge of the attempts that have ended
	tokens    int64

	n       int // index of the current attempt
	counted *budget.Attempt
	cost    llm.Money // its charge, at most
	over    func()
}

// targets sets the target that answers; an empty list means the recorded one.
func (o *outcome) targets(all []route.Target) {
	if len(all) > 0 {
		o.target = &all[0]
		o.estimate() // another model counts tokens and answers differently
	}
}

// estimate records that the result of the request is uncertain, and so are the results of later requests of its
// account, as long as its limits and budgets remember it.
func (o *outcome) estimate() {
	first := o.request.first()
	until := first.Arrived.Add(remembered)
	for _, b := range o.principal.Budgets(&first.Attribution) {
		end, ends := b.Period.Ends(first.Arrived)
		if !ends {
			end = first.Arrived.AddDate(100, 0, 0)
		}
		if end.After(until) {
			until = end
		}
	}
	o.estimated = true
	o.replay.doubt(first.Account, until)
	if o.replay.state.Policy.Installation != (ratelimit.Limits{}) { // these limits are shared by all accounts
		o.replay.doubt("", first.Arrived.Add(remembered))
	}
}

// limit reserves the request and its tokens from the rate limits, and reports whether it may continue.
func (o *outcome) limit() bool {
	r, first := o.replay, o.request.first()
	tokens := tokensOf(first, r.present.Table)
	caller := ratelimit.CallerOf(o.principal)
	caller.Parts = o.principal.PartLimits(&first.Attribution)
	if r.limits.LimitsTokens(caller) { // the record does not show how many tokens were reserved
		o.estimate()
	}
	return r.limits.Reserve(r.ctx, &o.limited, caller, tokens) == nil
}

// begin begins the first attempt.
func (o *outcome) begin() {
	reservation, ok := o.reserve(nil)
	if !ok {
		o.refused = RefusedBudget
		o.finish()
		return
	}
	o.open(reservation)
}

// entry returns the current attempt.
func (o *outcome) entry() *ledger.Entry { return &o.request[o.n] }

// open counts an attempt until it ends.
func (o *outcome) open(reservation *budget.Reservation) {
	e := o.entry()
	parts := o.principal.Parts(&e.Attribution).Scopes(e.Account, e.Key, &e.Attribution)
	o.counted = &budget.Attempt{
		Account: e.Account, Key: e.Key, Parts: parts, Arrived: e.Arrived,
		Most: o.most(e.Bound), Reservation: reservation,
	}
	o.cost = min(o.charged(), reservation.Amount())
	o.replay.budgets.Begin(o.counted)
	heap.Push(&o.replay.underWay, &ending{e.Opened.Add(e.Duration), o})
}

// endAttempt ends the current attempt, and begins the next one.
func (o *outcome) endAttempt() {
	r := o.replay
	o.tokens += o.entry().Usage.TotalTokens()
	o.charge += min(o.charges(), o.cost)
	r.settled++
	if o.n == len(o.request)-1 {
		r.budgets.Spend(o.counted, o.cost, r.settled, nil)
		o.finish()
		return
	}
	ended, cost := o.counted, o.cost
	o.n++
	reservation, ok := o.reserve(&after{ended.Reservation, cost})
	if !ok {
		r.budgets.Spend(ended, cost, r.settled, nil)
		o.refused = RefusedBudget
		o.finish()
		return
	}
	o.open(reservation)
	r.budgets.Spend(ended, cost, r.settled, reservation)
}

// finish ends the request.
func (o *outcome) finish() {
	o.limited.Settle(o.tokens)
	if o.over != nil {
		o.over()
	}
}

// after is the attempt that the next one follows.
type after struct {
	reservation *budget.Reservation
	charged     llm.Money
}

// reserve reserves the attempt's demand from the budgets.
func (o *outcome) reserve(a *after) (*budget.Reservation, bool) {
	e := o.entry()
	budgets := o.principal.Budgets(&e.Attribution)
	if len(budgets) == 0 {
		return nil, true
	}
	need := budget.Need{Account: e.Account, Budgets: budgets, At: e.Arrived}
	if a != nil {
		need.After, need.Charged = a.reservation, a.charged
	}
	d := demandOf(e, len(o.recorded().Budgets(&e.Attribution)) > 0)
	certain := o.take(&need, d.high)
	certain.Release()
	got := o.take(&need, d.coarse)
	if got == nil {
		got = o.take(&need, d.fine)
	}
	if got == nil {
		low := o.take(&need, d.low)
		if low.Release(); low != nil || o.isUnsure(budgets) {
			o.estimate()
		}
		return nil, false
	}
	if certain == nil || got.Amount() < o.most(d.coarse) || o.isUnsure(budgets) {
		o.estimate()
	}
	return got, true
}

// isUnsure reports whether the record does not show when some of the budgets were spent.
func (o *outcome) isUnsure(budgets []budget.Budget) bool {
	return slices.ContainsFunc(budgets, func(b budget.Budget) bool { return o.replay.leases.unsure[b.Scope] })
}

// take reserves a bound; it returns nil if there is no room.
func (o *outcome) take(need *budget.Need, bound llm.Usage) *budget.Reservation {
	need.Most = o.most(bound)
	need.Least = need.Most
	if isOpen(o.entry(), o.replay.present.Table) {
		bound[llm.Output] = min(bound[llm.Output], leastOutput)
		need.Least = o.most(bound)
	}
	got, err := o.replay.budgets.Reserve(o.replay.ctx, *need)
	if err != nil {
		return nil
	}
	return got
}

// recorded returns the caller with the present state, which is assumed to be the recorded one.
func (o *outcome) recorded() *account.Principal { return callerOf(o.replay.present, o.entry().Key) }
