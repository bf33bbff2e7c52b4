package store_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/promptcache"
	"weir/internal/report"
)

// checkGroups compares usage by random dimensions, page by page, with the model, and its sum with the usage without
// dimensions.
func (m *machine) checkGroups(rt *rapid.T, account string, all *report.UsesPage) {
	for range 3 {
		q := report.UsesQuery{Account: account, By: drawDimensions(rt), Key: rapid.SampledFrom([]string{"", "", "k"}).Draw(rt, "key")}
		if rapid.Bool().Draw(rt, "all accounts") {
			q.All, q.Account = true, rapid.SampledFrom([]string{"", account}).Draw(rt, "account")
		}
		q.From, q.To = drawDate(rt, "from", 1, 18), drawDate(rt, "to", 30, 20)
		q.Sort = rapid.SampledFrom([]report.Measure{"", "", report.MeasureCost, report.MeasureErrors, report.MeasureMissed, report.MeasureMissCost, report.MeasureIn, "output"}).Draw(rt, "sort")
		q.Failed = rapid.Bool().Draw(rt, "failed")
		q.Provider = rapid.SampledFrom([]string{"", "", "", "p", "none"}).Draw(rt, "provider")
		if q.Ranked() >= 0 {
			q.Top = rapid.IntRange(0, 2).Draw(rt, "top")
		}
		if rapid.IntRange(0, 3).Draw(rt, "by a tag") == 0 {
			q.Tags = []llm.Tag{{Name: "a", Value: "1"}}
		}
		if q.User = rapid.SampledFrom([]string{"", "", "", "u"}).Draw(rt, "user"); !q.ByAttribution() {
			q.Since, q.Until = drawHour(rt, "since", 20), drawHour(rt, "until", 22)
		}
		want := m.groups(rt, q)
		got := report.UsesPage{}
		for limit := rapid.IntRange(1, 5).Draw(rt, "limit"); ; {
			q.Limit, q.Offset = limit, len(got.Uses)
			page, err := m.store.Reports.Uses(rt.Context(), q)
			if err != nil {
				rt.Fatal(err)
			}
			got.Uses, got.Total, got.Count = append(got.Uses, page.Uses...), page.Total, page.Count
			if len(page.Uses) < limit {
				break
			}
		}
		total := got.Total
		total.Unpriced, total.MarginUnpriced = all.Total.Unpriced, all.Total.MarginUnpriced // an attempt without usage is included if others of its group have usage
		if q.Key == "" && q.Provider == "" && q.User == "" && q.From == "" && q.To == "" && q.Since.IsZero() && q.Until.IsZero() && len(q.Tags) == 0 && q.Account != "" && total != all.Total {
			rt.Fatalf("by %s: got %+v in all, want %+v", q.By, got.Total, all.Total)
		}
		if diff := gocmp.Diff(got, want); diff != "" {
			rt.Fatalf("%+v (-got +want):\n%s", q, diff)
		}
	}
}

// drawDate generates a date of November, its edge or one of three days from a given one on; mostly none.
func drawDate(rt *rapid.T, of string, edge, day int) string {
	if rapid.IntRange(0, 2).Draw(rt, of) > 0 {
		return ""
	}
	return fmt.Sprintf("2026-11-%02d", rapid.SampledFrom([]int{edge, day, day + 1, day + 2}).Draw(rt, of+" the"))
}

// drawHour generates an hour of a day of November or the next one; mostly none.
func drawHour(rt *rapid.T, of string, day int) time.Time {
	if rapid.IntRange(0, 2).Draw(rt, of) > 0 {
		return time.Time{}
	}
	return time.Date(2026, 11, day, rapid.IntRange(0, 47).Draw(rt, of+" at"), 0, 0, 0, time.UTC)
}

func drawDimensions(rt *rapid.T) []report.Dimension {
	all := []report.Dimension{
		report.ByModel, report.ByProvider, report.ByKey, report.ByDay, report.ByHour, report.ByMonth,
		report.ByAccount, report.ByUser, report.ByTag("a"), report.ByTag("b c"), report.ByTag("none"),
	}
	return rapid.SliceOfNDistinct(rapid.SampledFrom(all), 1, 3, rapid.ID[report.Dimension]).Draw(rt, "by")
}

// groups adds up the model's attempts by dimensions.
func (m *machine) groups(rt *rapid.T, q report.UsesQuery) (page report.UsesPage) {
	sums := map[string]*report.Use{}
	apart := m.apart(rt, q)
	for _, id := range m.settled {
		e := m.attempts[id]
		if !q.All && e.Account != q.Account || q.Account != "" && e.Account != q.Account || q.Key != "" && e.Key != q.Key ||
			q.Provider != "" && e.Provider != q.Provider || !q.Since.IsZero() && e.Arrived.Before(q.Since) || !q.Until.IsZero() && !e.Arrived.Before(q.Until) {
			continue
		}
		if day := e.Arrived.Format(time.DateOnly); q.From != "" && day < q.From || q.To != "" && day > q.To {
			continue
		}
		values := valuesOf(&e, q.By)
		if q.ByAttribution() {
			e, values = m.asReported(rt, e, q.By)
		}
		if value, _ := e.Attribution.Tag("a"); len(q.Tags) > 0 && value != q.Tags[0].Value || q.User != "" && e.Attribution.User != q.User {
			continue
		}
		apart(values)
		name := report.GroupID("", q.By, values)
		u := sums[name]
		if u == nil {
			u = &report.Use{Group: values}
			sums[name] = u
		}
		m.addTo(u, &e)
	}
	for _, u := range sums {
		if u.Usage.TotalTokens() == 0 && u.Requests == 0 && u.Cost == 0 && u.Uncertain == 0 && u.Margin.Margin == 0 && u.MarginUncertain == 0 && (!q.Failed || u.Errors == 0) {
			continue // nothing was used
		}
		page.Uses = append(page.Uses, *u)
	}
	page.Total = totalsOf(page.Uses)
	page.Count = len(page.Uses)
	slices.SortFunc(page.Uses, func(a, b report.Use) int {
		return cmp.Or(cmp.Compare(q.Sort.Of(&b), q.Sort.Of(&a)), compareGroups(q.By, a.Group, b.Group))
	})
	return page
}

