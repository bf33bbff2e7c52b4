package budget

import (
	"context"
	"maps"
	"slices"
	"time"

	"weir/internal/llm"
)

// Attempt is an attempt as it counts against budgets, from Begin to Spend. It also counts against budgets without a
// reservation, because they were set, or got another period, after its request arrived.
type Attempt struct {
	Account, Key string    // ids
	Parts        []string  // scopes of the parts of both that it counts against
	Arrived      time.Time // when its request arrived
	Most         llm.Money // the most that it may cost
	Reservation  *Reservation

	late           []*lease // leases that hold Most for it without a reservation
	account        *accountLeases
	previous, next *Attempt // of the account; guarded by its lock
}

// Begin counts an attempt that is about to be opened. One Spend or Drop must follow.
func (l *Service) Begin(a *Attempt) {
	if l.leases == nil {
		return
	}
	p := l.leasesOf(a.Account)
	p.mu.Lock()
	defer p.mu.Unlock()
	a.account, a.next = p, p.first
	if p.first != nil {
		p.first.previous = a
	}
	p.first = a
	untold := l.changedSince(a)
	p.each(a, func(s *lease) {
		if s.known && s.hold(a) { // other nodes must learn of the attempts in progress while the budget exists
			untold = untold || s.gone.IsZero()
		}
	})
	if untold {
		p.untold = true
		l.untold.Store(true)
	}
}

// changedSince reports whether a budget that the attempt counts against may have changed since its request arrived.
func (l *Service) changedSince(a *Attempt) bool {
	for _, scope := range [...]string{a.Account, a.Key} {
		if at, ok := l.changes.Load(scope); ok && !at.(time.Time).Before(a.Arrived) {
			return true
		}
	}
	return false
}

// scopes yields all scopes that the attempt counts against.
func (a *Attempt) scopes(yield func(scope string) bool) {
	if !yield(a.Account) || !yield(a.Key) {
		return
	}
	for _, scope := range a.Parts {
		if !yield(scope) {
			return
		}
	}
}

// hold holds the attempt's maximum cost, unless that is reserved, and reports whether it did.
func (s *lease) hold(a *Attempt) bool {
	if a.Reservation != nil && slices.Contains(a.Reservation.leases, s) {
		return false
	}
	a.late = append(a.late, s)
	s.held += a.Most
	return true
}

// end removes an attempt that is no longer in progress.
func (p *accountLeases) end(a *Attempt) {
	for _, s := range a.late {
		s.held -= a.Most
	}
	if a.previous != nil {
		a.previous.next = a.next
	} else {
		p.first = a.next
	}
	if a.next != nil {
		a.next.previous = a.previous
	}
	a.late, a.account, a.previous, a.next = nil, nil, nil, nil
}

// Drop ends an attempt that was not opened, and releases its reservation.
func (l *Service) Drop(a *Attempt) {
	if p := a.account; p != nil {
		p.mu.Lock()
		p.end(a)
		p.mu.Unlock()
	}
	a.Reservation.Release()
}

// Spend ends an attempt that was settled at that place of the journal, and adds its cost. next is the reservation of
// the attempt that was opened with the settlement; nil for none.
func (l *Service) Spend(a *Attempt, cost llm.Money, at Position, next *Reservation) {
	p := a.account
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end(a)
	p.each(a, func(s *lease) {
		switch {
		case !s.known:
			s.late = append(s.late, spend{at, cost})
		case at > s.since:
			s.spent += cost
		}
	})
	if r := a.Reservation; r != nil {
		for _, s := range r.leases {
			s.held -= r.amount
		}
		r.leases = nil
	}
	if next != nil {
		for _, s := range next.leases {
			s.held += next.amount - next.extra
		}
		next.extra = next.amount
	}
}

