package store_test

import (
	"fmt"
	"testing"

	"weir/internal/ledger"
	"weir/internal/must"
	"weir/internal/report"
	"weir/internal/store"
)

// TestOtherOfPackedPeriods checks that filters and other groups hold for values that are summed up as report.Other, in
// packed days as in the rollup.
func TestOtherOfPackedPeriods(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, o store.Options) {
		s, j, _ := monthOver(t, o)
		var list []ledger.Entry
		for n, of := range [][3]string{{"p", "m", "k"}, {"p", "n", "l"}, {"q", "n", "k"}, {"r", "n", "i"}, {"p", "o", "i"}} {
			e := settled(noonOfOpenings.AddDate(0, 0, -1), 10+n)
			e.Provider, e.Model, e.Key, e.Cost = of[0], of[1], of[2], 1000<<n
			list = append(list, e)
		}
		must.Do(t, s.Ledger.Apply(t.Context(), batchOf(j, 1, list...)))
		queries := map[string]report.UsesQuery{
			"models of a provider": {By: []report.Dimension{report.ByModel}, Provider: "p"},
			"a model":              {By: []report.Dimension{report.ByModel}, Model: "q/n"},
			"a key":                {By: []report.Dimension{report.ByKey}, Key: "k"},
			"models by provider":   {By: []report.Dimension{report.ByProvider, report.ByModel}},
		}
		want := map[string]string{
			"models of a provider": "(other) 0.000019; ", "a model": "(other) 0.000004; ", "a key": "(other) 0.000005; ",
			"models by provider": "p (other) 0.000019; q (other) 0.000004; r (other) 0.000008; ",
		}
		read := func() map[string]string {
			texts := map[string]string{}
			for name, q := range queries {
				q.All, q.From, q.To, q.Top, q.Apart, q.Limit = true, "2026-11-20", "2026-11-20", 1, []*string{new("none")}, 9
				page := must.Get(s.Reports.Uses(t.Context(), q))(t)
				for i := range page.Uses {
					for _, value := range page.Uses[i].Group {
						texts[name] += *value + " "
					}
					texts[name] += fmt.Sprint(page.Uses[i].Cost, "; ")
				}
			}
			return texts
		}
		must.Equal(t, read(), want, "from the rollup")
		must.Do(t, s.Attribution.PackRollups(t.Context()))
		must.Equal(t, read(), want, "packed")
	})
}
