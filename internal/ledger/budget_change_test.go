package ledger

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"weir/internal/budget"
	"weir/internal/llm"
	"weir/internal/must"
)

// startNodes starts n nodes over a hub with that limit of the account's budget.
func startNodes(t *testing.T, nodes int, limit llm.Money) *fleet {
	t.Helper()
	f := newFleet(1)
	f.hub.limits = map[string]llm.Money{fleetAccount: limit, fleetKey: 0}
	f.nodes = f.nodes[:nodes]
	for _, n := range f.nodes {
		must.Do(t, n.boot(t.Context(), f.hub))
	}
	return f
}

func (f *fleet) changeLimit(limit llm.Money) {
	f.hub.setLimit(limit)
	for _, n := range f.nodes {
		n.life.ledger.budgets.Changed(map[string]bool{fleetAccount: true})
	}
}

func settleAt(t *testing.T, h *Hold, cost int64) {
	t.Helper()
	must.Get(h.Settle(Settlement{Outcome: OutcomeOK, Provenance: Exact, Usage: llm.Usage{llm.Input: cost}}))(t)
}

// TestBudgetFreedWhereOthersExceed checks that a node with nothing to return learns that another one exceeds the limit
// before it spends its freed amount again.
func TestBudgetFreedWhereOthersExceed(t *testing.T) {
	// Two beats: the other node reports it with one, and this one reads it with the next. A little more, because events
	// at the time of a beat may precede or follow it.
	for _, wait := range []time.Duration{510 * time.Millisecond, 3 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			f := startNodes(t, 2, 100)
			defer f.stop()
			a, b := f.nodes[0].life.ledger, f.nodes[1].life.ledger
			f.changeLimit(100)
			time.Sleep(time.Second)
			now := time.Now()
			h := must.Get(a.Open(Attempt{
				ID: AttemptID{Request: uuid.UUID{1}, N: 1}, Account: fleetAccount, Key: fleetKey, Opened: now, Arrived: now,
				Provider: "p", Model: "m", Hold: 100, Price: llm.Price{Version: "v", Rates: llm.Rates{llm.Input: 1000}},
				Reservation: must.Get(a.Reserve(t.Context(), accountNeed(100, 100)))(t),
			}))(t)
			time.Sleep(500 * time.Millisecond)
			opened(t, b, 2, 50, nil) // of a request that arrived before the change
			time.Sleep(wait)
			settleAt(t, h, 10)
			if _, err := a.Reserve(t.Context(), accountNeed(100, 90)); !isExceeded(err) {
				t.Errorf("90 next to 10 spent and 50 in flight elsewhere, after %s: got %v, want a refusal", wait, err)
			}
			if _, err := a.Reserve(t.Context(), accountNeed(100, 40)); err != nil {
				t.Errorf("the 40 that are left, after %s: %v", wait, err)
			}
		})
	}
}

// TestBudgetIsReportedAfterFailure checks that the attempts in flight are reported to other nodes although another
// request's lease of the budget failed then.
func TestBudgetIsReportedAfterFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const slow = 600 * time.Millisecond
		f := startNodes(t, 2, 100)
		defer f.stop()
		a, b := f.nodes[0].life.ledger, f.nodes[1].life.ledger
		time.Sleep(time.Second)
		f.hub.setSlow(slow)
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := a.Reserve(t.Context(), accountNeed(100, 10)); err == nil {
				t.Error("a lease while the database is away: got none, want an error")
			}
		})
		time.Sleep(10 * time.Millisecond)
		opened(t, a, 1, 50, nil)
		a.budgets.Changed(map[string]bool{fleetAccount: true})
		time.Sleep(slow - 15*time.Millisecond)
		f.hub.setDown(true)
		time.Sleep(10 * time.Millisecond)
		f.hub.setDown(false)
		wg.Wait()
		f.hub.setSlow(0)
		time.Sleep(5 * time.Second)
		if _, err := b.Reserve(t.Context(), accountNeed(100, 100)); !isExceeded(err) {
			t.Errorf("100 next to 50 in flight elsewhere: got %v, want a refusal", err)
		}
	})
}

// TestBudgetLoweredBelowSpending checks that the amount freed by a failed attempt is not available to the next one if
// more than the limit is spent.
func TestBudgetLoweredBelowSpending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startNodes(t, 2, 100)
		defer f.stop()
		l := f.nodes[0].life.ledger
		time.Sleep(time.Second)
		first := opened(t, l, 1, 60, must.Get(l.Reserve(t.Context(), accountNeed(100, 60)))(t))
		failed := opened(t, l, 2, 40, must.Get(l.Reserve(t.Context(), accountNeed(100, 40)))(t))
		f.changeLimit(10)
		time.Sleep(2 * time.Second)
		settleAt(t, first, 60)
		next := accountNeed(100, 40)
		next.Follows, next.Settles = failed, &Settlement{Outcome: OutcomeOK, Provenance: Exact}
		if _, err := l.Reserve(t.Context(), next); !isExceeded(err) {
			t.Errorf("40 more where 60 of 10 are spent: got %v, want it refused", err)
		}
	})
}

