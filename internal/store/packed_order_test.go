package store_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/google/uuid"

	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/store"
)

// TestVerifyFindsWrongPackedSpeeds gives an hour and a day the packed times to first token of another hour.
func TestVerifyFindsWrongPackedSpeeds(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, o store.Options) {
		o.Clock = func() time.Time { return noonOfOpenings.AddDate(0, 0, 1) }
		s, db := open(t, o), behind(t, o)
		defer db.Close()
		slow, last := atHour(2, 10), settled(noonOfOpenings.AddDate(0, 0, 1).Add(-3*time.Hour), 3)
		slow.FirstToken = 5 * time.Second
		must.Do(t, s.Ledger.Apply(t.Context(), batchOf(uuid.New(), 0, atHour(1, 9), slow, last)))
		must.Do(t, s.Attribution.Attribute(t.Context(), noonOfOpenings.AddDate(0, 0, -9), nil))
		must.Do(t, s.Attribution.PackRollups(t.Context()))
		must.Do(t, s.Attribution.PackHours(t.Context(), false))
		noDifference(t, s)
		must.Get(db.ExecContext(t.Context(), "UPDATE packed_speeds SET speeds ="+
			" (SELECT speeds FROM packed_speeds WHERE period = 2026112110) WHERE period IN (20261121, 2026112109)"))(t)
		found := map[string]bool{}
		for _, d := range must.Get(s.Ledger.Verify(t.Context(), nil))(t).Differences {
			found[d.Rollup+" "+d.Period] = true
		}
		must.Equal(t, found, map[string]bool{
			"packed speeds 2026-11-21": true, "packed speeds 2026-11-21T09:00:00Z": true,
		}, "differences")
	})
}

// onPostgres runs a test with a database of PostgreSQL, where several transactions write at once.
func onPostgres(t *testing.T, now time.Time, test func(t *testing.T, s *store.DB, db *sql.DB)) {
	t.Helper()
	o := engines()["PostgreSQL"](t)
	o.Clock = func() time.Time { return now }
	db := behind(t, o)
	defer db.Close()
	test(t, open(t, o), db)
}

// TestLateBatchLocksDaysBeforeHours checks that a batch waits for a packed day while it has locked none of its packed
// hours, as corrections do: in opposite orders they would wait for one another.
func TestLateBatchLocksDaysBeforeHours(t *testing.T) {
	t.Parallel()
	onPostgres(t, noonOfOpenings.AddDate(0, 0, 1), func(t *testing.T, s *store.DB, db *sql.DB) {
		j := uuid.New()
		must.Do(t, s.Ledger.Apply(t.Context(), batchOf(j, 0, atHour(1, 9))))
		for _, statement := range []string{
			"INSERT INTO rollup_packed (period, version, packed) VALUES (20261121, 0, -1) ON CONFLICT DO NOTHING",
			"INSERT INTO packed_hours (period, version, packed) VALUES (2026112109, 0, -1) ON CONFLICT DO NOTHING",
		} {
			must.Get(db.ExecContext(t.Context(), statement))(t)
		}
		tx := must.Get(db.BeginTx(t.Context(), nil))(t)
		must.Get(tx.ExecContext(t.Context(), "UPDATE rollup_packed SET version = version + 1 WHERE period = 20261121"))(t)
		applied := make(chan error, 1)
		go func() { applied <- s.Ledger.Apply(t.Context(), batchOf(j, 1, atHour(2, 9))) }()
		awaitWaiting(t, db)
		_, err := tx.ExecContext(t.Context(), "SELECT 1 FROM packed_hours WHERE period = 2026112109 FOR UPDATE NOWAIT")
		must.Do(t, tx.Rollback())
		must.Do(t, <-applied)
		must.Do(t, err)
	})
}

// TestSumsAddedUpAgainHaveConcurrentCounts checks that a repair of sums of refused requests loses none that a
// transaction adds meanwhile.
func TestSumsAddedUpAgainHaveConcurrentCounts(t *testing.T) {
	t.Parallel()
	onPostgres(t, noonOfOpenings, func(t *testing.T, s *store.DB, db *sql.DB) {
		minute := noonOfOpenings.Add(-26 * time.Hour).Unix()
		count := "INSERT INTO refusals (account, minute, key, reason, model, n) VALUES ($1, $2, 'k', $3, 'm', 7)"
		must.Get(db.ExecContext(t.Context(), count, "a", minute, string(llm.CodeRateLimited)))(t)
		tx := must.Get(db.BeginTx(t.Context(), nil))(t)
		must.Get(tx.ExecContext(t.Context(), count, "b", minute, string(llm.CodeRateLimited)))(t)
		for _, unit := range []int64{3600, 86400} {
			for column, value := range map[string]string{
				"account": "b", "key": "k", "model": "m", "reason": string(llm.CodeRateLimited),
				"/" + string(llm.CodeRateLimited): "b",
			} {
				must.Get(tx.ExecContext(t.Context(), "INSERT INTO refusals_sums (unit, grouped, period, value, n) VALUES ($1, $2, $3, $4, 7)",
					unit, column, minute-minute%unit, value))(t)
			}
		}
		repaired := make(chan error, 1)
		go func() { repaired <- s.Refusals.RetainRefusals(t.Context(), noonOfOpenings.AddDate(0, 0, -30)) }()
		awaitWaiting(t, db)
		must.Do(t, tx.Commit())
		must.Do(t, <-repaired)
		for _, q := range refusalQueries(noonOfOpenings) {
			must.Equal(t, must.Get(s.Refusals.Count(t.Context(), q))(t), int64(14), "refusals by %+v", q)
		}
	})
}
