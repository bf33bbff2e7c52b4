package store_test

import (
	"maps"
	"slices"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir/internal/ledger"
	"weir/internal/report"
)

// checkSpeeds compares times to first token by random dimensions with the model. Those of hours and keys need rows or
// packed hours, so they are compared only before rows are deleted.
func (m *machine) checkSpeeds(rt *rapid.T, account string) {
	dimensions := []report.Dimension{report.ByModel, report.ByProvider, report.ByDay, report.ByAccount, report.ByMonth}
	q := report.UsesQuery{Account: account, Speeds: true, Limit: 1000}
	if !m.retained {
		dimensions = append(dimensions, report.ByHour, report.ByKey)
		q.Since, q.Until = drawHour(rt, "speeds since", 20), drawHour(rt, "speeds until", 22)
		q.Key = rapid.SampledFrom([]string{"", "", "k"}).Draw(rt, "key of speeds")
	}
	q.By = rapid.SliceOfNDistinct(rapid.SampledFrom(dimensions), 1, 2, rapid.ID[report.Dimension]).Draw(rt, "speeds by")
	if rapid.Bool().Draw(rt, "speeds of all accounts") {
		q.All, q.Account = true, ""
	}
	page, err := m.store.Reports.Uses(rt.Context(), q)
	if err != nil {
		rt.Fatal(err)
	}
	got, want := map[string]report.Speed{}, map[string]report.Speed{}
	for i := range page.Uses {
		got[report.GroupID("", q.By, page.Uses[i].Group)] = page.Uses[i].Speed
	}
	for _, id := range m.settled {
		e := m.attempts[id]
		if e.Outcome != ledger.OutcomeOK || e.FirstToken <= 0 || !q.All && e.Account != account || q.Key != "" && e.Key != q.Key ||
			!q.Since.IsZero() && e.Arrived.Before(q.Since) || !q.Until.IsZero() && !e.Arrived.Before(q.Until) {
			continue
		}
		name := report.GroupID("", q.By, valuesOf(&e, q.By))
		speed := want[name]
		speed.Count(e.FirstToken)
		want[name] = speed
	}
	if diff := gocmp.Diff(got, want); diff != "" {
		rt.Fatalf("times to first token by %v, %d groups of %v (-got +want):\n%s", q, page.Count, slices.Sorted(maps.Keys(want)), diff)
	}
}
