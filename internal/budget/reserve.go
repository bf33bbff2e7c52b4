package budget

import (
	"context"
	"errors"
	"math"
	"time"

	"weir/internal/llm"
)

const (
	// leaseTries and leaseWait bound how often and how long a reservation is tried again after a lease: each time,
	// other concurrent requests may have reserved the amount first.
	leaseTries = 1000
	leaseWait  = 5 * time.Second
	// leaseLimit bounds one lease, with the wait for the projector before it.
	leaseLimit = 2 * time.Second
	refusedFor = 250 * time.Millisecond // a budget is assumed to have no more after a refusal
	failedFor  = 250 * time.Millisecond // the database is not queried again after an error
	// wantedFor is how long a node waits for others to return unused amounts, and wantedPause the time between two
	// queries.
	wantedFor   = 800 * time.Millisecond
	wantedPause = 50 * time.Millisecond
	// unlimited is the lease of a budget that does not exist any more, and goneFor how long that is assumed: later
	// requests know of a new one.
	unlimited = math.MaxInt64 / 2
	goneFor   = time.Second
)

// Need is the amount that an attempt needs.
type Need struct {
	Account string    // id
	Key     string    // id of the caller's key
	Budgets []Budget  // all budgets that the attempt counts against; without any there is no limit
	At      time.Time // when the client's request arrived
	Least   llm.Money // the attempt's maximum cost with a short answer
	Most    llm.Money // its maximum cost with the longest answer; both are 0 for an attempt that costs nothing
	// After is the reservation of the previous attempt, nil for none, and Charged the cost of that attempt. The
	// amount that it frees is available to this one.
	After   *Reservation
	Charged llm.Money
}

// Reserve holds an amount in all the budgets, as much as is available between Least and Most. If less is available,
// the error is a *llm.Error with CodeBudgetExceeded. An attempt that costs nothing is not refused, even if a budget
// is used up. If the database that leases the budgets is not available, the code is CodeOverloaded. The reservation
// must be passed on in an Attempt, or be released.
func (l *Service) Reserve(ctx context.Context, n Need) (*Reservation, error) {
	if len(n.Budgets) == 0 {
		return nil, nil
	}
	if l.leases == nil {
		return nil, errors.New("budget: there are budgets, but no database to lease them from")
	}
	p := l.leasesOf(n.Account)
	if n.Least == 0 && n.Most == 0 {
		return &Reservation{budgets: p}, nil
	}
	n.Least = min(max(n.Least, 1), llm.MaxCost) // not 0, so that a used up budget refuses it
	n.Most = min(max(n.Most, n.Least), llm.MaxCost)
	var asked map[*lease]bool
	began := l.now()
	for tries := 0; tries < leaseTries && (tries == 0 || l.now().Sub(began) < leaseWait); tries++ {
		reservation, lacking, err := l.take(p, &n, asked)
		if lacking == nil || err != nil {
			return reservation, err
		}
		if asked == nil {
			asked = map[*lease]bool{}
		}
		asked[lacking] = true
		if err := l.lease(ctx, p, lacking, &n); err != nil {
			return nil, err
		}
	}
	return nil, l.away(errors.New("other requests reserved the amount first each time"))
}

// leasesOf returns the leases of an account, creating them if necessary.
func (l *Service) leasesOf(account string) *accountLeases {
	if p, ok := l.accounts.Load(account); ok {
		return p.(*accountLeases)
	}
	p, _ := l.accounts.LoadOrStore(account, &accountLeases{
		scopes: map[string][]*lease{}, makers: map[string]string{}, made: map[string]int{},
	})
	return p.(*accountLeases)
}

