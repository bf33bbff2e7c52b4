package storetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/audit"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/report"
)

func export(t *testing.T, f *fixture, account string) []ledger.Entry {
	t.Helper()
	var list []ledger.Entry
	err := f.Reports.Export(t.Context(), report.ExportQuery{Account: account}, func(e *report.Exported) error {
		list = append(list, e.Entry)
		return nil
	})
	if err != nil {
		t.Fatalf("export: %v", err)
	}
	return list
}

func testUses(t *testing.T, f *fixture) {
	cheap, old, unpriced, zero, foreign := entry(1), entry(2), entry(3), entry(4), entry(5)
	cheap.Key = "key_b" // another key is the same entry
	old.Opened = noon.AddDate(0, 0, -3)
	old.Arrived = old.Opened
	unpriced.Model, unpriced.Price, unpriced.Cost = "aa", llm.Price{}, 0
	unpriced.Unpriced = unpriced.Price.Unpriced(&unpriced.Usage, "")
	zero.Counts, zero.Usage, zero.Cost, zero.Outcome = false, llm.Usage{}, 0, ledger.OutcomeFailed
	foreign.Account = "acc_b"
	// another target replaced it, or its name is misspelt: there is no usage, and so no entry
	rescued := zero
	rescued.ID, rescued.Model, rescued.Price = entry(7).ID, "ab", llm.Price{}
	rescued.Unpriced = rescued.Unpriced.With(llm.Input)
	apply(t, f, newTape().next([]ledger.Attempt{attempt(8)}, cheap, old, unpriced, zero, foreign, entry(6),
		rescued))

	one := entry(1)
	double := one.Usage
	double.Add(&one.Usage)
	today := report.Use{Date: "2026-11-21", Model: "openai/org/gpt", Usage: double, Requests: 2, Attempts: 3, Errors: 1, Cost: 2 * one.Cost}
	free := report.Use{Date: "2026-11-21", Model: "openai/aa", Usage: one.Usage, Requests: 1, Attempts: 1, Unpriced: 1}
	past := report.Use{Date: "2026-11-18", Model: "openai/org/gpt", Usage: one.Usage, Requests: 1, Attempts: 1, Cost: one.Cost}
	for _, test := range []struct {
		name  string
		query report.UsesQuery
		want  []report.Use
	}{
		{"all", report.UsesQuery{Account: "acc_a"}, []report.Use{free, today, past}},
		{"from", report.UsesQuery{Account: "acc_a", From: "2026-11-19"}, []report.Use{free, today}},
		{"to", report.UsesQuery{Account: "acc_a", To: "2026-11-20"}, []report.Use{past}},
		{
			"between, inclusive",
			report.UsesQuery{Account: "acc_a", From: "2026-11-18", To: "2026-11-18"},
			[]report.Use{past},
		},
		{"model", report.UsesQuery{Account: "acc_a", Model: "openai/aa"}, []report.Use{free}},
		{"nobody", report.UsesQuery{Account: "acc_x"}, nil},
		{"between nothing", report.UsesQuery{Account: "acc_a", From: "2026-11-19", To: "2026-11-20"}, nil},
	} {
		got := uses(t, f, test.query)
		must.Equal(t, got, pageOf(test.want), "%s", test.name)
	}
	v := overview(t, f, report.OverviewQuery{Account: "acc_a", From: "2026-11-18", To: "2026-11-21", Models: 5})
	names := []string{}
	for i := range v.Models {
		names = append(names, v.Models[i].Model)
	}
	must.Equal(t, names, []string{"openai/org/gpt", "openai/aa"}, "models of the overview")
	list, err := f.Reports.Unpriced(t.Context(), report.UnpricedQuery{Limit: 5})
	if err != nil || len(list) != 1 || list[0].Model != "openai/aa" {
		t.Errorf("without a price: got %+v, %v; want openai/aa alone", list, err)
	}
	if _, err := f.Reports.Uses(t.Context(), report.UsesQuery{
		Account: "acc_a", From: "yesterday",
		Limit: 1,
	}); err == nil {
		t.Error("from yesterday: got no error, want one")
	}
	verified(t, f)
}

