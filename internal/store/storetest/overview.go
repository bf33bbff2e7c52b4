package storetest

import (
	"crypto/sha256"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/report"
)

// sumOfEntry returns the amounts that an entry adds to an overview.
func sumOfEntry(e *ledger.Entry) report.Sum {
	s := report.Sum{Usage: e.Usage, Cost: e.Cost, Attempts: 1}
	if e.Counts {
		s.Requests = 1
	}
	if e.Unpriced != 0 {
		s.Unpriced = 1
	}
	s.Uncertain = e.Charged() - e.Cost
	if e.Outcome == ledger.OutcomeOK && e.FirstToken > 0 {
		s.Speed.Count(e.FirstToken)
	}
	return s
}

func plus(sums ...report.Sum) (s report.Sum) {
	for i := range sums {
		s.Add(&sums[i])
	}
	return s
}

func overview(t *testing.T, f *fixture, q report.OverviewQuery) report.Overview {
	t.Helper()
	v, err := f.Reports.Overview(t.Context(), q)
	if err != nil {
		t.Fatalf("overview %+v: %v", q, err)
	}
	return v
}

func testOverview(t *testing.T, f *fixture) {
	today, slow, old, failed, guessed, lost := entry(1), entry(2), entry(3), entry(4), entry(5), unknown(6)
	slow.Key, slow.FirstToken = "key_b", 90*time.Second
	old.Opened, old.Arrived = noon.AddDate(0, 0, -2), noon.AddDate(0, 0, -2)
	failed.Outcome, failed.Counts, failed.Usage, failed.Cost = ledger.OutcomeFailed, false, llm.Usage{}, 0
	guessed.Model, guessed.Provenance, guessed.Price, guessed.Cost, guessed.FirstToken = "aa", ledger.Estimated,
		llm.Price{}, 0, 0
	guessed.Unpriced = guessed.Price.Unpriced(&guessed.Usage, "")
	foreign, before := entry(7), entry(8)
	foreign.Account = "acc_b"
	before.Opened, before.Arrived = noon.AddDate(0, 0, -4), noon.AddDate(0, 0, -4)
	apply(t, f, newTape().next([]ledger.Attempt{attempt(9)}, today, slow, old, failed, guessed, lost, foreign, before))
	must.Do(t, f.Corrections.Resolve(t.Context(), audit.Gateway(), lost.ID, 77, false))
	lost.Cost, lost.AtMost = 77, 0 // as corrected, so that it is not unknown any more

	failure, guess := sumOfEntry(&failed), sumOfEntry(&guessed)
	failure.Errors, guess.Estimated = 1, 1
	gpt := plus(sumOfEntry(&today), sumOfEntry(&slow), failure, sumOfEntry(&lost))
	past := sumOfEntry(&old)
	want := report.Overview{
		Days: []report.DaySum{
			{Date: "2026-11-19", Sum: past},
			{Date: "2026-11-20"},
			{Date: "2026-11-21", Sum: plus(gpt, guess)},
		},
		Models: []report.ModelSum{
			{Model: "openai/org/gpt", Costs: []llm.Money{past.Cost, 0, gpt.Cost}, Sum: plus(gpt, past)},
			{Model: "openai/aa", Costs: []llm.Money{0, 0, guess.Cost}, Sum: guess},
		},
		Total: plus(gpt, past, guess),
	}
	q := report.OverviewQuery{Account: "acc_a", From: "2026-11-19", To: "2026-11-21", Models: 3}
	got := overview(t, f, q)
	must.Equal(t, got, want, "overview")
	if speed := got.Total.Speed; speed.Answers() != 3 || speed.Median() > 25*time.Millisecond {
		t.Errorf("speed: got %v, want three answers, two of them below 25 ms", speed)
	}
	q.Models, want.Models, want.More = 1, want.Models[:1], true
	must.Equal(t, overview(t, f, q), want, "overview of the dearest model")
	q.Model = "openai/aa"
	want = report.Overview{
		Days:   []report.DaySum{{Date: "2026-11-19"}, {Date: "2026-11-20"}, {Date: "2026-11-21", Sum: guess}},
		Models: []report.ModelSum{{Model: "openai/aa", Costs: make([]llm.Money, 3), Sum: guess}},
		Total:  guess,
	}
	must.Equal(t, overview(t, f, q), want, "overview of a model")
}

