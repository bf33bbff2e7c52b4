package store_test

import (
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"weir/internal/audit"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/refusal"
	"weir/internal/report"
	"weir/internal/store"
)

// countHours returns the number of hours with packed sums that reports may read.
func countHours(t *testing.T, db *sql.DB) (n int) {
	t.Helper()
	must.Do(t, db.QueryRowContext(t.Context(), "SELECT count(*) FROM packed_hours h JOIN packed_speeds s ON s.period = h.period"+
		" WHERE h.by_both IS NOT NULL AND s.speeds IS NOT NULL AND h.packed = h.version AND s.packed = h.version").Scan(&n))
	return n
}

// atHour returns the n-th attempt, of an hour of the day of noonOfOpenings.
func atHour(n, hour int) ledger.Entry {
	e := settled(noonOfOpenings.Truncate(24*time.Hour).Add(time.Duration(hour)*time.Hour), n)
	e.FirstToken = 70 * time.Millisecond
	binary.BigEndian.PutUint64(e.ID.Request[:], uint64(e.Arrived.UnixMilli())<<16|0x7000)
	return e
}

// hoursOf reads the usage of all accounts by hour as text, and the times to first token.
func hoursOf(t *testing.T, s *store.DB) (text string) {
	t.Helper()
	q := report.UsesQuery{All: true, By: []report.Dimension{report.ByHour}, Limit: 99}
	page := must.Get(s.Reports.Uses(t.Context(), q))(t)
	q.Speeds = true
	speeds := must.Get(s.Reports.Uses(t.Context(), q))(t)
	must.Equal(t, len(speeds.Uses), len(page.Uses), "hours with times to first token")
	for i := range page.Uses {
		text += fmt.Sprintf("%s %d %s, ", (*page.Uses[i].Group[0])[11:13], speeds.Uses[i].Speed.Answers(), page.Uses[i].Cost)
	}
	return text
}

// TestPackedHoursFollowLateAdditions checks that hours are packed when they are over, that reports read them, and that
// an attempt or a correction that comes later is in the next report.
func TestPackedHoursFollowLateAdditions(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, o store.Options) {
		now := noonOfOpenings.Add(20 * time.Minute)
		o.Clock = func() time.Time { return now }
		s, j, db := open(t, o), uuid.New(), behind(t, o)
		defer db.Close()
		must.Do(t, s.Ledger.Apply(t.Context(), batchOf(j, 0, atHour(1, 9), atHour(2, 10), atHour(3, 11), atHour(4, 12))))
		pack := func(check bool, want int) {
			t.Helper()
			must.Do(t, s.Attribution.PackHours(t.Context(), check))
			must.Equal(t, countHours(t, db), want, "packed hours")
			noDifference(t, s)
		}
		pack(false, 2) // the one before noon ended 20 minutes ago
		const before = "12 1 0.000000003, 11 1 0.000000003, 10 1 0.000000003, 09 1 0.000000003, "
		must.Equal(t, hoursOf(t, s), before, "hours")
		now = now.Add(10 * time.Minute)
		pack(false, 3)
		must.Get(db.ExecContext(t.Context(), "UPDATE rollup_hour SET cost = cost + 5"))(t)
		must.Equal(t, hoursOf(t, s), "12 1 0.000000008, 11 1 0.000000003, 10 1 0.000000003, 09 1 0.000000003, ", "packed hours are read")
		must.Get(db.ExecContext(t.Context(), "UPDATE rollup_hour SET cost = cost - 5"))(t)
		must.Do(t, s.Ledger.Apply(t.Context(), batchOf(j, 1, atHour(5, 10))))
		must.Equal(t, countHours(t, db), 2, "packed hours after a late attempt")
		must.Equal(t, hoursOf(t, s), "12 1 0.000000003, 11 1 0.000000003, 10 2 0.000000006, 09 1 0.000000003, ", "with a late attempt")
		must.Do(t, s.Corrections.Correct(t.Context(), audit.Gateway(), ledger.Correct{ID: atHour(1, 9).ID, Amount: 4, Reason: "x"}))
		const after = "12 1 0.000000003, 11 1 0.000000003, 10 2 0.000000006, 09 1 0.000000007, "
		must.Equal(t, hoursOf(t, s), after, "with a correction")
		pack(false, 3)
		must.Equal(t, hoursOf(t, s), after, "packed again")
		must.Get(db.ExecContext(t.Context(), "UPDATE packed_hours SET by_model = $1, by_key = $1", []byte{9, 9}))(t)
		must.Get(db.ExecContext(t.Context(), "UPDATE packed_speeds SET speeds = $1", []byte{9, 9}))(t)
		must.Equal(t, hoursOf(t, s), after, "with damaged sums")
		must.Do(t, s.Attribution.PackHours(t.Context(), true))
		must.Equal(t, countHours(t, db), 3, "repaired hours")
		now = now.AddDate(0, 0, 10)
		pack(false, 0)
		must.Equal(t, hoursOf(t, s), after, "of ten days ago, without packed hours")
	})
}

