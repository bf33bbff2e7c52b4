package budget

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"weir/internal/llm"
)

const (
	// leaseTries and leaseWait bound how often and how long a reservation is tried again
	// after a lease: others may have been quicker each time, as many as there
	// are requests at once.
	leaseTries = 1000
	leaseWait  = 5 * time.Second
	// leaseLimit bounds one lease, with the wait for the projector before it.
	leaseLimit = 2 * time.Second
	// refusedFor is how long it is believed that a budget has no more.
	refusedFor = 250 * time.Millisecond
	// failedFor is how long the database is not asked again after an error.
	failedFor = 250 * time.Millisecond
	// wantedFor is how long a node waits for others to give back what they do
	// not need, and wantedPause how long between two looks.
	wantedFor   = 800 * time.Millisecond
	wantedPause = 50 * time.Millisecond
	// unlimited is the lease of a budget that is no more, and goneFor how long
	// that is believed: whoever still asks after that knows of one.
	unlimited = math.MaxInt64 / 2
	goneFor   = time.Second
)

// Need is the room that an attempt needs.
type Need struct {
	Account string    // id
	Key     string    // id of the caller's key
	Budgets []Budget  // all that the attempt counts against; none: there is always room
	At      time.Time // when the client's request came
	Least   llm.Money // what the attempt costs at most when it may say little
	Most    llm.Money // what it costs at most when it may say all it can; both 0 for an attempt that costs nothing
	// After is the reservation of the attempt that this one follows, nil for none, and Charged what
	// that one will cost: what it frees serves the next one.
	After   *Reservation
	Charged llm.Money
}

// Reserve holds an amount in all the budgets, as much as there is between Least and
// Most, or none: then the error is a *llm.Error with CodeBudgetExceeded. An attempt that
// costs nothing at most needs no room, also where a budget is spent. When nobody can
// say, because the database that deals out the budgets is away, the code is CodeOverloaded.
// The reservation belongs into an Attempt, or is released.
func (l *Service) Reserve(ctx context.Context, n Need) (*Reservation, error) {
	if len(n.Budgets) == 0 {
		return nil, nil
	}
	if l.leases == nil {
		return nil, errors.New("budget: there are budgets, and no database that leases them")
	}
	p := l.leasesOf(n.Account)
	if n.Least == 0 && n.Most == 0 {
		return &Reservation{budgets: p}, nil
	}
	n.Least = min(max(n.Least, 1), llm.MaxCost) // something, so that a budget that is spent refuses
	n.Most = min(max(n.Most, n.Least), llm.MaxCost)
	var asked map[*lease]bool
	began := l.now()
	for tries := 0; tries < leaseTries && l.now().Sub(began) < leaseWait; tries++ {
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
	return nil, l.away(errors.New("other requests were quicker each time"))
}

// leasesOf is that of an account, made when it is not there.
func (l *Service) leasesOf(account string) *accountLeases {
	if p, ok := l.accounts.Load(account); ok {
		return p.(*accountLeases)
	}
	p, _ := l.accounts.LoadOrStore(account, &accountLeases{scopes: map[string][]*lease{}, makers: map[string]string{}, made: map[string]int{}})
	return p.(*accountLeases)
}

// take reserves what there is on this node. Where that is too little, lacking is
// a lease of which more is to be leased first, if it was not asked for yet;
// where no more is to be had, it is an error.
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

// freed is what the attempt before frees of a lease.
func (n *Need) freed(s *lease) llm.Money { return n.After.freed(s, n.Charged) }

var errUnsure = errors.New("this node has not heard from the database for so long that its leases may be another's")

// away is what a client is told when nobody can say what a budget has left.
func (l *Service) away(err error) error {
	return &llm.Error{
		Code:       llm.CodeOverloaded,
		Message:    "The budget that this request counts against cannot be checked right now. Try again in a second.",
		RetryAfter: time.Second,
		Err:        err,
	}
}

// exceeded is what a client is told when its budget has no room.
func exceeded(s *lease, n *Need) error {
	b := &s.budget
	limit := fmt.Sprintf("$%s in all", b.Limit)
	if b.Period != PeriodTotal {
		limit = fmt.Sprintf("$%s per %s", b.Limit, b.Period)
	}
	what := fmt.Sprintf("The budget of this %s, %s, has no room for this request: it needs at least $%s, and $%s is "+
		"neither spent nor held.", b.Of, limit, n.Least, s.refused-1)
	if ends, ok := b.Period.Ends(n.At); ok {
		what += fmt.Sprintf(" It will reset at %s.", ends.Format(time.RFC3339)) // by which LangChain knows a quota
	}
	return &llm.Error{
		Code: llm.CodeBudgetExceeded, Message: what,
		Err: &Exceeded{Budget: *b, At: n.At, Least: n.Least, Left: s.refused - 1},
	}
}

// Exceeded is the cause of a refusal: a budget that has no room, as this node sees
// it, for what a request needs at least.
type Exceeded struct {
	Budget Budget
	At     time.Time // of the request
	Least  llm.Money
	Left   llm.Money // what is neither spent nor held
}

// Error is for the log.
func (x *Exceeded) Error() string {
	return fmt.Sprintf("budget of %s %s: at least %s is needed", x.Budget.Of, x.Budget.Scope, x.Least)
}

// lease gets more of the lease, or waits for whoever is getting it. Where that
// fails, a request for which there is enough does without.
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

// inTurn runs fn as the only one that leases the lease, or waits for whoever does.
func (l *Service) inTurn(ctx context.Context, p *accountLeases, s *lease, fn func(context.Context) error) error {
	p.mu.Lock()
	if busy := s.leasing; busy != nil {
		p.mu.Unlock()
		return l.await(ctx, busy)
	}
	if now := l.now(); now.Sub(s.failed) < failedFor {
		p.mu.Unlock()
		return l.away(errors.New("the database gave an error a moment ago"))
	}
	s.leasing = make(chan struct{})
	p.mu.Unlock()
	// Others wait for it: it does not end with this request alone.
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

// leaseMore asks the database, several times where other nodes may give back
// something meanwhile.
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
		more := got.Idle > 0 || spare && l.Alive() > 1 // may come back from others, or find its use there
		if got.Changing {
			deadline = l.now().Add(wantedFor) // who asked waits no longer than its own time
		}
		last := !more && !got.Changing || s.changed || !l.now().Before(deadline)
		if !enough && last && !s.changed {
			s.refused, s.until = max(1, s.available()+got.Left+1), l.now().Add(refusedFor)
		}
		p.mu.Unlock()
		if enough || last {
			return nil
		}
		if err := l.giveBack(ctx, p, s); err != nil { // together it may be enough for somebody
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wantedPause):
		}
	}
}