func testReportRanges(t *testing.T, f *fixture) {
	for _, test := range []struct {
		from, to string
		days     int // 0 for an error
	}{
		{"2026-11-21", "2026-11-21", 1},
		{"2024-01-01", "2024-12-31", 366},
		{"2023-11-19", "2026-11-22", 1100},
		{"2023-11-18", "2026-11-22", 0},
		{"2026-11-21", "2026-11-20", 0},
		{"", "2026-11-21", 0},
		{"2026-11-21", "today", 0},
	} {
		got, err := f.Reports.Overview(t.Context(), report.OverviewQuery{
			Account: "acc_a",
			From:    test.from, To: test.to,
		})
		if len(got.Days) != test.days || (err == nil) != (test.days > 0) {
			t.Errorf("overview of %q to %q: got %d days, %v; want %d", test.from, test.to, len(got.Days), err,
				test.days)
		}
		if _, err := f.Reports.KeySpend(t.Context(), "acc_a", test.from, test.to, 1); (err == nil) != (test.days > 0) {
			t.Errorf("spending of keys from %q to %q: got %v; want days %d", test.from, test.to, err, test.days)
		}
	}
}

func testKeySpend(t *testing.T, f *fixture) {
	first, other, second, foreign, early := entry(1), entry(2), entry(3), entry(4), entry(5)
	second.Key, second.Model = "key_b", "m"
	second.Usage, second.Cost = llm.Usage{llm.Output: 900}, 540_000
	foreign.Account, foreign.Key = "acc_b", "key_c"
	early.Opened, early.Arrived = noon.AddDate(0, 0, -1), noon.AddDate(0, 0, -1)
	other.Model = "m"
	apply(t, f, newTape().next(nil, first, other, second, foreign, early))
	one, err := f.Reports.KeySpend(t.Context(), "acc_a", "2026-11-21", "2026-11-21", 1)
	if err != nil || len(one) != 1 || one[0].Key != "key_b" {
		t.Errorf("the dearest key: got %+v, %v; want key_b alone", one, err)
	}
	for from, want := range map[string][]report.KeySum{
		"2026-11-21": {{Key: "key_b", Requests: 1, Cost: 540_000}, {Key: "key_a", Requests: 2, Cost: 2 * first.Cost}},
		"2026-11-20": {{Key: "key_b", Requests: 1, Cost: 540_000}, {Key: "key_a", Requests: 3, Cost: 3 * first.Cost}},
	} {
		got, err := f.Reports.KeySpend(t.Context(), "acc_a", from, "2026-11-21", 2)
		if diff := cmp.Diff(got, want); diff != "" || err != nil {
			t.Errorf("from %s: %v (-got +want):\n%s", from, err, diff)
		}
	}
}

func createKey(t *testing.T, f *fixture, k account.Key) {
	t.Helper()
	if err := f.Accounts.CreateKey(t.Context(), audit.Gateway(), k,
		account.Hash(sha256.Sum256([]byte(k.ID)))); err != nil {
		t.Fatalf("create key %s: %v", k.ID, err)
	}
}

func testKeysUsed(t *testing.T, f *fixture) {
	create(t, f, "a", "b")
	for _, id := range []string{"key_a", "key_b", "key_idle"} {
		createKey(t, f, newKey(id, "acc_a"))
	}
	createKey(t, f, newKey("key_c", "acc_b"))
	late, foreign := entry(1), entry(2)
	late.Opened = noon.Add(2 * time.Hour)
	foreign.Key, foreign.Account = "key_c", "acc_b"
	open := attempt(3)
	open.Key = "key_b"
	apply(t, f, newTape().next([]ledger.Attempt{open}, late, foreign, entry(4)))
	apply(t, f, newTape().next(nil, entry(5))) // of a journal that is behind
	got, err := f.Reports.KeysUsed(t.Context(), "acc_a")
	want := map[string]time.Time{"key_a": late.Opened, "key_b": open.Opened}
	if diff := cmp.Diff(got, want); diff != "" || err != nil {
		t.Errorf("%v (-got +want):\n%s", err, diff)
	}
}

