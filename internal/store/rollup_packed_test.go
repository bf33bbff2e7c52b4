package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"weir/internal/audit"
	"weir/internal/ledger"
	"weir/internal/must"
	"weir/internal/report"
	"weir/internal/store"
)

// countPacked returns the number of periods with packed sums.
func countPacked(t *testing.T, db *sql.DB) (n int) {
	t.Helper()
	must.Do(t, db.QueryRowContext(t.Context(), "SELECT count(*) FROM rollup_packed p WHERE by_both IS NOT NULL AND packed ="+
		" (SELECT sum(version) FROM rollup_packed d WHERE d.period = p.period OR d.period / 100 = p.period)").Scan(&n))
	return n
}

// monthOver returns a database with two days that are added up, the first one of a finished month, the journal applied
// to it, and a connection to it.
func monthOver(t *testing.T, o store.Options) (s *store.DB, journal uuid.UUID, db *sql.DB) {
	t.Helper()
	now := noonOfOpenings.AddDate(0, 1, 0)
	o.Clock = func() time.Time { return now }
	s, journal, db = open(t, o), uuid.New(), behind(t, o)
	t.Cleanup(func() { _ = db.Close() })
	must.Do(t, s.Ledger.Apply(t.Context(), batchOf(journal, 0, settled(noonOfOpenings, 1), settled(now.AddDate(0, 0, -1), 2))))
	must.Do(t, s.Attribution.Attribute(t.Context(), noonOfOpenings, nil))
	return s, journal, db
}

// noDifference checks that everything adds up.
func noDifference(t *testing.T, s *store.DB) {
	t.Helper()
	if v := must.Get(s.Ledger.Verify(t.Context(), nil))(t); len(v.Differences) > 0 {
		t.Errorf("verify: %+v", v.Differences)
	}
}

