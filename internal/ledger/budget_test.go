package ledger

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"weir/internal/budget"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/worktest"
)

// alone starts a node with a budget of that limit, without other nodes.
func alone(t *testing.T, limit llm.Money) (*Ledger, *hub, func()) {
	t.Helper()
	f := newFleet(1)
	f.hub.limits = map[string]llm.Money{fleetAccount: limit, fleetKey: limit}
	f.nodes = f.nodes[:1]
	must.Do(t, f.nodes[0].boot(t.Context(), f.hub))
	return f.nodes[0].life.ledger, f.hub, f.stop
}

func accountNeed(limit, amount llm.Money) Need {
	return Need{Need: budget.Need{
		Account: fleetAccount, At: time.Now(), Least: amount, Most: amount,
		Budgets: []budget.Budget{{Scope: fleetAccount, Of: "account", Period: budget.PeriodTotal, Limit: limit}},
	}}
}

// TestBudgetChanged checks that a budget counts from the first request that knows it, despite earlier leases.
func TestBudgetChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, h, stop := alone(t, 100)
		defer stop()
		held := must.Get(l.Reserve(t.Context(), accountNeed(100, 10)))(t)
		h.limits[fleetAccount] = 50
		if _, err := l.Reserve(t.Context(), accountNeed(50, 41)); !isExceeded(err) {
			t.Errorf("41 of a budget lowered to 50, of which 10 are held: got %v, want it exceeded", err)
		}
		if _, err := l.Reserve(t.Context(), accountNeed(50, 40)); err != nil {
			t.Errorf("40 of it: %v", err)
		}
		h.limits[fleetAccount] = 70
		if _, err := l.Reserve(t.Context(), accountNeed(70, 20)); err != nil {
			t.Errorf("20 more after it was raised by 20: %v", err)
		}
		if _, err := l.Reserve(t.Context(), accountNeed(70, 1)); !isExceeded(err) {
			t.Errorf("one more: got %v, want it exceeded", err)
		}
		held.Release()
		if _, err := l.Reserve(t.Context(), accountNeed(70, 10)); err != nil {
			t.Errorf("after a reservation was released: %v", err)
		}
		h.limits[fleetAccount] = 0
		if _, err := l.Reserve(t.Context(), accountNeed(71, 1000)); err != nil {
			t.Errorf("after the budget was removed: %v", err)
		}
	})
}

// TestBudgetParts checks that a client that invents end users creates a bounded number of leases, and that known end
// users can continue.
func TestBudgetParts(t *testing.T) {
	worktest.NotRaced(t)
	synctest.Test(t, func(t *testing.T) {
		l, h, stop := alone(t, 100)
		defer stop()
		reserve := func(user string) error {
			n := accountNeed(100, 1)
			n.Budgets = []budget.Budget{{Scope: budget.UserScope(fleetKey, user), Of: "end user", Period: budget.PeriodDay, Limit: 5}}
			h.mu.Lock()
			h.limits[n.Budgets[0].Scope] = 5
			h.mu.Unlock()
			r, err := l.Reserve(t.Context(), n)
			r.Release()
			return err
		}
		refused := 0
		for i := range 10_005 {
			if err := reserve(fmt.Sprint(i)); err != nil {
				refused++
			}
		}
		if refused != 5 {
			t.Errorf("10,005 end users at once: %d refused, want 5", refused)
		}
		if err := reserve("1"); err != nil {
			t.Errorf("one of them again: %v", err)
		}
		if err := llm.AsError(reserve("one more")); err.Code != llm.CodeRateLimited {
			t.Errorf("one more: got %v, want it refused for a while", err)
		}
	})
}

// TestBudgetWhileDatabaseIsAway checks that a node spends its leases while the database is away, as long as they last,
// and no longer.
func TestBudgetWhileDatabaseIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, h, stop := alone(t, 100)
		defer stop()
		must.Get(l.Reserve(t.Context(), accountNeed(100, 10)))(t)
		h.setDown(true)
		time.Sleep(10 * time.Second)
		granted := h.state.slices[budget.ID{Scope: fleetAccount}][l.journal.id]
		if _, err := l.Reserve(t.Context(), accountNeed(100, granted-10)); err != nil {
			t.Errorf("the rest of the slice of %v: %v", granted, err)
		}
		if _, err := l.Reserve(t.Context(), accountNeed(100, 1)); !isAway(err) {
			t.Errorf("more than the slice: got %v, want a retryable error", err)
		}
		other := accountNeed(100, 1)
		other.Account = "another"
		other.Budgets[0].Scope = "another"
		if _, err := l.Reserve(t.Context(), other); !isAway(err) {
			t.Errorf("another account's budget: got %v, want a retryable error", err)
		}
		h.setDown(false)
		time.Sleep(time.Second)
		if _, err := l.Reserve(t.Context(), accountNeed(100, 1)); err != nil {
			t.Errorf("after the database is back: %v", err)
		}
		h.setDown(true)
		time.Sleep(2 * time.Minute)
		if _, err := l.Reserve(t.Context(), accountNeed(100, 1)); !isAway(err) {
			t.Errorf("after the end of the slices: got %v, want a retryable error", err)
		}
		h.setDown(false)
	})
}

