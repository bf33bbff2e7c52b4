package store_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/ledger"
	"weir/internal/must"
	"weir/internal/refusal"
	"weir/internal/store"
)

// TestReportsOverAllAccountsReadAnIndex checks that the queries for the few attempts with an unseen end, and for the
// refused requests of some minutes, read an index, and that the check would find a query that reads all rows.
func TestReportsOverAllAccountsReadAnIndex(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, o store.Options) {
		now := noonOfOpenings
		o.Clock = func() time.Time { return now }
		s := open(t, o)
		must.Do(t, s.Accounts.CreateAccount(t.Context(), audit.Gateway(), account.Account{ID: "a", Name: "a", Created: now}))
		batch := &ledger.Batch{Journal: uuid.New()}
		for n := range 3000 { // a table of a few pages is cheaper to read than an index
			e := atHour(n, 12)
			e.Account = fmt.Sprintf("account-%d", n)
			batch.Settled = append(batch.Settled, e)
		}
		batch.To = ledger.Position(len(batch.Settled))
		must.Do(t, s.Ledger.Apply(t.Context(), batch))
		must.Do(t, s.Refusals.Write(t.Context(), refusal.Batch{Counts: refusedAt(now.Truncate(24*time.Hour), 1, 3000)}))
		db := behind(t, o)
		defer db.Close()
		must.Get(db.ExecContext(t.Context(), "ANALYZE"))(t)
		const unseen = "SELECT account FROM rollup_uses r WHERE ((r.uncertain > 0 OR r.margin_uncertain > 0) OR r.unknown > 0)"
		for query, wanted := range map[string]string{
			unseen + " AND r.period BETWEEN 20261101 AND 20261130":       "rollup_uses_unseen",
			"SELECT n FROM refusals WHERE minute >= 60 AND minute < 120": "refusals_minute",
			"SELECT account FROM rollup_uses r WHERE r.errors > 0":       "scan",
			"SELECT sum(n) FROM refusals WHERE reason = 'forbidden'":     "scan",
		} {
			plan := planOf(t, db, query, o.URL.IsZero())
			if !strings.Contains(strings.ToLower(plan), wanted) {
				t.Errorf("%s: got the plan\n%swant %s", query, plan, wanted)
			}
		}
	})
}

// planOf returns how the engine reads a query.
func planOf(t *testing.T, db *sql.DB, query string, sqlite bool) (plan string) {
	t.Helper()
	var id, parent, unused int
	var line string
	explain, dest := "EXPLAIN ", []any{&line}
	if sqlite {
		explain, dest = "EXPLAIN QUERY PLAN ", []any{&id, &parent, &unused, &line}
	}
	rows := must.Get(db.QueryContext(t.Context(), explain+query))(t)
	defer rows.Close()
	for rows.Next() {
		must.Do(t, rows.Scan(dest...))
		plan += line + "\n"
	}
	must.Do(t, rows.Err())
	return plan
}
