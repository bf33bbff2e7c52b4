package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/report"
	"weir/internal/store"
)

// TestAttributionTakenOver holds that a day which a node was adding up when it died is added up by another one, from the
// beginning, and not while the first may still be at it.
func TestAttributionTakenOver(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, o store.Options) {
		now := noonOfOpenings
		o.Clock = func() time.Time { return now }
		s := open(t, o)
		e := settled(now.AddDate(0, 0, -1), 1)
		e.Attribution = llm.Attribution{User: "ada"}
		must.Do(t, s.Ledger.Apply(t.Context(), batchOf(uuid.New(), 0, e)))
		tamper(t, o, fmt.Sprintf("UPDATE attribution_days SET claim = 'another', claimed = %d", now.Add(5*time.Minute).UnixMicro()))
		tamper(t, o, "INSERT INTO rollup_attribution (period, account, model, key, provider, attribution, digest, requests)"+
			" VALUES (20261120, 'a', 'p/m', 'k', 'p', '{\"user\":\"ada\"}', 'd', 7)")
		requests := func() (n int64) {
			for _, u := range must.Get(s.Reports.Uses(t.Context(), report.UsesQuery{Account: "a", By: []report.Dimension{report.ByUser}, Limit: 9}))(t).Uses {
				n += u.Requests
			}
			return n
		}
		state := func() (state int) {
			db := behind(t, o)
			defer db.Close()
			must.Do(t, db.QueryRowContext(t.Context(), "SELECT state FROM attribution_days").Scan(&state))
			return state
		}
		for _, x := range []struct {
			after time.Duration
			state int
		}{{0, 0}, {6 * time.Minute, 1}} {
			now = now.Add(x.after)
			must.Do(t, s.Ledger.Attribute(t.Context(), now.AddDate(0, 0, -2)))
			if got := state(); got != x.state || requests() != 1 {
				t.Errorf("after %s: state %d and %d requests, want %d and 1", x.after, got, requests(), x.state)
			}
		}
		if v := must.Get(s.Ledger.Verify(t.Context(), nil))(t); len(v.Differences) > 0 {
			t.Errorf("verify: got %+v", v.Differences)
		}
	})
}
