package budget

import (
	"slices"
	"sync"
	"time"

	"weir/internal/llm"
)

// accountLeases is what an account and its keys may still spend on this node.
type accountLeases struct {
	mu     sync.Mutex
	scopes map[string][]*lease // each has few: the periods of now, and what is left of those before
	makers map[string]string   // id of the key with which the request came that a scope is here for; empty for none
	made   map[string]int      // how many scopes are here for requests with a key, by its id
	first  *Attempt            // of those under way, in no order
	untold bool                // something is under way that the other nodes do not know all of
}

// lease is this node's part of a budget in a period. It is guarded by the lock
// of its account's budgets.
type lease struct {
	id     ID
	budget Budget    // as the request had it that came last of all,
	asOf   time.Time // at that time

	known   bool      // spent is what it says; until then late has what was settled
	late    []spend   // settled since somebody asked what was spent
	granted llm.Money // what spent and held may come to
	spent   llm.Money // what this journal's attempts of the period have cost
	since   Position  // what was settled up to there is in spent by what the database said
	held    llm.Money // what those under way may cost, as far as they hold it here
	full    bool      // nobody has any more to give, but what other nodes hold
	excess  llm.Money // of granted, what is beyond the limit of all nodes

	changed bool          // the budget, or what others hold of it, was changed since the last lease; of whoever leases
	untold  bool          // others may not know all that is in use here
	leasing chan struct{} // closed when the lease under way has ended; nil for none
	failed  time.Time     // when the database last gave an error; zero for never since
	refused llm.Money     // there was not so much to be had,
	until   time.Time     // which is believed until then
	used    time.Time     // when it last was
	gone    time.Time     // when the database said that the budget is no more; zero while it is
	beside  Budget        // another one of the scope, as the last lease had it; a limit of 0 for none
}

// spend is a settlement, by its place in the journal.
type spend struct {
	at   Position
	cost llm.Money
}

// available is what may still be reserved; less than 0 where more is held and spent already.
func (s *lease) available() llm.Money {
	if !s.known {
		return 0
	}
	return s.granted - s.excess - s.inUse()
}

// inUse is what the node cannot give back.
func (s *lease) inUse() llm.Money { return s.spent + s.held }

// spare reports whether more was granted than is in use.
func (s *lease) spare() bool { return s.granted > s.inUse() }

// Reservation is an amount held in budgets for an attempt that is about to be opened. The
// attempt carries it. A nil Reservation holds nothing.
type Reservation struct {
	budgets *accountLeases
	leases  []*lease
	amount  llm.Money // held in each of them, once the attempt before is settled
	extra   llm.Money // of it, what is held already
}

// Amount is how much the attempt may cost.
func (c *Reservation) Amount() llm.Money {
	if c == nil {
		return llm.MaxCost
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

// find is the lease of that name; nil where there is none.
func (p *accountLeases) find(id ID) *lease {
	for _, s := range p.scopes[id.Scope] {
		if s.id == id {
			return s
		}
	}
	return nil
}

// forget drops the lease, unless that is done already.
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

// Recount has the account's budgets, or all with "", leased anew before more of them is
// spent: what was spent was corrected in the database, where this node did not see it.
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

// change has the leases of those accounts and keys, or all with nil, leased anew.
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

// change has the lease leased anew, since the budget is not what it was.
func (s *lease) change() {
	s.granted, s.full, s.excess, s.until, s.gone = s.inUse(), false, 0, time.Time{}, time.Time{}
	s.changed = s.known || s.leasing != nil
}

// counting appends the leases that count for a request: of the budgets that it knows of, and of those that
// were set beside them or in their place since.
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

// leaseOf is the lease of a budget at a moment, made for a request with the key when it is not there.
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
	if at.Before(s.asOf) { // others know better
		return s
	}
	s.asOf = at
	back := !s.gone.IsZero() && now.Sub(s.gone) >= goneFor
	if s.budget.Limit != b.Limit || back { // somebody changed it
		s.budget = *b
		s.change()
	}
	return s
}