// TestBudgetEnoughWhileAway checks that a request with a sufficient lease is not refused because another one, with an
// insufficient lease, found the database away.
func TestBudgetEnoughWhileAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, h, stop := alone(t, 100)
		defer stop()
		must.Get(l.Reserve(t.Context(), accountNeed(100, 10)))(t)
		left := h.state.slices[budget.ID{Scope: fleetAccount}][l.journal.id] - 10
		h.setDown(true)
		if _, err := l.Reserve(t.Context(), accountNeed(100, left+1)); !isAway(err) {
			t.Errorf("one more than the remaining %s: got %v, want a retryable error", left, err)
		}
		more := accountNeed(100, left)
		more.Most = left + 1
		if c, err := l.Reserve(t.Context(), more); err != nil || c.Amount() != left {
			t.Errorf("the rest or more, right after: got %s, %v, want %s", c.Amount(), err, left)
		}
		h.setDown(false)
	})
}

// TestRemovedBudgetCountsAgain checks that a budget that was removed and is set again counts, although a node had
// cached its absence.
func TestRemovedBudgetCountsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, h, stop := alone(t, 0)
		defer stop()
		held, err := l.Reserve(t.Context(), accountNeed(2000, 3000))
		if err != nil {
			t.Fatalf("a removed budget: %v", err)
		}
		held.Release()
		h.setLimit(2000)
		time.Sleep(time.Second) // as long as its absence is cached
		if _, err := l.Reserve(t.Context(), accountNeed(2000, 2001)); !isExceeded(err) {
			t.Errorf("2001 of 2000: got %v, want it exceeded", err)
		}
		if _, err := l.Reserve(t.Context(), accountNeed(2000, 2000)); err != nil {
			t.Errorf("2000 of it: %v", err)
		}
	})
}

// TestBudgetChangedWhileLeased checks that a grant under a limit does not count once a request knows another limit.
func TestBudgetChangedWhileLeased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, h, stop := alone(t, 100)
		defer stop()
		answer := make(chan struct{})
		h.mu.Lock()
		h.late = answer
		h.mu.Unlock()
		first := accountNeed(100, 90)
		var running sync.WaitGroup
		running.Go(func() {
			if r, err := l.Reserve(t.Context(), first); err == nil {
				r.Release()
			} else if !isExceeded(err) {
				t.Errorf("the first reservation: %v", err)
			}
		})
		synctest.Wait() // the database has granted it under the old limit
		h.setLimit(20)
		second := accountNeed(20, 10)
		second.Most = 90
		running.Go(func() {
			if c, err := l.Reserve(t.Context(), second); err != nil || c.Amount() > 20 {
				t.Errorf("a reservation of a budget that was lowered to 20: got %v, %v, want at most that", c.Amount(), err)
			}
		})
		synctest.Wait()
		close(answer)
		running.Wait()
	})
}

// TestSettledWhileLeased checks that spending that the database already counts is not counted again.
func TestSettledWhileLeased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _, stop := alone(t, 100)
		defer stop()
		now := time.Now()
		hold, err := l.Open(Attempt{ID: AttemptID{Request: uuid.UUID{1}, N: 1}, Account: fleetAccount, Key: fleetKey, Opened: now, Arrived: now})
		must.Do(t, err)
		s := Settlement{Outcome: OutcomeOK, Provenance: Exact, Cost: 40}
		at, err := l.append(nil, &s, hold.attempt.ID) // like Settle, interrupted here
		must.Do(t, err)
		must.Get(l.Reserve(t.Context(), accountNeed(100, 10)))(t)
		l.budgets.Spend(&hold.counted, s.Cost, at, nil)
		if _, err := l.Reserve(t.Context(), accountNeed(100, 50)); err != nil {
			t.Errorf("50 of 100, of which 40 are spent and 10 are held: %v", err)
		}
		if _, err := l.Reserve(t.Context(), accountNeed(100, 1)); !isExceeded(err) {
			t.Errorf("one more: got %v, want it exceeded", err)
		}
	})
}