func testAccountsOverview(t *testing.T, f *fixture) {
	create(t, f, "a", "b", "c")
	createKey(t, f, newKey("key_a", "acc_a"))
	createKey(t, f, newKey("key_b", "acc_b"))
	old, dear, failed := entry(1), entry(2), entry(3)
	old.Opened, old.Arrived = noon.AddDate(0, -1, 0), noon.AddDate(0, -1, 0)
	dear.Account, dear.Key, dear.Usage = "acc_b", "key_b", llm.Usage{llm.Output: 900}
	dear.Cost = dear.Price.Cost(&dear.Usage, "")
	failed.Account, failed.Key, failed.Outcome, failed.Price, failed.Cost = "acc_b", "key_b", ledger.OutcomeRejected,
		llm.Price{}, 0
	failed.Unpriced = failed.Price.Unpriced(&failed.Usage, "")
	apply(t, f, newTape().next(nil, old, dear, failed))
	for month, want := range map[int64][]report.AccountSum{
		202611: {
			{Account: "acc_b", Requests: 2, Cost: dear.Cost, Errors: 1, Unpriced: 1, Used: noon},
			{Account: "acc_a", Used: old.Opened},
			{Account: "acc_c"},
		},
		202610: {
			{Account: "acc_a", Requests: 1, Cost: old.Cost, Used: old.Opened},
			{Account: "acc_b", Used: noon},
			{Account: "acc_c"},
		},
	} {
		got, err := f.Reports.AccountsOverview(t.Context(), month)
		if diff := cmp.Diff(got, want); diff != "" || err != nil {
			t.Errorf("month %d: %v (-got +want):\n%s", month, err, diff)
		}
	}
	for _, month := range []int64{0, 20261121} {
		if _, err := f.Reports.AccountsOverview(t.Context(), month); err == nil {
			t.Errorf("month %d: got no error, want one", month)
		}
	}
}

func testUnpriced(t *testing.T, f *fixture) {
	priced, one, two, late := entry(1), entry(2), entry(3), entry(4)
	for _, e := range []*ledger.Entry{&one, &two, &late} {
		e.Price, e.Cost, e.Model = llm.Price{}, 0, "new"
		e.Unpriced = e.Price.Unpriced(&e.Usage, "")
	}
	two.Account = "acc_b"
	late.Opened, late.Arrived = noon.AddDate(0, 0, 1), noon.AddDate(0, 0, 1)
	priced.Model = "new" // it had a price at first
	second := one
	second.ID, second.Model = entry(6).ID, "other"
	apply(t, f, newTape().next(nil, priced, one, two, late, entry(5), second))
	other := report.UnpricedModel{
		Model: "openai/other", Attempts: 1, Accounts: 1, First: "2026-11-21",
		Last: "2026-11-21",
	}
	whole := report.UnpricedModel{
		Model: "openai/new", Attempts: 3, Accounts: 2, First: "2026-11-21",
		Last: "2026-11-22",
	}
	last := report.UnpricedModel{Model: "openai/new", Attempts: 1, Accounts: 1, First: "2026-11-22", Last: "2026-11-22"}
	for _, test := range []struct {
		from, to, after string
		limit           int
		want            []report.UnpricedModel
	}{
		{"", "", "", 3, []report.UnpricedModel{whole, other}},
		{"", "", "", 1, []report.UnpricedModel{whole}},
		{"", "", "openai/new", 1, []report.UnpricedModel{other}},
		{"", "", "openai/other", 1, nil},
		{"2026-11-22", "", "", 3, []report.UnpricedModel{last}},
		{"", "2026-11-20", "", 3, nil},
	} {
		got, err := f.Reports.Unpriced(t.Context(), report.UnpricedQuery{
			From: test.from, To: test.to,
			After: test.after, Limit: test.limit,
		})
		if diff := cmp.Diff(got, test.want); diff != "" || err != nil {
			t.Errorf("%d from %q to %q after %q: %v (-got +want):\n%s", test.limit, test.from, test.to,
				test.after, err, diff)
		}
	}
	if _, err := f.Reports.Unpriced(t.Context(), report.UnpricedQuery{From: "soon", Limit: 1}); err == nil {
		t.Error("from soon: got no error, want one")
	}
}

