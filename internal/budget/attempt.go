package budget

import (
	"context"
	"maps"
	"slices"
	"time"

	"weir/internal/llm"
)

// Attempt is an attempt as it counts against budgets, from Begin to Spend: also against those
// that it has reserved nothing in, because they were set, or given another period, after its
// request came.
type Attempt struct {
	Account, Key string    // ids
	Parts        []string  // scopes of the parts of both that it counts against
	Arrived      time.Time // when its request came
	Most         llm.Money // what it may cost at most
	Reservation  *Reservation

	late           []*lease // which hold Most for it, too
	account        *accountLeases
	previous, next *Attempt // of the account; guarded by its lock
}

// Begin counts an attempt that is about to be opened. It is followed by one Spend or Drop.
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
		if s.known && s.hold(a) { // the others look for what is under way when they are
			untold = untold || s.gone.IsZero()
		}
	})
	if untold {
		p.untold = true
		l.untold.Store(true)
	}
}

// changedSince reports whether the attempt's request may not know of a budget that it counts
// against, because that came later.
func (l *Service) changedSince(a *Attempt) bool {
	for _, scope := range [...]string{a.Account, a.Key} {
		if at, ok := l.changes.Load(scope); ok && !at.(time.Time).Before(a.Arrived) {
			return true
		}
	}
	return false
}

// scopes are all that the attempt counts against.
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

// hold holds what the attempt may cost, unless that is reserved, and reports whether it did.
func (s *lease) hold(a *Attempt) bool {
	if a.Reservation != nil && slices.Contains(a.Reservation.leases, s) {
		return false
	}
	a.late = append(a.late, s)
	s.held += a.Most
	return true
}

// end forgets an attempt that is no longer under way.
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

// Spend ends an attempt that was settled at that place of the journal, and books its cost.
// Next is the reservation of the attempt that was opened with the settlement; nil for none.
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

// Changed says that the budgets of those accounts and keys may be others. What is under way of
// them here is told to the other nodes, if there can be any, at the next beat.
func (l *Service) Changed(scopes map[string]bool) {
	if v := l.valid.Load(); v != nil && v.forever { // there is nobody to tell
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

// tellOf has what is under way of those accounts and keys told at the next beat.
func (l *Service) tellOf(scopes map[string]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed == nil {
		l.changed = map[string]bool{}
	}
	maps.Copy(l.changed, scopes)
}

// tellUnderWay tells the database what is under way here of each budget that those accounts and
// keys may have by now.
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
		for _, s := range p.untoldLeases(changed, l.now()) {
			if leasing, _ := p.stateOf(s); !leasing { // else whoever does tells it
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
	if !s.known { // only whoever leases changes it
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

// untoldLeases are those of which others may not know all that is under way here: of changed
// accounts and keys, made where they are not there, and those that could not be told yet.
func (p *accountLeases) untoldLeases(changed map[string]bool, now time.Time) (all []*lease) {
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