// TestNextAfterSettled checks that a reservation is released if its attempt cannot follow a settled one.
func TestNextAfterSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _, stop := alone(t, 100)
		defer stop()
		now := time.Now()
		first := Attempt{ID: AttemptID{Request: uuid.UUID{1}, N: 1}, Account: fleetAccount, Key: fleetKey, Opened: now, Arrived: now}
		hold, err := l.Open(first)
		must.Do(t, err)
		must.Get(hold.Settle(Settlement{Outcome: OutcomeOK, Provenance: Exact}))(t)
		next := first
		next.ID.N = 2
		if next.Reservation, err = l.Reserve(t.Context(), accountNeed(100, 100)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := hold.Next(Settlement{}, next); !errors.Is(err, errSettled) {
			t.Errorf("next after a settlement: got %v, want %v", err, errSettled)
		}
		if _, err := l.Reserve(t.Context(), accountNeed(100, 100)); err != nil {
			t.Errorf("all of the budget after that: %v", err)
		}
	})
}

func isCode(err error, code llm.Code) bool {
	e, ok := errors.AsType[*llm.Error](err)
	return ok && e.Code == code
}

func isExceeded(err error) bool { return isCode(err, llm.CodeBudgetExceeded) }
func isAway(err error) bool     { return isCode(err, llm.CodeOverloaded) }

// TestBudgetCrowd checks that a reservation is not refused by a budget with room, for any number of concurrent ones.
func TestBudgetCrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const crowd = 300
		l, h, stop := alone(t, crowd)
		defer stop()
		must.Get(l.Reserve(t.Context(), accountNeed(crowd, 1)))(t)
		h.state.wanted[budget.ID{Scope: fleetAccount}][uuid.UUID{9}] = time.Now() // so that each lease is for one reservation
		h.state.position[uuid.UUID{9}], h.slow = 0, time.Millisecond
		errs := make(chan error, crowd)
		for range crowd - 1 {
			go func() {
				_, err := l.Reserve(t.Context(), accountNeed(crowd, 1))
				errs <- err
			}()
		}
		for i := range crowd - 1 {
			if err := <-errs; err != nil {
				t.Fatalf("reservation %d of %d: %v", i, crowd, err)
			}
		}
	})
}

// periodNeed returns a request's need of an account's budget of that period.
func periodNeed(period budget.Period, limit, amount llm.Money) Need {
	n := accountNeed(limit, amount)
	n.Budgets[0].Period = period
	return n
}

// opened returns an attempt in flight with that highest cost, and its reservation.
func opened(t *testing.T, l *Ledger, n byte, most llm.Money, r *budget.Reservation) *Hold {
	t.Helper()
	now := time.Now()
	return must.Get(l.Open(Attempt{
		ID: AttemptID{Request: uuid.UUID{n}, N: 1}, Account: fleetAccount, Key: fleetKey, Opened: now,
		Arrived:  now.Truncate(24 * time.Hour), // it may have waited since
		Provider: "p", Model: "m", Hold: most, Reservation: r, Price: llm.Price{Version: "v", Rates: llm.Rates{llm.Input: 1000}},
	}))(t)
}

// TestBudgetCountsAttemptsInFlight checks that a budget counts the attempts in flight at its creation, or at a change
// of its period, at their highest cost, and after settlement at their cost.
func TestBudgetCountsAttemptsInFlight(t *testing.T) {
	for name, before := range map[string]func(*testing.T, *Ledger) *budget.Reservation{
		"no budget before": func(*testing.T, *Ledger) *budget.Reservation { return nil },
		"another period before": func(t *testing.T, l *Ledger) *budget.Reservation {
			return must.Get(l.Reserve(t.Context(), periodNeed(budget.PeriodTotal, 100, 30)))(t)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, _, stop := alone(t, 100)
				defer stop()
				running := opened(t, l, 1, 30, before(t, l))
				rest := func(want llm.Money, when string) {
					t.Helper()
					if _, err := l.Reserve(t.Context(), periodNeed(budget.PeriodDay, 100, want+1)); !isExceeded(err) {
						t.Errorf("%s: %d of 100: got %v, want it exceeded", when, want+1, err)
					}
					time.Sleep(time.Second)
					r, err := l.Reserve(t.Context(), periodNeed(budget.PeriodDay, 100, want))
					if err != nil {
						t.Errorf("%s: %d of 100: %v", when, want, err)
					}
					r.Release()
				}
				rest(70, "while 30 are under way")
				late := opened(t, l, 2, 20, nil) // its request arrived before the change
				rest(50, "while 50 are under way")
				must.Get(running.Settle(Settlement{Outcome: OutcomeOK, Provenance: Exact, Usage: llm.Usage{llm.Input: 10}}))(t)
				rest(70, "after 10 were spent of 30")
				must.Get(late.Settle(Settlement{Outcome: OutcomeOK, Provenance: Exact, Usage: llm.Usage{llm.Input: 20}}))(t)
				rest(70, "after 20 were spent of 20")
			})
		})
	}
}