// TestPackingDuringSettlements packs sums while two nodes settle and correct their attempts.
func TestPackingDuringSettlements(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, o store.Options) {
		now := noonOfOpenings.AddDate(0, 1, 0)
		o.Clock = func() time.Time { return now }
		s, j := open(t, o), uuid.New()
		entryOf := func(n int) ledger.Entry {
			e := settled(noonOfOpenings.AddDate(0, 0, -n%3), n)
			e.Account = fmt.Sprint("a", n%7)
			return e
		}
		const first, rounds = 50, 30
		var list []ledger.Entry
		for n := range first {
			list = append(list, entryOf(n+1))
		}
		last := entryOf(999)
		last.Arrived = now.AddDate(0, 0, -1) // from then on the month before is over for every node
		must.Do(t, s.Ledger.Apply(t.Context(), batchOf(j, 0, append(list, last)...)))
		must.Do(t, s.Attribution.Attribute(t.Context(), noonOfOpenings.AddDate(0, 0, -9), nil))
		var nodes sync.WaitGroup
		var done atomic.Bool
		defer nodes.Wait()
		defer done.Store(true)
		for range 2 {
			nodes.Go(func() {
				for !done.Load() {
					if err := s.Attribution.PackRollups(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		for round := range rounds {
			e := entryOf(first + 1 + round)
			must.Do(t, s.Ledger.Apply(t.Context(), batchOf(j, ledger.Position(1+round), e)))
			if round%4 == 0 {
				must.Do(t, s.Corrections.Correct(t.Context(), audit.Gateway(), ledger.Correct{ID: e.ID, Amount: -1, Reason: "x"}))
			}
			noDifference(t, s)
		}
		done.Store(true)
		nodes.Wait()
		must.Do(t, s.Attribution.PackRollups(t.Context()))
		db := behind(t, o)
		defer db.Close()
		must.Equal(t, countPacked(t, db), 5, "four days and a month")
		noDifference(t, s)
		page := must.Get(s.Reports.Uses(t.Context(), report.UsesQuery{All: true, By: []report.Dimension{report.ByAccount}, Limit: 9}))(t)
		must.Equal(t, page.Total.Requests, int64(first+1+rounds), "requests")
		must.Equal(t, page.Count, 7, "accounts")
	})
}

// TestPackedRepaired checks that sums are packed again if another node has added to them, or if they cannot be read.
func TestPackedRepaired(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, o store.Options) {
		s, _, db := monthOver(t, o)
		pack := func() { must.Do(t, s.Attribution.PackRollups(t.Context())) }
		pack()
		noDifference(t, s)
		must.Equal(t, countPacked(t, db), 3, "two days and a month")
		for _, test := range []struct {
			name, statement string
			args            []any
			found           []string
		}{
			{
				"another node adds something", "UPDATE rollup_day SET tokens = tokens + 1", nil,
				[]string{"day tokens", "packed by key tokens", "packed by model tokens", "packed by key and model tokens"},
			},
			{
				"another node adds something to a day that is not packed, of a month that is",
				"UPDATE rollup_packed SET packed = -1, by_both = NULL WHERE period > 999999; UPDATE rollup_day SET tokens = tokens + 1", nil,
				[]string{"day tokens", "packed by key tokens"},
			},
			{
				"damaged", "UPDATE rollup_packed SET by_both = $1, by_key = $1, by_model = $1",
				[]any{[]byte{9, 9}},
				[]string{"packed by key packed sums cannot be read"},
			},
		} {
			before := must.Get(s.Reports.Uses(t.Context(), report.UsesQuery{All: true, By: []report.Dimension{report.ByDay, report.ByKey}, Limit: 9}))(t)
			must.Get(db.ExecContext(t.Context(), test.statement, test.args...))(t)
			var got []string
			for _, d := range must.Get(s.Ledger.Verify(t.Context(), nil))(t).Differences {
				got = append(got, d.Rollup+" "+d.What)
			}
			for _, want := range test.found {
				if !slices.ContainsFunc(got, func(found string) bool { return len(found) >= len(want) && found[:len(want)] == want }) {
					t.Errorf("%s: verify found %q, want %q", test.name, got, want)
				}
			}
			if test.name == "damaged" {
				after := must.Get(s.Reports.Uses(t.Context(), report.UsesQuery{All: true, By: []report.Dimension{report.ByDay, report.ByKey}, Limit: 9}))(t)
				must.Equal(t, after.Total, before.Total, "read from the rollup")
			}
			pack()
			for _, d := range must.Get(s.Ledger.Verify(t.Context(), nil))(t).Differences {
				if d.Rollup != "day" && d.Rollup != "uses" && d.Rollup != "hour" {
					t.Errorf("%s: packed again, verify found %+v", test.name, d)
				}
			}
		}
	})
}

// TestPackedMonth checks that additions to a day do not wait for a node that packs its month.
func TestPackedMonth(t *testing.T) {
	t.Parallel()
	on(t, map[string]func(testing.TB) store.Options{"PostgreSQL": engines()["PostgreSQL"]}, func(t *testing.T, o store.Options) {
		s, j, db := monthOver(t, o)
		must.Do(t, s.Attribution.PackRollups(t.Context()))
		must.Equal(t, countPacked(t, db), 3, "two days and a month")
		tx := must.Get(db.BeginTx(t.Context(), nil))(t)
		defer func() { _ = tx.Rollback() }()
		must.Get(tx.ExecContext(t.Context(), "SELECT 1 FROM rollup_packed WHERE period < 1000000 FOR UPDATE"))(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		must.Do(t, s.Ledger.Apply(ctx, batchOf(j, 1, settled(noonOfOpenings, 3))))
		must.Do(t, s.Corrections.Correct(ctx, audit.Gateway(), ledger.Correct{ID: settled(noonOfOpenings, 1).ID, Amount: -1, Reason: "x"}))
		must.Equal(t, countPacked(t, db), 1, "neither the day nor its month")
		noDifference(t, s)
	})
}

// TestPackedLarge checks that a day with too much for one row is not packed, and is tried again when there is more.
func TestPackedLarge(t *testing.T) {
	t.Parallel()
	const most = 1000
	everywhere(t, func(t *testing.T, o store.Options) {
		o.MostPacked = most
		s, j, db := monthOver(t, o)
		must.Get(db.ExecContext(t.Context(), fmt.Sprintf("WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < %d)", most)+
			" INSERT INTO rollup_day (period, account, model, key, provider, requests) SELECT period, account, model, 'k' || n, provider, 1 FROM rollup_day, n"+
			" WHERE period = (SELECT min(period) FROM rollup_day)"))(t)
		requests := func() int64 {
			page := must.Get(s.Reports.Uses(t.Context(), report.UsesQuery{All: true, By: []report.Dimension{report.ByKey}, Limit: 9}))(t)
			return page.Total.Requests
		}
		tried := func() (n int) {
			must.Do(t, db.QueryRowContext(t.Context(), "SELECT count(*) FROM rollup_packed WHERE by_both IS NULL AND packed = version").Scan(&n))
			return n
		}
		must.Do(t, s.Attribution.PackRollups(t.Context()))
		must.Equal(t, countPacked(t, db), 1, "the day with little")
		must.Equal(t, tried(), 1, "days that are too large")
		must.Equal(t, requests(), int64(most+2), "requests")
		must.Do(t, s.Ledger.Apply(t.Context(), batchOf(j, 1, settled(noonOfOpenings, 3))))
		must.Equal(t, tried(), 0, "days that were too large and may not be any more")
		must.Equal(t, requests(), int64(most+3), "requests")
		must.Do(t, s.Attribution.PackRollups(t.Context()))
		must.Equal(t, tried(), 1, "days that are too large")
	})
}

// TestPackedAdditionsAreFoundInADay checks that 24 runs find an addition of another node to a day long ago, at whatever
// hour each runs.
func TestPackedAdditionsAreFoundInADay(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, o store.Options) {
		s, j, db := monthOver(t, o)
		var later []ledger.Entry
		for n := range 3 {
			later = append(later, settled(noonOfOpenings.AddDate(0, 0, 1+n), 10+n))
		}
		must.Do(t, s.Ledger.Apply(t.Context(), batchOf(j, 1, later...)))
		must.Do(t, s.Attribution.PackRollups(t.Context()))
		must.Get(db.ExecContext(t.Context(), "UPDATE rollup_day SET tokens = tokens + 1 WHERE period = (SELECT min(period) FROM rollup_day)"))(t)
		packed := func() (n int) { // of the differences, those of packed sums
			for _, d := range must.Get(s.Ledger.Verify(t.Context(), nil))(t).Differences {
				if d.Rollup == "packed by key" {
					n++
				}
			}
			return n
		}
		must.Equal(t, packed() > 0, true, "differences before")
		for range 24 {
			must.Do(t, s.Attribution.PackRollups(t.Context()))
		}
		must.Equal(t, packed(), 0, "differences after 24 times")
	})
}
