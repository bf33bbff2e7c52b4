package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/report"
	"weir/internal/store"
)

// TestUsesTogetherAreOfOneMoment settles attempts between two reports: the second one lacks them, a later one has them.
// Some attempts have measures that most do not have.
func TestUsesTogetherAreOfOneMoment(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, o store.Options) {
		o.Clock = func() time.Time { return noonOfOpenings.Add(5 * time.Minute) }
		s, j := open(t, o), uuid.New()
		failed := atHour(2, 12)
		failed.Account, failed.Outcome, failed.Unpriced, failed.AtMost = "b", ledger.OutcomeFailed, llm.Classes(0).With(llm.Input), 9
		must.Do(t, s.Ledger.Apply(t.Context(), batchOf(j, 0, atHour(1, 12), failed)))
		queries := map[string]report.UsesQuery{
			"account": {All: true, By: []report.Dimension{report.ByAccount}, Failed: true, Limit: 9},
			"hour":    {All: true, By: []report.Dimension{report.ByHour}, Since: noonOfOpenings, Failed: true, Limit: 9},
			"minute":  {All: true, By: []report.Dimension{report.ByMinute}, Since: noonOfOpenings, Failed: true, Limit: 9},
			"speed":   {All: true, By: []report.Dimension{report.ByHour}, Speeds: true, Limit: 9},
		}
		read := func(uses func(report.UsesQuery) (report.UsesPage, error)) map[string]string {
			texts := map[string]string{}
			for name, q := range queries {
				for _, u := range must.Get(uses(q))(t).Uses {
					texts[name] += fmt.Sprintf("%s: %d %d %s %d %s %d; ", *u.Group[0], u.Attempts, u.Errors, u.Uncertain, u.Unpriced, u.Cost,
						u.Speed.Answers())
				}
			}
			return texts
		}
		const at = "2026-11-21T12:00:00Z: "
		want := map[string]string{
			"account": "a: 1 0 0 0 0.000000003 0; b: 1 1 0.000000006 1 0.000000003 0; ",
			"hour":    at + "2 1 0.000000006 1 0.000000006 0; ", "minute": at + "2 1 0.000000006 1 0.000000006 0; ",
			"speed": at + "0 0 0 0 0 1; ",
		}
		must.Do(t, s.Reports.UsesTogether(t.Context(), "", func(uses func(report.UsesQuery) (report.UsesPage, error)) error {
			must.Equal(t, read(uses), want, "reports")
			must.Do(t, s.Ledger.Apply(t.Context(), batchOf(j, 1, atHour(3, 12))))
			must.Equal(t, read(uses), want, "reports after a settlement")
			return nil
		}))
		must.Equal(t, read(func(q report.UsesQuery) (report.UsesPage, error) { return s.Reports.Uses(t.Context(), q) }), map[string]string{
			"account": "a: 2 0 0 0 0.000000006 0; b: 1 1 0.000000006 1 0.000000003 0; ",
			"hour":    at + "3 1 0.000000006 1 0.000000009 0; ", "minute": at + "3 1 0.000000006 1 0.000000009 0; ",
			"speed": at + "0 0 0 0 0 2; ",
		}, "later reports")
	})
}