// TestBudgetCountsAttemptsOfOtherNodes checks that it counts the attempts in flight on other nodes, as soon as those
// know the change.
func TestBudgetCountsAttemptsOfOtherNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(1)
		f.hub.limits = map[string]llm.Money{fleetAccount: 100, fleetKey: 100}
		f.nodes = f.nodes[:2]
		defer f.stop()
		for _, n := range f.nodes {
			must.Do(t, n.boot(t.Context(), f.hub))
		}
		there, here := f.nodes[0].life.ledger, f.nodes[1].life.ledger
		running := opened(t, there, 1, 30, nil)
		there.budgets.Changed(map[string]bool{fleetAccount: true})
		time.Sleep(time.Second)
		if _, err := here.Reserve(t.Context(), periodNeed(budget.PeriodMonth, 100, 71)); !isExceeded(err) {
			t.Errorf("71 of 100, of which another node holds 30: got %v, want it exceeded", err)
		}
		must.Get(running.Settle(Settlement{Outcome: OutcomeOK, Provenance: Exact, Usage: llm.Usage{llm.Input: 10}}))(t)
		time.Sleep(time.Second)
		if _, err := here.Reserve(t.Context(), periodNeed(budget.PeriodMonth, 100, 90)); err != nil {
			t.Errorf("90 of 100, of which another node has spent 10: %v", err)
		}
	})
}

// TestBudgetChangesProperty checks that, for any changes of budgets, their period and their limit, an amount is
// available on any node if and only if it fits in addition to the spending and the attempts in flight.
func TestBudgetChangesProperty(t *testing.T) {
	worktest.NotRaced(t)
	for _, nodes := range []int{1, 3} {
		t.Run(fmt.Sprint(nodes, " nodes"), func(t *testing.T) {
			for seed := range uint64(40) {
				synctest.Test(t, func(t *testing.T) { changeBudgets(t, nodes, seed) })
			}
		})
	}
}

func changeBudgets(t *testing.T, nodes int, seed uint64) {
	f := newFleet(seed)
	f.nodes = f.nodes[:nodes]
	defer f.stop()
	for _, n := range f.nodes {
		must.Do(t, n.boot(t.Context(), f.hub))
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	periods := []budget.Period{budget.PeriodDay, budget.PeriodMonth, budget.PeriodTotal}
	var (
		period budget.Period
		limit  llm.Money
		holds  []*Hold
		used   llm.Money // spent, and held by attempts in flight
	)
	change := func() {
		period, limit = periods[rng.IntN(len(periods))], llm.Money(1+rng.IntN(1500))
		f.hub.setLimit(limit)
		for _, n := range f.nodes {
			n.life.ledger.budgets.Changed(map[string]bool{fleetAccount: true})
		}
	}
	change()
	for n := range byte(120) {
		l, most := f.nodes[rng.IntN(nodes)].life.ledger, llm.Money(1+rng.IntN(100))
		switch rng.IntN(4) {
		case 0:
			change()
		case 1: // authenticated before there was a budget
			holds, used = append(holds, opened(t, l, n, most, nil)), used+most
		case 2:
			r, err := l.Reserve(t.Context(), periodNeed(period, limit, most))
			if fits := used+most <= limit; fits != (err == nil) {
				t.Fatalf("seed %d, step %d: %d per %s, %d of %d used: got %v", seed, n, most, period, used, limit, err)
			}
			if err == nil {
				holds, used = append(holds, opened(t, l, n, most, r)), used+most
			}
		case 3:
			if len(holds) == 0 {
				continue
			}
			i := rng.IntN(len(holds))
			cost := rng.Int64N(int64(holds[i].attempt.Hold) + 1)
			must.Get(holds[i].Settle(Settlement{Outcome: OutcomeOK, Provenance: Exact, Usage: llm.Usage{llm.Input: cost}}))(t)
			used -= holds[i].attempt.Hold - llm.Money(cost)
			holds = slices.Delete(holds, i, i+1)
		}
		time.Sleep(time.Duration(1+rng.IntN(4)) * time.Second)
	}
}
