package store_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/budget"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/store"
)

// TestUselessLeasesAreRemoved checks that the rows of leases are at most the amounts that a node may still spend,
// because the client chooses end users and thus creates leases.
func TestUselessLeasesAreRemoved(t *testing.T) {
	t.Parallel()
	everywhere(t, testUselessLeasesAreRemoved)
}

func testUselessLeasesAreRemoved(t *testing.T, o store.Options) {
	now := noonOfOpenings
	o.Clock = func() time.Time { return now }
	s := open(t, o)
	must.Do(t, s.Accounts.CreateAccount(t.Context(), audit.Gateway(), account.Account{ID: "acc_a", Name: "a", Created: now}))
	perUser := []account.Per{{Budget: account.Budget{Limit: 100, Period: budget.PeriodMonth}}}
	must.Get(s.Accounts.UpdateAccount(t.Context(), audit.Gateway(), "acc_a", account.Update{Per: &perUser}))(t)
	now = now.Add(2 * time.Second) // until all nodes have reported their attempts in flight
	a, b := uuid.New(), uuid.New()
	for _, n := range []uuid.UUID{a, b} {
		must.Get(s.Leases.Beat(t.Context(), budget.Node{Journal: n, Started: now}))(t)
	}
	month := budget.PeriodMonth.Number(now)
	user := func(n int) budget.ID {
		return budget.ID{Scope: budget.UserScope("acc_a", fmt.Sprint(n)), Period: month}
	}
	ask := func(journal uuid.UUID, n int, used, least llm.Money) budget.Lease {
		return must.Get(s.Leases.Lease(t.Context(), budget.LeaseRequest{
			Journal: journal, Budget: user(n), Used: used, Least: least, Most: least,
		}))(t)
	}
	rows := func(when string, want int) {
		t.Helper()
		db := behind(t, o)
		defer db.Close()
		var n int
		must.Do(t, db.QueryRowContext(t.Context(), "SELECT count(*) FROM slices").Scan(&n))
		if n != want {
			t.Errorf("%s: %d rows of leases, want %d", when, n, want)
		}
	}
	for n := range 5 {
		if l := ask(a, n, 0, 101); l.Granted != 0 {
			t.Fatalf("more than the limit: got %+v, want nothing", l)
		}
	}
	rows("after requests larger than the limit", 0)

	ask(a, 1, 0, 60)
	ask(a, 1, 0, 0)
	rows("after all was given back", 0)

	ask(a, 2, 0, 60)
	e := settled(now, 1)
	e.Account, e.Key, e.Cost, e.Attribution.User = "acc_a", "key_a", 40, "2"
	e.Parts = budget.Parts(0).User(budget.AccountPart)
	must.Do(t, s.Ledger.Apply(t.Context(), &ledger.Batch{Journal: a, From: 0, To: 1, Settled: []ledger.Entry{e}, Prices: batchOf(a, 0).Prices}))
	rows("with 60 leased and 40 spent", 1)
	ask(b, 2, 0, 50)
	rows("with a node that waits for the rest", 2)
	if l := ask(a, 2, 40, 0); l.Granted != 40 {
		t.Errorf("returned: got %+v, want 40", l)
	}
	now = now.Add(time.Minute)
	must.Do(t, s.Leases.RetainBudgets(t.Context()))
	rows("after what was not spent was given back", 0)
	if l := ask(b, 2, 0, 60); l.Granted != 60 {
		t.Errorf("the other node: got %+v, want the 60 that are left", l)
	}
}

// TestManySlices checks that many leases of an earlier life are returned in portions: a request that waits no longer
// than for one of them advances each time, and meanwhile others get leases.
func TestManySlices(t *testing.T) {
	t.Parallel()
	everywhere(t, testManySlices)
}

func testManySlices(t *testing.T, o store.Options) {
	s := open(t, o)
	a := uuid.New()
	must.Get(s.Leases.Beat(t.Context(), budget.Node{Journal: a, Started: time.Now()}))(t)
	for _, x := range []struct {
		what   string
		period int64
		forget func() error
	}{
		{"a start", 0, func() error { return s.Leases.Reconcile(t.Context(), a) }},
		{"a stop", 0, func() error { return s.Leases.Leave(t.Context(), a) }},
		{"a node that is forgotten", 0, func() error { return s.Leases.ForgetNode(t.Context(), audit.Gateway(), a) }},
		{"a node that was forgotten by halves", 0, func() error { return s.Leases.ForgetNode(t.Context(), audit.Gateway(), a) }},
		{"the end of the period", 202001, func() error { return s.Leases.RetainBudgets(t.Context()) }},
	} {
		db := behind(t, o)
		var journal, left int
		must.Do(t, db.QueryRowContext(t.Context(), "SELECT max(number) FROM journals").Scan(&journal))
		must.Get(db.ExecContext(t.Context(), fmt.Sprintf("WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 7000) "+
			"INSERT INTO slices (scope, period, journal, granted, wanted) SELECT 'acc_a/user=' || i, %d, %d, (i %% 3) * 5, 0 FROM c", x.period, journal)))(t)
		var beside sync.WaitGroup
		beside.Go(func() { // another node, whose sweep removes the spent ones
			if err := s.Leases.RetainBudgets(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
		must.Do(t, x.forget())
		beside.Wait()
		must.Do(t, db.QueryRowContext(t.Context(), "SELECT count(*) FROM slices").Scan(&left))
		if left != 0 {
			t.Errorf("after %s: %d leases are left, want none", x.what, left)
		}
		must.Do(t, db.Close())
	}
}