// pageOf returns the page that has all entries.
func pageOf(list []report.Use) report.UsesPage {
	page := report.UsesPage{Uses: list, Count: len(list)}
	for i := range list {
		page.Total.Tokens += list[i].Usage.TotalTokens()
		page.Total.Requests += list[i].Requests
		page.Total.Cost += list[i].Cost
		page.Total.Unpriced += list[i].Unpriced
	}
	return page
}

// testUsesPages reads the same entries with pages of every size.
func testUsesPages(t *testing.T, f *fixture) {
	var list []ledger.Entry
	for i := range 40 {
		e := entry(i)
		e.Opened = noon.AddDate(0, 0, -(i % 7))
		e.Arrived = e.Opened
		e.Model = fmt.Sprint("m", i%5)
		e.Key = fmt.Sprint("key_", i%3)
		list = append(list, e)
	}
	apply(t, f, newTape().next(nil, list...))
	all := uses(t, f, report.UsesQuery{Account: "acc_a"})
	if all.Count != 35 || all.Total.Requests != 40 {
		t.Fatalf("got %d entries, %d requests; want 35, 40", all.Count, all.Total.Requests)
	}
	for _, limit := range []int{1, 2, 4, 5, 6, 34, 35, 36} {
		got := report.UsesPage{Total: all.Total, Count: all.Count}
		for offset := 0; offset < all.Count+limit; offset += limit {
			page := uses(t, f, report.UsesQuery{Account: "acc_a", Limit: limit, Offset: offset})
			if page.Total != all.Total || page.Count != all.Count || len(page.Uses) > limit {
				t.Fatalf("limit %d, offset %d: got %d entries of %d, %+v", limit, offset, len(page.Uses), page.Count,
					page.Total)
			}
			got.Uses = append(got.Uses, page.Uses...)
		}
		must.Equal(t, got, all, "pages of %d", limit)
	}
}

func testResolve(t *testing.T, f *fixture) {
	apply(t, f, newTape().next([]ledger.Attempt{attempt(4)}, entry(1), unknown(2), unknown(3)))
	for _, test := range []struct {
		n       int
		release bool
		want    error
	}{
		{1, false, ledger.ErrKnown},
		{2, false, nil},
		{2, true, ledger.ErrResolved},
		{3, true, nil},
		{3, true, ledger.ErrResolved},
		{4, true, ledger.ErrOpen},
		{5, true, ledger.ErrNoAttempt},
	} {
		err := f.Corrections.Resolve(t.Context(), audit.Gateway(), attempt(test.n).ID, 77, test.release)
		if !errors.Is(err, test.want) {
			t.Errorf("resolve %d, release %v: got %v, want %v", test.n, test.release, err, test.want)
		}
	}
	for _, cost := range []llm.Money{-1, llm.MaxCost + 1} {
		err := f.Corrections.Resolve(t.Context(), audit.Gateway(), attempt(2).ID, cost, false)
		if err == nil || errors.Is(err, ledger.ErrResolved) {
			t.Errorf("a cost of %s: got %v, want one about it", cost, err)
		}
	}
	e, u := entry(1), unknown(2)
	want := report.Totals{Tokens: 35 + u.Usage.TotalTokens(), Requests: 3, Cost: e.Cost + 77}
	if page := uses(t, f, report.UsesQuery{Account: "acc_a"}); page.Total != want {
		t.Errorf("uses: got %+v, want %+v", page.Total, want)
	}
	var sum llm.Money
	for _, e := range export(t, f, "") {
		sum += e.Cost
	}
	if sum != want.Cost {
		t.Errorf("export: got %s in all, want %s", sum, want.Cost)
	}
	if got, _, err := f.Reports.Attempt(t.Context(), u.ID); err != nil || !cmp.Equal(got, u) {
		t.Errorf("the row itself changed: err %v\n%s", err, cmp.Diff(got, u))
	}
	if v := verified(t, f); v.Unknown != 2 {
		t.Errorf("got %d unknown, want 2", v.Unknown)
	}
}

