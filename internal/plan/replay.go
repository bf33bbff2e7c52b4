package plan

import (
	"container/heap"
	"context"
	"slices"
	"time"

	"weir/internal/account"
	"weir/internal/budget"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/ratelimit"
	"weir/internal/route"
)

// replay applies a state to requests, at their times.
type replay struct {
	ctx      context.Context
	state    *State
	present  *State // assumed to be the state when the requests were recorded
	clock    clock
	limits   *ratelimit.Limiter
	budgets  *budget.Service
	leases   *leases
	callers  map[string]*account.Principal // by key
	underWay endings
	settled  budget.Position
	// uncertain has the time until which results depend on estimates, by account; "" means all accounts.
	uncertain map[string]time.Time
}

func newReplay(ctx context.Context, o *Options, s *State) (*replay, error) {
	r := &replay{
		ctx: ctx, state: s, present: &o.Now, clock: clock{o.From}, callers: map[string]*account.Principal{},
		uncertain: map[string]time.Time{},
	}
	var err error
	r.limits, err = ratelimit.New(ratelimit.Options{Policy: s.Policy, Now: r.clock.now, Log: o.Log})
	if err != nil {
		return nil, err
	}
	r.leases = newLeases(o, s)
	r.budgets = budget.NewService(budget.Options{
		Leases: r.leases, Flush: func(context.Context) error { return nil },
		Position: func() budget.Position { return r.settled }, WentBack: func(budget.Position) {}, Log: o.Log,
		Now: r.clock.now, SharedNow: r.clock.now,
	})
	return r, r.budgets.Join(ctx)
}

// caller returns the caller with that key; nil if the key no longer exists.
func (r *replay) caller(key string) *account.Principal {
	p, known := r.callers[key]
	if known {
		return p
	}
	p = callerOf(r.state, key)
	r.callers[key] = p
	return p
}

// callerOf returns the caller with that key. An account that is suspended now was not suspended when its requests
// were served.
func callerOf(s *State, key string) *account.Principal {
	k := s.Keys[key]
	if k == nil || s.Accounts[k.AccountID] == nil {
		return nil
	}
	a := *s.Accounts[k.AccountID]
	a.Suspended = false
	return account.NewPrincipal(&a, k)
}

// admit applies the state to a request when it arrives. Over is called when the request has ended.
func (r *replay) admit(in request, over func()) *outcome {
	first := in.first()
	r.until(first.Arrived)
	o := &outcome{replay: r, request: in, principal: r.caller(first.Key), over: over}
	if o.principal == nil {
		o.begin()
		return o
	}
	targets, refused := r.route(o.principal, first)
	if o.refused = refused; refused != NotRefused {
		o.finish()
		return o
	}
	o.targets(targets)
	if !o.limit() {
		o.refused = RefusedLimit
		o.finish()
		return o
	}
	o.begin()
	return o
}

// isCertain reports whether the results of an account's requests at a time are free of estimates.
func (r *replay) isCertain(account string, at time.Time) bool {
	return !r.uncertain[account].After(at) && !r.uncertain[""].After(at)
}

// doubt records that results of an account's requests depend on an estimate until a time.
func (r *replay) doubt(account string, until time.Time) {
	if r.uncertain[account].Before(until) {
		r.uncertain[account] = until
	}
}

// route returns the targets that would answer instead of the recorded one; none for the same. A name with the same
// meaning as at present keeps its recorded target.
func (r *replay) route(p *account.Principal, first *ledger.Entry) ([]route.Target, Refusal) {
	then, err := r.state.Table.Targets(nil, first.Requested, "")
	if err != nil {
		then = nil // such as a name at a vendor's own client API: the target stays
		if r.state.Table != r.present.Table && r.knows(first) {
			return nil, RefusedModel
		}
	}
	denied := p.MayUse(first.Requested) != nil
	for i := range then {
		if denied && p.MayUse(then[i].FullName()) != nil {
			return nil, RefusedModel
		}
	}
	if denied && len(then) == 0 && p.MayUse(first.FullModel()) != nil {
		return nil, RefusedModel
	}
	if r.state.Table == r.present.Table {
		return nil, NotRefused
	}
	now, _ := r.present.Table.Targets(nil, first.Requested, "")
	if !r.state.Aliases[first.Requested] && sameTargets(now, then) ||
		len(then) > 0 && then[0].FullName() == first.FullModel() {
		return nil, NotRefused
	}
	return then, NotRefused
}

// sameTargets reports whether a name means the same models, in any order.
func sameTargets(now, then []route.Target) bool {
	return len(now) == len(then) && !slices.ContainsFunc(then, func(t route.Target) bool {
		return !slices.ContainsFunc(now, func(n route.Target) bool { return n.FullName() == t.FullName() })
	})
}

// knows reports whether the name is a model or an alias at present.
func (r *replay) knows(first *ledger.Entry) bool {
	_, err := r.present.Table.Targets(nil, first.Requested, "")
	return err == nil
}

// until ends all attempts that end up to a time.
func (r *replay) until(at time.Time) {
	for len(r.underWay) > 0 && !r.underWay[0].at.After(at) {
		e := heap.Pop(&r.underWay).(*ending)
		r.clock.forward(e.at)
		e.outcome.endAttempt()
	}
	r.clock.forward(at)
}

// end ends all attempts.
func (r *replay) end() {
	for len(r.underWay) > 0 {
		r.until(r.underWay[0].at)
	}
}

// ending is the time at which an attempt ends.
type ending struct {
	at      time.Time
	outcome *outcome
}

// endings is a heap of the current attempts, ordered by their ends.
type endings []*ending

// Len implements container/heap.
func (e endings) Len() int { return len(e) }

// Less implements container/heap.
func (e endings) Less(i, j int) bool { return e[i].at.Before(e[j].at) }

// Swap implements container/heap.
func (e endings) Swap(i, j int) { e[i], e[j] = e[j], e[i] }

// Push implements container/heap.
func (e *endings) Push(v any) { *e = append(*e, v.(*ending)) }

// Pop implements container/heap.
func (e *endings) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// tokensOf returns the tokens that were reserved for a request, as far as its record shows: a quarter of its bytes,
// which bound its input, and its cap or the usual length of an answer.
func tokensOf(e *ledger.Entry, table *route.Table) int64 {
	const usual = 1024
	output := e.Bound[llm.Output]
	if isOpen(e, table) {
		output = min(output, usual)
	}
	return ratelimit.Estimate(e.Bound.InputTokens(), output, 1)
}

// isOpen reports whether a request had no cap of its own, as far as its record shows.
func isOpen(e *ledger.Entry, table *route.Table) bool {
	targets, err := table.Targets(nil, e.FullModel(), "")
	return err == nil && e.Bound[llm.Output] >= table.OutputCap(&targets[0])
}