// take reserves the amount that is available on this node. If that is too little, lacking is a lease that must be
// extended first, unless that was tried already. If the budget has no more, it returns an error.
func (l *Service) take(p *accountLeases, n *Need, asked map[*lease]bool) (reservation *Reservation,
	lacking *lease, err error,
) {
	now := l.now()
	if !l.valid.Load().covers(now) {
		return nil, nil, l.away(errUnsure)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.isCrowded(n) {
		return nil, nil, crowded()
	}
	reservation = &Reservation{budgets: p, amount: n.Most}
	reservation.leases = p.counting(make([]*lease, 0, len(n.Budgets)), n, now)
	freed := llm.MaxCost
	for _, s := range reservation.leases {
		free := n.freed(s)
		room := s.available() + free
		switch {
		case s.changed && !asked[s]:
			return nil, s, nil
		case room >= n.Most:
		case room >= n.Least && (s.full || asked[s]):
		case room < n.Least && now.Before(s.until) && n.Least >= s.refused:
			return nil, nil, exceeded(s, n)
		default:
			return nil, s, nil
		}
		freed = min(freed, free)
		reservation.amount = min(reservation.amount, room)
	}
	reservation.extra = max(0, reservation.amount-freed)
	for _, s := range reservation.leases {
		s.held += reservation.extra
	}
	return reservation, nil, nil
}

// freed returns how much of a lease the previous attempt frees.
func (n *Need) freed(s *lease) llm.Money { return n.After.freed(s, n.Charged) }

var errUnsure = errors.New("this node has had no contact with the database for so long that its leases may belong to " +
	"another node")

// away returns the client's error if the rest of a budget is unknown.
func (l *Service) away(err error) error {
	return &llm.Error{
		Code:       llm.CodeOverloaded,
		Message:    "The budget that this request counts against cannot be checked right now. Try again in a second.",
		RetryAfter: time.Second,
		Err:        err,
	}
}

// lease extends the lease, or waits for a concurrent call that does. If that fails, but the lease has enough for the
// request, it returns nil.
func (l *Service) lease(ctx context.Context, p *accountLeases, s *lease, n *Need) error {
	err := l.leaseInTurn(ctx, p, s, n)
	if err == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.enough(n) {
		return nil
	}
	return err
}

func (l *Service) leaseInTurn(ctx context.Context, p *accountLeases, s *lease, n *Need) error {
	return l.inTurn(ctx, p, s, func(ctx context.Context) error { return l.leaseMore(ctx, p, s, n) })
}

// inTurn calls fn, so that one call at a time changes the lease at the database. While one is running, it waits for
// that one and does not call fn. For failedFor after a failure it returns an error at once.
func (l *Service) inTurn(ctx context.Context, p *accountLeases, s *lease, fn func(context.Context) error) error {
	p.mu.Lock()
	if busy := s.leasing; busy != nil {
		p.mu.Unlock()
		return l.await(ctx, busy)
	}
	if now := l.now(); now.Sub(s.failed) < failedFor {
		p.mu.Unlock()
		return l.away(errors.New("the database returned an error a moment ago"))
	}
	s.leasing = make(chan struct{})
	p.mu.Unlock()
	// Others wait for it, so it does not end with this request.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaseLimit)
	defer cancel()
	err := fn(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	close(s.leasing)
	s.leasing = nil
	if err == nil {
		return nil
	}
	s.failed = l.now()
	if !s.known {
		s.late = nil
		p.forget(s)
		p.untold = p.untold || s.untold
	}
	l.log.Warn("a budget could not be leased", "scope", s.id.Scope, "period", s.id.Period, "err", err)
	return l.away(err)
}

func (l *Service) await(ctx context.Context, busy <-chan struct{}) error {
	timer := time.NewTimer(leaseLimit + time.Second)
	defer timer.Stop()
	select {
	case <-busy:
		return nil
	case <-ctx.Done():
		return l.away(ctx.Err())
	case <-timer.C:
		return l.away(context.DeadlineExceeded)
	}
}

// leaseMore requests more from the database, several times if other nodes may return something meanwhile.
func (l *Service) leaseMore(ctx context.Context, p *accountLeases, s *lease, n *Need) error {
	if err := l.settleUp(ctx, s); err != nil {
		return err
	}
	p.mu.Lock()
	s.changed = false
	p.mu.Unlock()
	deadline := l.now().Add(wantedFor)
	for {
		got, err := l.leaseOnce(ctx, p, s, func() LeaseRequest { return l.more(s, n) })
		if err != nil {
			return err
		}
		p.mu.Lock()
		enough, spare := s.enough(n), s.spare()
		more := got.Idle > 0 || spare && l.Alive() > 1 // other nodes may return or need some
		if got.Changing {
			deadline = l.now().Add(wantedFor) // callers wait only for their own time
		}
		last := !more && !got.Changing || s.changed || !l.now().Before(deadline)
		if !enough && last && !s.changed {
			s.refused, s.until = max(1, s.available()+got.Left+1), l.now().Add(refusedFor)
		}
		p.mu.Unlock()
		if enough || last {
			return nil
		}
		if err := l.giveBack(ctx, p, s); err != nil { // so that the returned amounts may be enough for one node
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wantedPause):
		}
	}
}

// leaseOnce requests a lease from the database and applies the answer.
func (l *Service) leaseOnce(ctx context.Context, p *accountLeases, s *lease, request func() LeaseRequest) (
	Lease, error,
) {
	l.loading.RLock()
	defer l.loading.RUnlock()
	got, err := l.ask(ctx, p, s, request)
	if err != nil {
		return got, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leased(s, &got, l.now())
	return got, nil
}

// ask sends a request to the database. Unless the request is Unknown, it also reports the amount in use here. request
// is called under the lock of the account's leases.
func (l *Service) ask(ctx context.Context, p *accountLeases, s *lease, request func() LeaseRequest) (Lease, error) {
	p.mu.Lock()
	r := request()
	untold := s.untold
	s.untold = untold && r.Unknown
	p.mu.Unlock()
	got, err := l.leases.Lease(ctx, r)
	if err != nil && untold {
		p.mu.Lock()
		s.untold = true
		p.mu.Unlock()
		l.untold.Store(true)
	}
	return got, err
}

// more returns the request for the amount that n needs.
func (l *Service) more(s *lease, n *Need) LeaseRequest {
	free := n.freed(s)
	return LeaseRequest{
		Journal: l.node.Journal, Budget: s.id, Used: s.inUse(), Unknown: !s.known,
		Least: max(1, n.Least-free), Most: max(1, n.Most-free),
	}
}

// giveBack returns the unused amount of a lease. Meanwhile nothing is reserved of it; after an error nothing is
// either, because another node may have it by then.
func (l *Service) giveBack(ctx context.Context, p *accountLeases, s *lease) error {
	p.mu.Lock()
	spare := s.spare()
	p.mu.Unlock()
	if !spare {
		return nil
	}
	return l.yield(ctx, p, s)
}

// yield reports to the database that the node will spend no more than the amount in use.
func (l *Service) yield(ctx context.Context, p *accountLeases, s *lease) error {
	got, err := l.ask(ctx, p, s, func() LeaseRequest {
		s.granted, s.full = s.inUse(), false
		return LeaseRequest{Journal: l.node.Journal, Budget: s.id, Used: s.granted}
	})
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s.excess, s.beside = got.Excess, got.Beside
	if got.Limit == 0 {
		s.gone = l.now()
	}
	return nil
}

// settleUp ensures that the database has all settlements of this journal from before the lease.
func (l *Service) settleUp(ctx context.Context, s *lease) error {
	if s.known { // only the holder of leasing changes it
		return nil
	}
	if err := l.flush(ctx); err != nil {
		return err
	}
	return l.reconcileOnce(ctx)
}

// enough reports whether the lease has the least amount that is needed.
func (s *lease) enough(n *Need) bool { return s.known && s.available()+n.freed(s) >= n.Least }

// leased applies the answer to a lease request. If the budget changed in the meantime, the grant may belong to the
// old budget, so it is not used and leased again.
func (p *accountLeases) leased(s *lease, got *Lease, now time.Time) {
	if !s.known {
		for a := p.first; a != nil; a = a.next {
			if s.id.covers(a) {
				s.hold(a)
			}
		}
		s.known, s.spent, s.since = true, got.Spent, got.At
		for _, late := range s.late {
			if late.at > got.At {
				s.spent += late.cost
			}
		}
		s.late = nil
	}
	s.until, s.failed = time.Time{}, time.Time{}
	if s.changed {
		return
	}
	s.granted, s.full, s.excess = max(s.granted, got.Granted), got.Left <= 0, got.Excess
	s.beside = got.Beside
	if s.gone = (time.Time{}); got.Limit == 0 && (!got.Changing || got.Beside.Limit == 0) {
		s.granted, s.gone = unlimited, now // else the budget may exist again before this node learns of it
	}
}
