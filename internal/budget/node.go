package budget

import (
	"context"
	"maps"
	"slices"
	"time"
)

const (
	// beatEvery is the interval of heartbeats, if there can be other nodes. A heartbeat also reads their needs.
	beatEvery = 250 * time.Millisecond
	// sweepEvery is the interval of searches for unused leases.
	sweepEvery = 10 * time.Second
	// idleFor is how long an unused lease is held.
	idleFor = time.Minute
	// changesFor is how long the change of an account or a key is remembered: the longest time from a request's first
	// byte to its last attempt.
	changesFor = 30 * time.Minute
	// beatMargin is how long before its time ends a node stops spending its leases, to allow for differences between
	// clocks and for attempts in progress.
	beatMargin = 5 * time.Second
)

// validity is how long this node's leases may be spent.
type validity struct {
	forever bool
	until   time.Time
}

// covers reports whether leases may be spent at that time. A nil validity covers no time.
func (v *validity) covers(now time.Time) bool {
	return v != nil && (v.forever || now.Before(v.until))
}

// Heartbeat keeps the leases of a node valid, and returns amounts that other nodes want or that are unused.
type Heartbeat struct {
	*Service
	failed error // result of the last heartbeat
}

// NewHeartbeat returns the heartbeat of a node. It begins with Run.
func NewHeartbeat(s *Service) *Heartbeat { return &Heartbeat{Service: s} }

// Alive returns how many nodes share the database, including this one; at least 1.
func (l *Service) Alive() int { return max(1, int(l.alive.Load())) }

// Join sends the first heartbeat, before the node serves.
func (l *Service) Join(ctx context.Context) error {
	if l.leases == nil {
		l.valid.Store(&validity{forever: true})
		return nil
	}
	asked := l.now()
	got, err := l.leases.Beat(ctx, l.node)
	if err == nil {
		l.hear(asked, got)
	}
	return err
}

// hear applies the answer to a heartbeat that was sent at asked.
func (l *Service) hear(asked time.Time, got Beat) {
	l.alive.Store(int64(got.Alive))
	l.valid.Store(&validity{forever: got.For == 0, until: asked.Add(got.For - beatMargin)})
}

// Run sends heartbeats and returns amounts that others want or that are unused, until ctx ends.
func (l *Heartbeat) Run(ctx context.Context) {
	if l.leases == nil {
		return
	}
	every := beatEvery
	if l.valid.Load().forever {
		every = sweepEvery
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	l.recover(ctx)
	swept := l.now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if every == beatEvery {
			l.beatLogged(ctx)
		} else {
			l.show(ctx)
		}
		if now := l.now(); now.Sub(swept) >= sweepEvery {
			swept = now
			l.sweep(ctx)
		}
	}
}

// show sends a heartbeat of a node that is alone. Only people read it, so the next one follows if it fails.
func (l *Heartbeat) show(stop context.Context) {
	ctx, cancel := context.WithTimeout(stop, leaseLimit)
	defer cancel()
	_, _ = l.leases.Beat(ctx, l.node)
}

// recover returns the leases of earlier processes of this node, once the database has all their settlements.
func (l *Heartbeat) recover(stop context.Context) {
	ctx, cancel := context.WithTimeout(stop, leaseLimit)
	defer cancel()
	err := l.flush(ctx)
	if err == nil {
		err = l.reconcileOnce(ctx)
	}
	if err != nil && stop.Err() == nil { // the first lease tries again
		l.log.Warn("budget leases from before the start could not be returned yet", "err", err)
	}
}

// beatLogged sends a heartbeat, and logs an outage once.
func (l *Heartbeat) beatLogged(stop context.Context) {
	ctx, cancel := context.WithTimeout(stop, leaseLimit)
	defer cancel()
	err := l.beat(ctx)
	if ctx.Err() != nil && err == nil {
		err = ctx.Err()
	}
	switch {
	case stop.Err() != nil: // this node stops, so it is no outage
		return
	case err != nil && l.failed == nil:
		l.log.Error("the database cannot be reached; this node's budget leases stay valid for a while", "err", err)
	case err == nil && l.failed != nil:
		l.log.Info("the database can be reached again")
	}
	l.failed = err
}

// beat sends a heartbeat and handles the answer.
func (l *Heartbeat) beat(ctx context.Context) error {
	asked, had := l.now(), l.position()
	got, err := l.leases.Beat(ctx, l.node)
	if err != nil {
		return err
	}
	if got.At < had {
		l.wentBack(got.At)
	}
	if got.Told != got.Incarnation {
		if got, err = l.tell(ctx, got.Incarnation); err != nil {
			return err
		}
	}
	l.hear(asked, got)
	l.tellUnderWay(ctx)
	l.yieldWanted(ctx, got.Wanted)
	return nil
}

// tell reports this node's spending and holds to a database that may have lost commits.
func (l *Heartbeat) tell(ctx context.Context, incarnation string) (Beat, error) {
	l.log.Warn("the database has failed over; this node reports its budget leases to it again", "incarnation",
		incarnation)
	if err := l.flush(ctx); err != nil {
		return Beat{}, err
	}
	if err := l.leases.Reconcile(ctx, l.node.Journal); err != nil {
		return Beat{}, err
	}
	if err := l.assert(ctx); err != nil {
		return Beat{}, err
	}
	told := l.node
	told.Incarnation = incarnation
	return l.leases.Beat(ctx, told)
}