func testVerify(t *testing.T, f *fixture) {
	good, dear, unpriced, nameless := entry(1), entry(2), entry(3), entry(4)
	dear.Cost++
	unpriced.Price.Version, unpriced.Cost = "", 1
	unpriced.Unpriced = unpriced.Price.Unpriced(&unpriced.Usage, "")
	nameless.Price.Version = "nobody knows"
	j := newTape()
	apply(t, f, j.next([]ledger.Attempt{attempt(6)}, good, unknown(5)))
	verified(t, f)
	apply(t, f, j.next(nil, dear, unpriced, nameless))
	var last, total int64
	v, err := f.Ledger.Verify(t.Context(), func(d, n int64) { last, total = d, n })
	if err != nil || len(v.Differences) != 3 {
		t.Fatalf("got %+v, %v; want three costs that are wrong", v.Differences, err)
	}
	for _, d := range v.Differences {
		if d.Rollup != "row" || d.Account != "acc_a" || d.Model != "openai/org/gpt" ||
			d.Period != "2026-11-21T12:00:00Z" {
			t.Errorf("got %+v, want a difference of a row of acc_a", d)
		}
	}
	if v.Rows != 6 || v.Open != 1 || v.Unknown != 1 || v.Rollups != 3 || last != 6 || total != 6 {
		t.Errorf("got %+v, progress %d of %d; want 6 rows, 1 open, 1 unknown, 3 rollups", v, last, total)
	}
}

func testRetain(t *testing.T, f *fixture) {
	j := newTape()
	open := attempt(0)
	open.Opened = noon.AddDate(0, 0, -5)
	open.Arrived = open.Opened
	var list []ledger.Entry
	for i := range 1300 {
		e := entry(i + 1)
		e.Opened = noon.AddDate(0, 0, -5*(i%2))
		e.Arrived = e.Opened
		e.Key = fmt.Sprint("key_", i%3)
		list = append(list, e)
	}
	lost := unknown(5000)
	lost.Opened = open.Opened
	lost.Arrived = lost.Opened
	apply(t, f, j.next([]ledger.Attempt{open}, append(list, lost)...))
	must.Do(t, f.Corrections.Resolve(t.Context(), audit.Gateway(), lost.ID, 0, true))
	before := uses(t, f, report.UsesQuery{Account: "acc_a"})
	for _, test := range []struct {
		before time.Time
		want   int64
	}{
		{noon.AddDate(0, 0, -5), 0}, // that day is not over before noon
		{noon.AddDate(0, 0, -4), 651},
		{noon.AddDate(0, 0, -4), 0},
	} {
		if n, err := f.Ledger.Retain(t.Context(), test.before, test.before, nil); n.Rows != test.want || err != nil {
			t.Errorf("retain from %v: got %+v, %v; want %d", test.before, n, err, test.want)
		}
		verified(t, f)
	}
	settled := entry(0)
	settled.Opened = open.Opened
	settled.Arrived = settled.Opened
	apply(t, f, j.next(nil, settled)) // in a deleted day
	if v := verified(t, f); v.Rows != 651 {
		t.Errorf("got %d rows, want 651", v.Rows)
	}
	if n, err := f.Ledger.Retain(t.Context(), noon.AddDate(0, 0, -4), noon, nil); n.Rows != 1 || err != nil {
		t.Errorf("retain the late one: got %+v, %v; want 1", n, err)
	}
	verified(t, f)
	after := uses(t, f, report.UsesQuery{Account: "acc_a"})
	if after.Total.Requests != before.Total.Requests+1 || after.Total.Cost != before.Total.Cost+settled.Cost {
		t.Errorf("got %+v, want %+v and one request more", after.Total, before.Total)
	}
}