// TestPackedHoursOfAnEarlierVersion checks that a check finds additions that did not outdate the hour.
func TestPackedHoursOfAnEarlierVersion(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, o store.Options) {
		now := noonOfOpenings
		o.Clock = func() time.Time { return now }
		s, db := open(t, o), behind(t, o)
		defer db.Close()
		must.Do(t, s.Ledger.Apply(t.Context(), batchOf(uuid.New(), 0, atHour(1, 2), atHour(2, 9))))
		must.Do(t, s.Attribution.PackHours(t.Context(), false))
		must.Get(db.ExecContext(t.Context(), "UPDATE rollup_hour SET cost = cost + 5"))(t)
		must.Equal(t, hoursOf(t, s), "09 1 0.000000003, 02 1 0.000000003, ", "before a check")
		for range 24 {
			must.Do(t, s.Attribution.PackHours(t.Context(), true))
		}
		must.Equal(t, hoursOf(t, s), "09 1 0.000000008, 02 1 0.000000008, ", "after the checks of a day")
	})
}

// TestPackingHoursDuringSettlements packs hours while two nodes settle attempts of them.
func TestPackingHoursDuringSettlements(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, o store.Options) {
		o.Clock = func() time.Time { return noonOfOpenings }
		s := open(t, o)
		var packing, settling sync.WaitGroup
		var done atomic.Bool
		packing.Go(func() {
			for !done.Load() {
				if err := s.Attribution.PackHours(context.WithoutCancel(t.Context()), false); err != nil {
					t.Error(err)
				}
			}
		})
		const rounds = 30
		for node := range 2 {
			j := uuid.New()
			settling.Go(func() {
				for round := range rounds {
					e := atHour(1000*node+round+1, round%5)
					if err := s.Ledger.Apply(t.Context(), batchOf(j, ledger.Position(round), e)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		settling.Wait()
		done.Store(true)
		packing.Wait()
		const each = "12 0.000000036, "
		for range 2 {
			must.Equal(t, hoursOf(t, s), "04 "+each+"03 "+each+"02 "+each+"01 "+each+"00 "+each, "hours")
			noDifference(t, s)
			must.Do(t, s.Attribution.PackHours(t.Context(), false))
		}
	})
}

// TestRefusalSumsRepaired checks that sums that lack what a node of an earlier version has counted are added up again.
func TestRefusalSumsRepaired(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, o store.Options) {
		o.Clock = func() time.Time { return noonOfOpenings }
		s, db := open(t, o), behind(t, o)
		defer db.Close()
		must.Get(db.ExecContext(t.Context(), "INSERT INTO refusals (account, minute, key, reason, model, n) VALUES ('a', $1, 'k', $2, 'm', 7)",
			noonOfOpenings.Add(-26*time.Hour).Unix(), string(llm.CodeRateLimited)))(t)
		total := func() (sums []int64) {
			for _, q := range refusalQueries(noonOfOpenings) {
				sums = append(sums, must.Get(s.Refusals.Count(t.Context(), q))(t))
			}
			return sums
		}
		must.Equal(t, total(), []int64{0, 0, 0, 0}, "refusals of all accounts before the repair")
		must.Do(t, s.Refusals.RetainRefusals(t.Context(), noonOfOpenings.AddDate(0, 0, -30)))
		must.Equal(t, total(), []int64{7, 7, 7, 7}, "refusals of all accounts")
	})
}

// refusalQueries selects the refusals of all accounts since the day before, by sums of reasons, keys, models and hours.
func refusalQueries(now time.Time) []refusal.Query {
	from := now.Truncate(24*time.Hour).AddDate(0, 0, -1)
	return []refusal.Query{
		{All: true, From: from},
		{All: true, From: from, Key: "k"},
		{All: true, From: from, Model: "m"},
		{All: true, From: from.Add(5 * time.Hour), Reason: llm.CodeRateLimited},
	}
}