// apart returns a function that changes all values but the top ones of a query to report.Other.
func (m *machine) apart(rt *rapid.T, q report.UsesQuery) func([]*string) {
	at, top := q.Ranked(), q
	if q.Top == 0 {
		return func([]*string) {}
	}
	top.By, top.Sort, top.Top = q.By[at:at+1], cmp.Or(q.Sort, report.MeasureCost), 0
	first := m.groups(rt, top).Uses
	first = first[:min(q.Top, len(first))]
	return func(values []*string) {
		value := values[at]
		if !slices.ContainsFunc(first, func(u report.Use) bool {
			have := u.Group[0]
			return have == value || have != nil && value != nil && *have == *value
		}) {
			other := report.Other
			values[at] = &other
		}
	}
}

func compareGroups(by []report.Dimension, a, b []*string) int {
	times, others := 0, 0
	for i, d := range by {
		c := 0
		switch x, y := a[i], b[i]; {
		case x == nil && y == nil:
		case x == nil:
			c = 1
		case y == nil:
			c = -1
		case d.IsTime():
			c = strings.Compare(*y, *x)
		default:
			c = strings.Compare(*x, *y)
		}
		if d.IsTime() {
			times = cmp.Or(times, c)
		} else {
			others = cmp.Or(others, c)
		}
	}
	return cmp.Or(times, others)
}

// valuesOf returns an attempt's values of dimensions; nil where it has none.
func valuesOf(e *ledger.Entry, by []report.Dimension) (values []*string) {
	for _, d := range by {
		value := map[report.Dimension]string{
			report.ByAccount: e.Account, report.ByModel: e.FullModel(), report.ByProvider: e.Provider, report.ByKey: e.Key,
			report.ByDay: e.Arrived.Format(time.DateOnly), report.ByMonth: e.Arrived.Format("2006-01"),
			report.ByHour: e.Arrived.Truncate(time.Hour).Format(time.RFC3339), report.ByUser: e.Attribution.User,
		}[d]
		if name := d.Tag(); name != "" {
			value, _ = e.Attribution.Tag(name)
		}
		values = append(values, &value)
		if value == "" {
			values[len(values)-1] = nil
		}
	}
	return values
}

// asReported returns an attempt as reports by end users and tags show it: retention preserves these in sums, but not
// the hour. A report by hour reads rows, and has only the day of deleted ones.
func (m *machine) asReported(rt *rapid.T, e ledger.Entry, by []report.Dimension) (ledger.Entry, []*string) {
	_, kept, err := m.store.Reports.Attempt(rt.Context(), e.ID)
	if err != nil {
		rt.Fatal(err)
	}
	i := slices.Index(by, report.ByHour)
	if i >= 0 && !kept {
		e.Attribution = llm.Attribution{}
	}
	values := valuesOf(&e, by)
	if i >= 0 && !kept {
		values[i] = nil
	}
	return e, values
}

// addTo adds an attempt of the model, with its corrections, to an entry.
func (m *machine) addTo(u *report.Use, e *ledger.Entry) {
	if e.Counts {
		u.Requests++
	}
	delta := m.corrected[e.ID]
	cost, left := e.Cost+delta.Cost, e.MostCost()-e.Cost+delta.AtMost
	charged, uncertain := m.charge(e)
	u.Cost += charged
	u.Uncertain += uncertain
	u.Margin.Margin += charged - cost
	u.MarginUncertain += uncertain - left
	u.Usage.Add(&e.Usage)
	u.Usage.Add(&delta.Usage)
	causes := promptcache.Causes()
	if i := slices.Index(causes[:], e.Missed.Cause); i >= 0 {
		u.Missed.Tokens += e.Missed.Tokens
		u.Missed.Costs[i] += e.Missed.Cost
	}
	u.Attempts++
	switch e.Outcome {
	case ledger.OutcomeRefused, ledger.OutcomeRejected, ledger.OutcomeFailed, ledger.OutcomeCut:
		u.Errors++
	}
	ofCost, ofCharge := m.marks(e)
	if e.Provenance == ledger.Estimated || e.Provenance == ledger.Unknown && delta.Outcome != "resolved" {
		u.Unseen++
	}
	u.Unpriced += count(ofCharge)
	u.MarginUnpriced += count(ofCharge) - count(ofCost)
}
