package ledger

import (
	"slices"
	"sync"
	"time"

	"weir/internal/llm"
)

// accountBudgets is what an account and its keys may still spend on this node.
type accountBudgets struct {
	mu     sync.Mutex
	scopes map[string][]*budgetLease // each has few: the periods of now, and what is left of those before
}

// lease is this node's part of a budget in a period. It is guarded by the lock
// of its account budgets.
type budgetLease struct {
	id     BudgetID
	budget Budget // as the last request had it

	known   bool      // spent is what it says; until then late has what was settled
	late    []spend   // settled since somebody asked what was spent
	granted llm.Money // what spent and held may come to
	spent   llm.Money // what this journal's attempts of the period have cost
	since   Position  // what was settled up to there is in spent by what the database said
	held    llm.Money // what those under way may cost, as far as they hold it here
	full    bool      // nobody has any more to give, but what other nodes hold

	changed bool          // the budget was changed since the last lease; of whoever leases
	leasing chan struct{} // closed when the lease under way has ended; nil for none
	failed  time.Time     // when the database last gave an error; zero for never since
	refused llm.Money     // there was not so much to be had,
	until   time.Time     // which is believed until then
	used    time.Time     // when it last was
	gone    time.Time     // when the database said that the budget is no more; zero while it is
}

// spend is a settlement, by its place in the journal.
type spend struct {
	at   Position
	cost llm.Money
}

// available is what may still be reserved.
func (s *budgetLease) available() llm.Money {
	if !s.known {
		return 0
	}
	return s.granted - s.spent - s.held
}

// inUse is what the node cannot give back.
func (s *budgetLease) inUse() llm.Money { return s.spent + s.held }

// takeChanged reports whether the budget was changed since it last did.
func (s *budgetLease) takeChanged(p *accountBudgets) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	changed := s.changed
	s.changed = false
	return changed
}

// Reservation is an amount held in budgets for an attempt that is about to be opened. The
// attempt carries it. A nil Reservation holds nothing.
type Reservation struct {
	budgets *accountBudgets
	leases  []*budgetLease
	amount  llm.Money // held in each of them, once the attempt before is settled
	extra   llm.Money // of it, what is held already
}

// Amount is how much the attempt may cost.
func (c *Reservation) Amount() llm.Money {
	if c == nil {
		return MaxCost
	}
	return c.amount
}

// Release gives the room back, of an attempt that is not opened.
func (c *Reservation) Release() {
	if c == nil {
		return
	}
	c.budgets.mu.Lock()
	defer c.budgets.mu.Unlock()
	for _, s := range c.leases {
		s.held -= c.extra
	}
	c.leases = nil
}

// freed is how much of the lease a hold frees when it is settled at that cost.
func (c *Reservation) freed(s *budgetLease, cost llm.Money) llm.Money {
	if c != nil {
		for _, mine := range c.leases {
			if mine == s {
				return c.amount - cost
			}
		}
	}
	return -cost
}

// settle books what an attempt has cost, whether it held room or not: the
// attempt was settled at that place in the journal, and next, nil for none, was
// opened with it.
func (p *accountBudgets) settle(a *Attempt, cost llm.Money, at Position, next *Reservation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.each(a, func(s *budgetLease) {
		switch {
		case !s.known:
			s.late = append(s.late, spend{at, cost})
		case at > s.since:
			s.spent += cost
		}
	})
	if c := a.Reservation; c != nil {
		for _, s := range c.leases {
			s.held -= c.amount
		}
		c.leases = nil
	}
	if next != nil {
		for _, s := range next.leases {
			s.held += next.amount - next.extra
		}
		next.extra = next.amount
	}
}

// each calls fn with every lease that the attempt counts against.
func (p *accountBudgets) each(a *Attempt, fn func(*budgetLease)) {
	day := PeriodDay.Number(a.Arrived)
	for _, scope := range [...]string{a.Account, a.Key} {
		for _, s := range p.scopes[scope] {
			if first, last := DaysOf(s.id.Period); first <= day && day <= last {
				fn(s)
			}
		}
	}
}

// find is the lease of that name; nil where there is none.
func (p *accountBudgets) find(id BudgetID) *budgetLease {
	for _, s := range p.scopes[id.Scope] {
		if s.id == id {
			return s
		}
	}
	return nil
}

// forget drops the lease, unless that is done already.
func (p *accountBudgets) forget(s *budgetLease) {
	left := slices.DeleteFunc(p.scopes[s.id.Scope], func(other *budgetLease) bool { return other == s })
	if p.scopes[s.id.Scope] = left; len(left) == 0 {
		delete(p.scopes, s.id.Scope)
	}
}

// Recount has the account's budgets, or all with "", leased anew before more of them is
// spent: what was spent was corrected in the database, where this node did not see it.
func (l *Ledger) Recount(account string) {
	if account == "" {
		l.budgets.Range(func(_, v any) bool {
			v.(*accountBudgets).change()
			return true
		})
	} else if p, ok := l.budgets.Load(account); ok {
		p.(*accountBudgets).change()
	}
}

func (p *accountBudgets) change() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, of := range p.scopes {
		for _, s := range of {
			s.change()
		}
	}
}

// change has the lease leased anew, since the budget is not what it was.
func (s *budgetLease) change() {
	s.granted, s.full, s.until, s.gone = s.inUse(), false, time.Time{}, time.Time{}
	s.changed = s.known || s.leasing != nil
}

// leaseOf is the lease of a budget at a moment, made when it is not there.
func (p *accountBudgets) leaseOf(b *Budget, at, now time.Time) *budgetLease {
	id := BudgetID{b.Scope, b.Period.Number(at)}
	s := p.find(id)
	if s == nil {
		s = &budgetLease{id: id, budget: *b}
		p.scopes[id.Scope] = append(p.scopes[id.Scope], s)
	}
	back := !s.gone.IsZero() && now.Sub(s.gone) >= goneFor
	if s.budget.Limit != b.Limit || back { // somebody changed it
		s.budget = *b
		s.change()
	}
	s.used = now
	return s
}