// eachLease calls fn with every lease while no lock is held.
func (l *Heartbeat) eachLease(fn func(*accountLeases, *lease)) {
	l.accounts.Range(func(_, v any) bool {
		p := v.(*accountLeases)
		p.mu.Lock()
		all := slices.Concat(slices.Collect(maps.Values(p.scopes))...)
		p.mu.Unlock()
		for _, s := range all {
			fn(p, s)
		}
		return true
	})
}

// alone runs fn as the only call that changes the lease at the database, and reports whether it did. It does not if a
// concurrent call does so, or if the lease is not in use yet.
func (l *Heartbeat) alone(p *accountLeases, s *lease, fn func() error) (ran bool, err error) {
	p.mu.Lock()
	if s.leasing != nil || !s.known {
		p.mu.Unlock()
		return false, nil
	}
	s.leasing = make(chan struct{})
	p.mu.Unlock()
	err = fn()
	p.mu.Lock()
	close(s.leasing)
	s.leasing = nil
	p.mu.Unlock()
	return true, err
}

// yieldWanted returns the unused amounts of budgets that another node has too little of. The amount in use must not
// be reused before the next lease, because the other node may hold more than the limit allows.
func (l *Heartbeat) yieldWanted(ctx context.Context, ids []ID) {
	if len(ids) == 0 {
		return
	}
	failed := func(id ID, err error) {
		if err != nil {
			l.log.Warn("a budget lease could not be returned", "scope", id.Scope, "err", err)
		}
	}
	found := map[ID]bool{}
	l.eachLease(func(p *accountLeases, s *lease) {
		if !slices.Contains(ids, s.id) {
			return
		}
		found[s.id] = true
		_, err := l.alone(p, s, func() error {
			p.mu.Lock()
			s.changed = true
			p.mu.Unlock()
			return l.giveBack(ctx, p, s)
		})
		failed(s.id, err)
	})
	for _, id := range ids {
		if !found[id] {
			failed(id, l.yieldUnknown(ctx, id))
		}
	}
}

// yieldUnknown returns a lease that the database has but this process does not know, because the answer to its
// request was lost.
func (l *Heartbeat) yieldUnknown(ctx context.Context, id ID) error {
	if err := l.flush(ctx); err != nil {
		return err
	}
	if err := l.reconcileOnce(ctx); err != nil {
		return err
	}
	l.loading.Lock()
	defer l.loading.Unlock()
	known := false
	l.eachLease(func(_ *accountLeases, s *lease) { known = known || s.id == id && s.known })
	if known {
		return nil
	}
	_, err := l.leases.Lease(ctx, LeaseRequest{Journal: l.node.Journal, Budget: id, Unknown: true})
	return err
}

// assert reports this node's spending and holds of each budget to a database that may have lost commits.
func (l *Heartbeat) assert(ctx context.Context) (err error) {
	l.eachLease(func(p *accountLeases, s *lease) {
		if err == nil {
			err = l.assertOne(ctx, p, s)
		}
	})
	return err
}

// assertOne also waits for a lease in progress, because that may be lost too.
func (l *Heartbeat) assertOne(ctx context.Context, p *accountLeases, s *lease) error {
	for {
		p.mu.Lock()
		busy, known := s.leasing, s.known
		p.mu.Unlock()
		if busy == nil && !known {
			return nil
		}
		if busy != nil {
			if err := l.await(ctx, busy); err != nil {
				return err
			}
			continue
		}
		if ran, err := l.alone(p, s, func() error { return l.yield(ctx, p, s) }); ran {
			return err
		}
	}
}

// sweep returns and removes leases that have not been used for a while.
func (l *Heartbeat) sweep(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, leaseLimit)
	defer cancel()
	now, sharedNow := l.now(), l.sharedNow()
	l.changes.Range(func(scope, at any) bool {
		if sharedNow.Sub(at.(time.Time)) >= changesFor {
			l.changes.CompareAndDelete(scope, at)
		}
		return true
	})
	idle := func(p *accountLeases, s *lease) bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return s.held == 0 && now.Sub(s.used) >= idleFor
	}
	l.eachLease(func(p *accountLeases, s *lease) {
		if !idle(p, s) {
			return
		}
		if _, err := l.alone(p, s, func() error { return l.giveBack(ctx, p, s) }); err != nil {
			return // the lease stays, so that it can be returned later
		}
		p.mu.Lock()
		if s.held == 0 && s.leasing == nil && !s.spare() {
			p.forget(s)
		}
		p.mu.Unlock()
	})
}

// reconcileOnce takes back, once in this process, the leases of earlier processes of the node. The database must have
// all their settlements.
func (l *Service) reconcileOnce(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reconciled {
		return nil
	}
	if err := l.leases.Reconcile(ctx, l.node.Journal); err != nil {
		return err
	}
	l.reconciled = true
	return nil
}

// Leave returns all leases. All attempts must be settled.
func (l *Heartbeat) Leave(ctx context.Context) error {
	if l.leases == nil {
		return nil
	}
	return l.leases.Leave(ctx, l.node.Journal)
}