// TestBudgetRoomIsFoundAtOnce checks that a node is not refused an amount that fits into its own unused grant.
func TestBudgetRoomIsFoundAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, h, stop := alone(t, 100)
		defer stop()
		must.Get(l.Reserve(t.Context(), accountNeed(100, 80)))(t).Release()
		must.Get(l.Reserve(t.Context(), accountNeed(100, 10)))(t)
		h.setLimit(50)
		need := accountNeed(100, 15)
		need.Most = 95
		if r, err := l.Reserve(t.Context(), need); err != nil || r.Amount() != 40 {
			t.Errorf("15 to 95 of 50, 10 held: got %v, %v; want 40", r.Amount(), err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		f := startNodes(t, 2, 200)
		defer f.stop()
		a, b := f.nodes[0].life.ledger, f.nodes[1].life.ledger
		time.Sleep(3 * time.Second)
		must.Get(a.Reserve(t.Context(), accountNeed(200, 80)))(t).Release()
		must.Get(a.Reserve(t.Context(), accountNeed(200, 10)))(t)
		charged := opened(t, b, 9, 90, must.Get(b.Reserve(t.Context(), accountNeed(200, 90)))(t))
		settleAt(t, charged, 130) // more than the hold
		time.Sleep(time.Second)
		need := accountNeed(200, 15)
		need.Most = 190
		if _, err := a.Reserve(t.Context(), need); err != nil {
			t.Errorf("15 where 60 are left: %v", err)
		}
	})
}

// TestBudgetCrowdAfterChange checks that many requests that notice a change report it, and that their wait for other
// nodes still ends.
func TestBudgetCrowdAfterChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startNodes(t, 2, 100)
		defer f.stop()
		a, b := f.nodes[0].life.ledger, f.nodes[1].life.ledger
		time.Sleep(time.Second)
		must.Get(b.Reserve(t.Context(), accountNeed(100, 50)))(t)
		must.Get(a.Reserve(t.Context(), accountNeed(100, 10)))(t)
		f.changeLimit(100)
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if _, err := a.Reserve(t.Context(), accountNeed(100, 60)); !isExceeded(err) {
					t.Errorf("60 next to 10 here and 50 elsewhere: got %v, want a refusal", err)
				}
			})
		}
		wg.Wait()
	})
}

// TestBudgetGivenAnotherPeriod checks that a request that knows a budget only with its former period counts against the
// new one, also after a wait, on any node.
func TestBudgetGivenAnotherPeriod(t *testing.T) {
	for _, told := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := startNodes(t, 2, 100)
			defer f.stop()
			f.hub.setPeriod(budget.PeriodMonth)
			a, b := f.nodes[0].life.ledger, f.nodes[1].life.ledger
			time.Sleep(time.Second)
			h := opened(t, a, 1, 90, must.Get(a.Reserve(t.Context(), periodNeed(budget.PeriodMonth, 100, 90)))(t))
			settleAt(t, h, 90)
			time.Sleep(2 * time.Second)
			var wg sync.WaitGroup
			var admitted atomic.Int64
			ask := func(l *Ledger) {
				wg.Go(func() {
					if _, err := l.Reserve(t.Context(), periodNeed(budget.PeriodMonth, 100, 20)); err == nil {
						admitted.Add(1)
					} else if !isExceeded(err) {
						t.Error(err)
					}
				})
			}
			for range 10 {
				ask(a)
				ask(b)
			}
			time.Sleep(300 * time.Millisecond) // longer than a refusal is believed
			f.hub.setPeriod(budget.PeriodDay)
			if told {
				f.changeLimit(100)
			}
			for range 10 {
				ask(a)
				ask(b)
			}
			wg.Wait()
			if n := admitted.Load(); n != 0 {
				t.Errorf("the nodes know the change: %t: %d requests of 20 are admitted next to 90 of 100, want none", told, n)
			}
			if _, err := b.Reserve(t.Context(), periodNeed(budget.PeriodMonth, 100, 10)); err != nil {
				t.Errorf("the 10 that are left: %v", err)
			}
		})
	}
}

// singleNode connects to a database that no other node can use.
type singleNode struct{ *hubConn }

func (c singleNode) Beat(ctx context.Context, n budget.Node) (budget.Beat, error) {
	b, err := c.hubConn.Beat(ctx, n)
	b.For = 0
	return b, err
}

// TestBudgetLoweredOnSingleNode checks that a lowered limit counts for earlier requests if no other node needs to know
// it.
func TestBudgetLoweredOnSingleNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(1)
		f.hub.limits = map[string]llm.Money{fleetAccount: 100, fleetKey: 0}
		conn := &hubConn{hub: f.hub}
		l := must.Get(openOn(t.Context(), &lifeDisk{node: f.nodes[0], conn: conn}, f.nodes[0].id, Options{
			Store: conn, Leases: singleNode{conn}, SegmentSize: 64 << 10, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		}))(t)
		must.Do(t, l.budgets.Join(t.Context()))
		l.start()
		defer func() { l.cancel(); l.running.Wait() }()
		must.Get(l.Reserve(t.Context(), accountNeed(100, 100)))(t).Release()
		f.hub.setLimit(5)
		l.budgets.Changed(map[string]bool{fleetAccount: true})
		if _, err := l.Reserve(t.Context(), accountNeed(100, 6)); !isExceeded(err) {
			t.Errorf("6 of 5, of a request from when it was 100: got %v, want a refusal", err)
		}
	})
}