// testUnseen counts attempts with an unseen end until they are resolved, and adds up how much they may have cost.
func testUnseen(t *testing.T, f *fixture) {
	create(t, f, "a", "b", "c")
	seen, gone, more, died, late, foreign := entry(1), entry(2), entry(3), unknown(4), entry(5), entry(6)
	for _, e := range []*ledger.Entry{&gone, &more, &late, &foreign} {
		e.Outcome, e.Provenance, e.AtMost = ledger.OutcomeClientGone, ledger.Estimated, e.Cost+1000
	}
	late.Opened, late.Arrived = noon.AddDate(0, 0, 1), noon.AddDate(0, 0, 1)
	foreign.Account = "acc_b"
	unpriced := entry(7) // its end was seen, and it has no price
	unpriced.Unpriced, unpriced.AtMost = unpriced.Unpriced.With(llm.Maps), unpriced.Cost+5000
	apply(t, f, newTape().next(nil, unpriced, seen, gone, more, died, late, foreign))
	b := report.UnseenSum{Account: "acc_b", Attempts: 1, Uncertain: 1000, First: "2026-11-21"}
	for _, test := range []struct {
		name    string
		resolve *ledger.Entry
		want    []report.UnseenSum
	}{
		{"none resolved", nil, []report.UnseenSum{
			{Account: "acc_a", Attempts: 4, Uncertain: 8000, First: "2026-11-21"},
			b,
		}},
		{
			"one whose end was seen resolved", &unpriced,
			[]report.UnseenSum{{Account: "acc_a", Attempts: 4, Uncertain: 3000, First: "2026-11-21"}, b},
		},
		{"an estimate resolved", &gone, []report.UnseenSum{{
			Account: "acc_a", Attempts: 3, Uncertain: 2000,
			First: "2026-11-21",
		}, b}},
		{"an unknown resolved", &died, []report.UnseenSum{{
			Account: "acc_a", Attempts: 2, Uncertain: 2000,
			First: "2026-11-21",
		}, b}},
		{"all of a day resolved", &more, []report.UnseenSum{{
			Account: "acc_a", Attempts: 1, Uncertain: 1000,
			First: "2026-11-22",
		}, b}},
		{"all of an account resolved", &foreign, []report.UnseenSum{{
			Account: "acc_a", Attempts: 1, Uncertain: 1000,
			First: "2026-11-22",
		}}},
	} {
		if test.resolve != nil {
			if err := f.Corrections.Resolve(t.Context(), audit.Gateway(), test.resolve.ID, 7, false); err != nil {
				t.Fatalf("%s: %v", test.name, err)
			}
		}
		got, err := f.Reports.Unseen(t.Context(), "", "")
		if diff := cmp.Diff(got, test.want); diff != "" || err != nil {
			t.Errorf("%s: %v (-got +want):\n%s", test.name, err, diff)
		}
	}
	if got, err := f.Reports.Unseen(t.Context(), "", "2026-11-21"); err != nil || len(got) != 0 {
		t.Errorf("up to the first day: got %+v, %v; want none", got, err)
	}
	if _, err := f.Reports.Unseen(t.Context(), "soon", ""); err == nil {
		t.Error("from soon: got no error, want one")
	}
	if page := uses(t, f, report.UsesQuery{Account: "acc_a"}); page.Total.Uncertain != 1000 {
		t.Errorf("uses: got %s uncertain in all, want 1000 nano-dollars", page.Total.Uncertain)
	}
}

// testExportNames checks that exports have the names of account and key next to their ids, empty if they are deleted.
func testExportNames(t *testing.T, f *fixture) {
	create(t, f, "a")
	k := newKey("key_a", "acc_a")
	createKey(t, f, k)
	gone := entry(2)
	gone.Account, gone.Key = "acc_x", "key_x"
	apply(t, f, newTape().next(nil, entry(1), gone))
	got := map[string][2]string{}
	err := f.Reports.Export(t.Context(), report.ExportQuery{}, func(e *report.Exported) error {
		got[e.Account] = [2]string{e.AccountName, e.KeyLabel}
		if e.Price.Rates != price().Rates {
			t.Errorf("price of %s: got %+v, want that of its version", e.ID, e.Price)
		}
		return nil
	})
	if diff := cmp.Diff(got, map[string][2]string{"acc_a": {"a", k.Label}, "acc_x": {}}); diff != "" || err != nil {
		t.Errorf("names: %v (-got +want):\n%s", err, diff)
	}
}

// testReplayed settles an attempt in a batch again, and checks that it counts once.
func testReplayed(t *testing.T, f *fixture) {
	j := newTape()
	batches := []*ledger.Batch{j.next([]ledger.Attempt{attempt(1)}, entry(2)), j.next(nil, entry(1), entry(3))}
	for _, b := range batches {
		apply(t, f, b)
	}
	again := *batches[1]
	again.From, again.To = batches[1].To, batches[1].To+1
	apply(t, f, &again) // it is settled already
	v := overview(t, f, report.OverviewQuery{Account: "acc_a", From: "2026-11-21", To: "2026-11-21"})
	if n := v.Total.Speed.Answers(); n != 3 || v.Total.Attempts != 3 {
		t.Errorf("got %d times of %d attempts, want 3 of 3", n, v.Total.Attempts)
	}
	list, _, err := f.Reports.Requests(t.Context(), report.RequestsQuery{Account: "acc_a", Limit: 10})
	if err != nil || len(list) != 3 {
		t.Errorf("got %d requests, %v; want 3", len(list), err)
	}
}