// each calls fn with every lease that the attempt counts against.
func (p *accountLeases) each(a *Attempt, fn func(*lease)) {
	if len(p.scopes) == 0 {
		return
	}
	for scope := range a.scopes {
		for _, s := range p.scopes[scope] {
			if s.id.covers(a) {
				fn(s)
			}
		}
	}
}

// covers reports whether the attempt counts against the budget.
func (id ID) covers(a *Attempt) bool {
	first, last := DaysOf(id.Period)
	day := PeriodDay.Number(a.Arrived)
	return first <= day && day <= last &&
		(id.Scope == a.Account || id.Scope == a.Key || slices.Contains(a.Parts, id.Scope))
}

// Changed notifies the service that the budgets of those accounts and keys may have changed. If there can be other
// nodes, the next heartbeat reports the attempts in progress to them.
func (l *Service) Changed(scopes map[string]bool) {
	if v := l.valid.Load(); v != nil && v.forever { // there are no other nodes
		l.accounts.Range(func(_, p any) bool {
			p.(*accountLeases).change(scopes)
			return true
		})
		return
	}
	now := l.sharedNow()
	for scope := range scopes {
		l.changes.Store(scope, now)
	}
	l.tellOf(scopes)
}

// tellOf makes the next heartbeat report the attempts in progress of those accounts and keys.
func (l *Service) tellOf(scopes map[string]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed == nil {
		l.changed = map[string]bool{}
	}
	maps.Copy(l.changed, scopes)
}

// tellUnderWay reports to the database the attempts in progress here, for each budget that the changed accounts and
// keys may have now.
func (l *Service) tellUnderWay(ctx context.Context) {
	l.mu.Lock()
	changed := l.changed
	l.changed = nil
	l.mu.Unlock()
	if untold := l.untold.Swap(false); len(changed) == 0 && !untold {
		return
	}
	l.accounts.Range(func(_, v any) bool {
		p := v.(*accountLeases)
		for _, s := range p.unreportedLeases(changed, l.now()) {
			if leasing, _ := p.stateOf(s); !leasing { // else the lease in progress reports it
				// inTurn logs the error.
				_ = l.inTurn(ctx, p, s, func(ctx context.Context) error { return l.tellLease(ctx, p, s) })
			}
			if _, untold := p.stateOf(s); untold {
				l.untold.Store(true)
			}
		}
		return true
	})
}

func (p *accountLeases) stateOf(s *lease) (leasing, untold bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return s.leasing != nil, s.untold
}

func (l *Service) tellLease(ctx context.Context, p *accountLeases, s *lease) error {
	if !s.known { // only the holder of leasing changes it
		if err := l.settleUp(ctx, s); err != nil {
			return err
		}
		unknown := LeaseRequest{Journal: l.node.Journal, Budget: s.id, Unknown: true}
		if _, err := l.leaseOnce(ctx, p, s, func() LeaseRequest { return unknown }); err != nil {
			return err
		}
	}
	return l.yield(ctx, p, s)
}

// unreportedLeases returns the leases with attempts in progress that other nodes may not know: leases of changed
// accounts and keys, which it creates if necessary, and leases that could not be reported before.
func (p *accountLeases) unreportedLeases(changed map[string]bool, now time.Time) (all []*lease) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for a := p.first; a != nil; a = a.next {
		for scope := range a.scopes {
			if !p.untold && !changed[ownerOf(scope)] {
				continue
			}
			for _, period := range [...]Period{PeriodDay, PeriodMonth, PeriodTotal} {
				b := Budget{Scope: scope, Period: period}
				if p.find(ID{scope, period.Number(a.Arrived)}) == nil {
					p.leaseOf(&b, "", a.Arrived, now)
				}
			}
		}
	}
	for scope, leases := range p.scopes {
		for _, s := range leases {
			if p.untold || changed[ownerOf(scope)] {
				s.change()
				s.untold = true
			}
			if s.untold {
				all = append(all, s)
			}
		}
	}
	p.untold = false
	return all
}
