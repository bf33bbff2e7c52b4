package budget

import (
	"slices"
	"sync"
	"time"

	"weir/internal/llm"
)

// accountLeases holds the leases of an account and its keys on this node.
type accountLeases struct {
	mu     sync.Mutex
	scopes map[string][]*lease // each has few: the current periods, and the rest of earlier ones
	makers map[string]string   // for each scope, the id of the key of the request that created it; empty for none
	made   map[string]int      // for each key id, how many scopes its requests created
	first  *Attempt            // first of a list of the attempts in progress, in no order
	untold bool                // the other nodes do not know all attempts in progress
}

// lease is this node's lease of a budget in a period. The lock of its account's leases guards it.
type lease struct {
	id     ID
	budget Budget    // as the latest request had it,
	asOf   time.Time // which arrived at that time

	known   bool      // spent is valid; until then late has the settlements
	late    []spend   // settled since spent was read
	granted llm.Money // limit of spent and held
	spent   llm.Money // cost of this journal's attempts in the period
	since   Position  // spent, as read from the database, contains all settlements up to here
	held    llm.Money // the most that the attempts in progress may cost, as far as they hold it here
	full    bool      // only other nodes have any left
	excess  llm.Money // part of granted that exceeds the limit of all nodes together

	changed bool          // the budget, or other nodes' leases of it, changed since the last lease; guarded by leasing
	untold  bool          // other nodes may not know all that is in use here
	leasing chan struct{} // closed when the lease in progress ends; nil for none
	failed  time.Time     // last error of the database; zero if it has answered since
	refused llm.Money     // such an amount was not available,
	until   time.Time     // which is assumed until then
	used    time.Time     // last use
	gone    time.Time     // when the database reported that the budget does not exist any more; zero while it exists
	beside  Budget        // another budget of the scope, from the last lease; a limit of 0 for none
}

// spend is a settlement with its place in the journal.
type spend struct {
	at   Position
	cost llm.Money
}

// available returns how much can still be reserved. It is negative if more is held and spent than granted.
func (s *lease) available() llm.Money {
	if !s.known {
		return 0
	}
	return s.granted - s.excess - s.inUse()
}

// inUse returns the amount that the node cannot return.
func (s *lease) inUse() llm.Money { return s.spent + s.held }

// spare reports whether more was granted than is in use.
func (s *lease) spare() bool { return s.granted > s.inUse() }

// Reservation is an amount held in budgets for an attempt that is about to be opened. It belongs to the attempt. A
// nil Reservation holds nothing.
type Reservation struct {
	budgets *accountLeases
	leases  []*lease
	amount  llm.Money // held in each of them once the previous attempt is settled
	extra   llm.Money // the part of it that is already held
}

// Amount returns how much the attempt may cost.
func (c *Reservation) Amount() llm.Money {
	if c == nil {
		return llm.MaxCost
	}
	return c.amount
}

// Release releases the amount, for an attempt that is not opened.
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

// freed returns how much of the lease a hold frees when it is settled at that cost.
func (c *Reservation) freed(s *lease, cost llm.Money) llm.Money {
	if c != nil {
		for _, mine := range c.leases {
			if mine == s {
				return c.amount - cost
			}
		}
	}
	return -cost
}

// find returns the lease with that id; nil if there is none.
func (p *accountLeases) find(id ID) *lease {
	for _, s := range p.scopes[id.Scope] {
		if s.id == id {
			return s
		}
	}
	return nil
}

// forget removes the lease, unless that is already done.
func (p *accountLeases) forget(s *lease) {
	all := p.scopes[s.id.Scope]
	if !slices.Contains(all, s) {
		return
	}
	left := slices.DeleteFunc(all, func(other *lease) bool { return other == s })
	if p.scopes[s.id.Scope] = left; len(left) > 0 {
		return
	}
	delete(p.scopes, s.id.Scope)
	key := p.makers[s.id.Scope]
	delete(p.makers, s.id.Scope)
	if p.made[key]--; p.made[key] == 0 {
		delete(p.made, key)
	}
}

// Recount makes the account's budgets, or all if it is empty, be leased again before more of them is spent, because
// corrections in the database changed their spending.
func (l *Service) Recount(account string) {
	if account == "" {
		l.accounts.Range(func(_, v any) bool {
			v.(*accountLeases).change(nil)
			return true
		})
	} else if p, ok := l.accounts.Load(account); ok {
		p.(*accountLeases).change(nil)
	}
}

// change makes the leases of those accounts and keys, or all if scopes is nil, be leased again.
func (p *accountLeases) change(scopes map[string]bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for scope, leases := range p.scopes {
		if scopes != nil && !scopes[ownerOf(scope)] {
			continue
		}
		for _, s := range leases {
			s.change()
		}
	}
}

// change makes the lease be leased again, because the budget has changed.
func (s *lease) change() {
	s.granted, s.full, s.excess, s.until, s.gone = s.inUse(), false, 0, time.Time{}, time.Time{}
	s.changed = s.known || s.leasing != nil
}

// counting appends the leases that a request counts against: of the budgets that it knows, and of budgets that were
// added or replaced them since.
func (p *accountLeases) counting(dst []*lease, n *Need, now time.Time) []*lease {
	for i := range n.Budgets {
		s := p.leaseOf(&n.Budgets[i], n.Key, n.At, now)
		if !slices.Contains(dst, s) {
			dst = append(dst, s)
		}
		beside := s.beside
		if beside.Limit == 0 {
			continue
		}
		beside.Of = s.budget.Of
		other := p.find(ID{beside.Scope, beside.Period.Number(n.At)})
		if other == nil {
			other = p.leaseOf(&beside, n.Key, n.At, now)
		}
		if !slices.Contains(dst, other) {
			dst = append(dst, other)
		}
	}
	return dst
}

// leaseOf returns the lease of a budget at a time. If there is none, it makes one for a request with the key.
func (p *accountLeases) leaseOf(b *Budget, key string, at, now time.Time) *lease {
	id := ID{b.Scope, b.Period.Number(at)}
	s := p.find(id)
	if s == nil {
		s = &lease{id: id, budget: *b}
		if len(p.scopes[id.Scope]) == 0 {
			p.makers[id.Scope] = key
			p.made[key]++
		}
		p.scopes[id.Scope] = append(p.scopes[id.Scope], s)
	}
	s.used = now
	if at.Before(s.asOf) { // a later request has newer data
		return s
	}
	s.asOf = at
	back := !s.gone.IsZero() && now.Sub(s.gone) >= goneFor
	if s.budget.Limit != b.Limit || back { // the budget has changed
		s.budget = *b
		s.change()
	}
	return s
}