// testRetainUnresolved checks that rows with an uncertain cost are stored for longer than others, so that they can be
// resolved, and that deleted ones are counted.
func testRetainUnresolved(t *testing.T, f *fixture) {
	create(t, f, "a")
	known, first, second, lost, unpriced := entry(1), bounded(2), bounded(3), unknown(4), entry(5)
	unpriced.Unpriced, unpriced.AtMost = unpriced.Unpriced.With(llm.Maps), unpriced.Cost+5000
	list := []*ledger.Entry{&known, &first, &second, &lost, &unpriced}
	var applied []ledger.Entry
	for _, e := range list {
		e.Opened = noon.AddDate(0, 0, -5)
		e.Arrived = e.Opened
		applied = append(applied, *e)
	}
	apply(t, f, newTape().next(nil, applied...))
	all := spentInAll(t, f, "acc_a")
	before, never := noon.AddDate(0, 0, -4), noon.AddDate(0, 0, -50)
	retain := func(last time.Time, want report.Retained) {
		t.Helper()
		if got, err := f.Ledger.Retain(t.Context(), before, last, nil); got != want || err != nil {
			t.Errorf("retain: got %+v, %v; want %+v", got, err, want)
		}
		verified(t, f)
	}
	retain(never, report.Retained{Rows: 1})
	if got := spentInAll(t, f, "acc_a"); got != all {
		t.Errorf("after the known one is deleted: got %s spent, want %s", got, all)
	}
	// Stored rows are resolved, by hand and by a rule, and deleted then.
	if err := f.Corrections.Resolve(t.Context(), ann(), first.ID, first.Cost, false); err != nil {
		t.Errorf("resolve a row that outlived the others: %v", err)
	}
	retain(never, report.Retained{Rows: 1})
	want := []report.UnseenSum{{Account: "acc_a", Attempts: 2, Uncertain: 6000, First: "2026-11-16"}}
	if got, err := f.Reports.Unseen(t.Context(), "", ""); err != nil || !cmp.Equal(got, want) {
		t.Errorf("after one is resolved and deleted: got %+v, %v; want %+v", got, err, want)
	}
	if got := older(t, f, ledger.ResolveQuery{Rule: ledger.RuleEstimate}); got.Attempts != 2 {
		t.Errorf("by a rule: got %+v, want 2 attempts", got)
	}
	retain(never, report.Retained{Rows: 2})
	if got := spentInAll(t, f, "acc_a"); got != all-2000 {
		t.Errorf("resolved: got %s spent, want %s", got, all-2000)
	}
	// The row that is not resolved is deleted in the end, and counts with its upper bound.
	retain(before, report.Retained{Rows: 1, Unresolved: 1})
	if got := spentInAll(t, f, "acc_a"); got != all-2000 {
		t.Errorf("in the end: got %s spent, want %s", got, all-2000)
	}
}

// testRetainAtOnce deletes the same rows in several nodes while another one settles.
func testRetainAtOnce(t *testing.T, f *fixture) {
	const old, late = 2300, 40
	j := newTape()
	var opened []ledger.Attempt
	var list []ledger.Entry
	for i := range old + late {
		e := entry(i)
		e.Opened = noon.AddDate(0, 0, -5)
		e.Arrived = e.Opened
		if i < late {
			opened = append(opened, e.Attempt)
		}
		list = append(list, e)
	}
	apply(t, f, j.next(opened, list[late:]...))
	var deleted atomic.Int64
	var nodes sync.WaitGroup
	for range 3 {
		s := f.open(t)
		nodes.Go(func() {
			n, err := s.Ledger.Retain(t.Context(), noon, noon, nil)
			if err != nil {
				t.Errorf("retain: %v", err)
			}
			deleted.Add(n.Rows)
		})
	}
	nodes.Go(func() {
		for i := range late {
			if err := f.Ledger.Apply(t.Context(), j.next(nil, list[i])); err != nil {
				t.Errorf("apply: %v", err)
			}
		}
	})
	nodes.Wait()
	// The day was settled too often to be added up.
	n := must.Get(f.Ledger.Retain(t.Context(), noon, noon, nil))(t)
	deleted.Add(n.Rows)
	v := verified(t, f)
	if deleted.Load()+v.Rows != old+late || deleted.Load() < old {
		t.Errorf("got %d deleted and %d left, want %d in all", deleted.Load(), v.Rows, old+late)
	}
}