// leaseOnce asks the database, and takes note of the answer.
func (l *Service) leaseOnce(ctx context.Context, p *accountLeases, s *lease, request func() LeaseRequest) (Lease, error) {
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

// ask asks the database, which is told what is in use here by that, unless this is not known.
// Request is called under the lock of the account's leases.
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

// more is the request for what is needed.
func (l *Service) more(s *lease, n *Need) LeaseRequest {
	free := n.freed(s)
	return LeaseRequest{
		Journal: l.node.Journal, Budget: s.id, Used: s.inUse(), Unknown: !s.known,
		Least: max(1, n.Least-free), Most: max(1, n.Most-free),
	}
}

// giveBack returns what the node does not use of a lease. Nothing is reserved of
// it meanwhile, and nothing after an error: it may be another node's by then.
func (l *Service) giveBack(ctx context.Context, p *accountLeases, s *lease) error {
	p.mu.Lock()
	spare := s.spare()
	p.mu.Unlock()
	if !spare {
		return nil
	}
	return l.yield(ctx, p, s)
}

// yield tells the database that the node may come to no more than it uses.
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

// settleUp makes sure that the database knows all that this journal had before
// the lease began to count.
func (l *Service) settleUp(ctx context.Context, s *lease) error {
	if s.known { // only whoever leases changes it
		return nil
	}
	if err := l.flush(ctx); err != nil {
		return err
	}
	return l.reconcileOnce(ctx)
}

// enough reports whether there is room for the least that is needed.
func (s *lease) enough(n *Need) bool { return s.known && s.available()+n.freed(s) >= n.Least }

// leased takes note of a lease. What was granted while the budget was changed
// may be of the old one: it is leased anew.
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
		s.granted, s.gone = unlimited, now // else it may be back before this node hears of it
	}
}
