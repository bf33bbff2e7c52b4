package storetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/audit"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/report"
)

// bounded returns an attempt with an unseen end: it may have cost 1000 nano-dollars more than its estimate.
func bounded(n int) ledger.Entry {
	e := entry(n)
	e.Outcome, e.Provenance, e.AtMost = ledger.OutcomeClientGone, ledger.Estimated, e.Cost+1000
	return e
}

func correct(t *testing.T, f *fixture, n int, amount llm.Money) {
	t.Helper()
	if err := f.Corrections.Correct(t.Context(), ann(), ledger.Correct{
		ID: attempt(n).ID, Amount: amount,
		Reason: "credit note",
	}); err != nil {
		t.Fatalf("correct %d by %s: %v", n, amount, err)
	}
}

func spentInAll(t *testing.T, f *fixture, scope string) llm.Money {
	t.Helper()
	got := must.Get(f.Ledger.Spent(t.Context(), scope, 0))(t)
	return got
}

// testCorrect checks that corrections of exact, bounded and unknown rows count everywhere, before and after their
// resolution.
func testCorrect(t *testing.T, f *fixture) {
	exact, open, lost := entry(1), bounded(2), unknown(3)
	apply(t, f, newTape().next(nil, exact, open, lost))
	correct(t, f, 1, -500)
	correct(t, f, 1, -75)
	correct(t, f, 1, 200)
	correct(t, f, 2, -exact.Cost)
	correct(t, f, 3, -1000)
	cost := llm.Money(-375) + exact.Cost + 0 + lost.Cost - 1000
	if page := uses(t, f, report.UsesQuery{Account: "acc_a"}); page.Total.Cost != cost {
		t.Errorf("uses: got %s, want %s", page.Total.Cost, cost)
	}
	for _, scope := range []string{"acc_a", "key_a"} {
		if got, want := spentInAll(t, f, scope), cost+1000; got != want { // the bound counts
			t.Errorf("spent by %s: got %s, want %s", scope, got, want)
		}
	}
	var exported llm.Money
	for _, e := range export(t, f, "") {
		if exported += e.Cost; e.ID == open.ID && e.AtMost != 1000 {
			t.Errorf("export: got at most %s, want the rest of it, %s", e.AtMost, llm.Money(1000))
		}
	}
	if exported != cost {
		t.Errorf("export: got %s, want %s", exported, cost)
	}
	d, _, err := f.Reports.Request(t.Context(), "acc_a", exact.ID.Request)
	must.Do(t, err)
	by := ann()
	note := func(seq int, amount llm.Money) ledger.Correction {
		return ledger.Correction{
			Kind: "amount", Seq: seq, Cost: amount, Reason: "credit note", By: by.String(),
			At: f.clock(),
		}
	}
	must.Equal(t, d.Parts[0].Corrections, []ledger.Correction{
		note(1, -500), note(2, -75),
		note(3, 200),
	}, "corrections")
	var lines llm.Money
	for _, l := range d.Parts[0].Lines {
		lines += l.Amount
	}
	if d.Cost != exact.Cost-375 || lines != d.Cost {
		t.Errorf("the request: got a cost of %s and lines of %s, want %s", d.Cost, lines, exact.Cost-375)
	}
	if got, _, err := f.Reports.Attempt(t.Context(), exact.ID); err != nil || !cmp.Equal(got, exact) {
		t.Errorf("the row itself changed: err %v\n%s", err, cmp.Diff(got, exact))
	}
	verified(t, f)

	// The resolution sets the final cost, including the earlier corrections.
	for n, cost := range map[int]llm.Money{2: 70, 3: 7} {
		must.Do(t, f.Corrections.Resolve(t.Context(), ann(), attempt(n).ID, cost, false))
	}
	correct(t, f, 3, -7)
	if got, want := spentInAll(t, f, "acc_a"), exact.Cost-375+70; got != want {
		t.Errorf("spent in the end: got %s, want %s", got, want)
	}
	verified(t, f)
	must.Get(f.Ledger.Retain(t.Context(), noon.AddDate(0, 0, 1), noon.AddDate(0, 0, 1), nil))(t)
	if v := verified(t, f); v.Rows != 0 {
		t.Errorf("got %d rows, want all deleted and the corrections still in the sums", v.Rows)
	}
	if got, want := spentInAll(t, f, "acc_a"), exact.Cost-375+70; got != want {
		t.Errorf("spent after the rows are deleted: got %s, want %s", got, want)
	}
}

// testCorrectRefused checks invalid corrections.
func testCorrectRefused(t *testing.T, f *fixture) {
	e := entry(1)
	apply(t, f, newTape().next([]ledger.Attempt{attempt(2)}, e))
	id := e.ID
	for name, test := range map[string]struct {
		ask  ledger.Correct
		want error
	}{
		"below 0":     {ledger.Correct{ID: id, Amount: -e.Cost - 1, Reason: "x"}, ledger.ErrAmount},
		"far below 0": {ledger.Correct{ID: id, Amount: -1 << 63, Reason: "x"}, ledger.ErrAmount},
		"more than there is": {
			ledger.Correct{ID: id, Amount: llm.MaxCost - e.Cost + 1, Reason: "x"},
			ledger.ErrAmount,
		},
		"far more":         {ledger.Correct{ID: id, Amount: 1<<63 - 1, Reason: "x"}, ledger.ErrAmount},
		"nothing":          {ledger.Correct{ID: id, Reason: "x"}, ledger.ErrAmount},
		"without a reason": {ledger.Correct{ID: id, Amount: -1, Reason: " "}, ledger.ErrReason},
		"a long reason": {
			ledger.Correct{ID: id, Amount: -1, Reason: strings.Repeat("ü", 501)},
			ledger.ErrReason,
		},
		"a reason in lines": {ledger.Correct{ID: id, Amount: -1, Reason: "a\nb"}, ledger.ErrReason},
		"under way":         {ledger.Correct{ID: attempt(2).ID, Amount: 1, Reason: "x"}, ledger.ErrOpen},
		"no attempt":        {ledger.Correct{ID: attempt(9).ID, Amount: 1, Reason: "x"}, ledger.ErrNoAttempt},
		"of somebody else":  {ledger.Correct{ID: id, Account: "acc_b", Amount: 1, Reason: "x"}, ledger.ErrNoAttempt},
		"another number of it": {ledger.Correct{
			ID: ledger.AttemptID{Request: id.Request, N: 2}, Amount: 1,
			Reason: "x",
		}, ledger.ErrNoAttempt},
	} {
		if err := f.Corrections.Correct(t.Context(), ann(), test.ask); !errors.Is(err, test.want) {
			t.Errorf("%s: got %v, want %v", name, err, test.want)
		}
	}
	if got := logged(t, f, audit.Query{Limit: 1}); len(got) != 0 {
		t.Errorf("the audit log: got %+v, want no entry", got)
	}
	for range ledger.MaxCorrections {
		correct(t, f, 1, -1)
	}
	err := f.Corrections.Correct(t.Context(), ann(), ledger.Correct{ID: id, Account: "acc_a", Amount: -1, Reason: "x"})
	if !errors.Is(err, ledger.ErrCorrections) {
		t.Errorf("one more than there can be: got %v, want %v", err, ledger.ErrCorrections)
	}
	verified(t, f)
}

// testCorrectAtOnce subtracts from one attempt concurrently, and checks that the sum does not exceed its cost.
func testCorrectAtOnce(t *testing.T, f *fixture) {
	e := entry(1)
	apply(t, f, newTape().next(nil, e))
	var all sync.WaitGroup
	var mu sync.Mutex
	taken := 0
	other := f.open(t)
	for i := range 8 {
		all.Go(func() {
			to := f.DB
			if i%2 == 0 {
				to = other
			}
			err := to.Corrections.Correct(t.Context(), ann(), ledger.Correct{
				ID: e.ID, Amount: -e.Cost / 3,
				Reason: fmt.Sprint(i),
			})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				taken++
			case !errors.Is(err, ledger.ErrAmount):
				t.Errorf("correct: got %v, want none or %v", err, ledger.ErrAmount)
			}
		})
	}
	all.Wait()
	if got, want := spentInAll(t, f, "acc_a"), e.Cost-3*(e.Cost/3); taken != 3 || got != want {
		t.Errorf("got %d corrections, %s spent; want 3, %s", taken, got, want)
	}
	verified(t, f)
}

func older(t *testing.T, f *fixture, q ledger.ResolveQuery) ledger.Resolution {
	t.Helper()
	if q.Before.IsZero() {
		q.Before = noon.Add(time.Hour)
	}
	got, err := f.Corrections.ResolveOlder(t.Context(), ann(), q, nil)
	if err != nil {
		t.Fatalf("resolve %+v: %v", q, err)
	}
	return got
}

// testResolveOlder resolves by each rule the old attempts of an account, and no others.
func testResolveOlder(t *testing.T, f *fixture) {
	j := newTape()
	exact, first, second, foreign, young, lost := entry(1), bounded(2), bounded(3), bounded(4), bounded(5), unknown(6)
	foreign.Account = "acc_b"
	second.Arrived = noon.AddDate(0, 0, -40)
	second.Opened = second.Arrived
	young.Opened = noon.Add(2 * time.Hour)
	apply(t, f, j.next([]ledger.Attempt{attempt(7)}, exact, first, second, foreign, young, lost))
	correct(t, f, 3, -second.Cost)
	all := spentInAll(t, f, "acc_a")

	want := ledger.Resolution{
		Attempts: 4, Cost: 2*first.Cost + lost.Cost, AtMost: 2*first.Cost + lost.Cost + 3000,
		Decided: 2*first.Cost + lost.Cost + 3000,
	}
	if got := older(t, f, ledger.ResolveQuery{Rule: ledger.RuleAtMost, DryRun: true}); got != want {
		t.Errorf("dry run: got %+v, want %+v", got, want)
	}
	if got := spentInAll(t, f, "acc_a"); got != all ||
		len(logged(t, f, audit.Query{Action: audit.AttemptResolved, Limit: 1})) != 0 {
		t.Errorf("after a dry run: got %s spent, want %s and no entry in the audit log", got, all)
	}

	want = ledger.Resolution{Attempts: 1, Cost: foreign.Cost, AtMost: foreign.Cost + 1000, Decided: foreign.Cost}
	if got := older(t, f, ledger.ResolveQuery{Rule: ledger.RuleEstimate, Account: "acc_b"}); got != want {
		t.Errorf("the estimate, of one account: got %+v, want %+v", got, want)
	}
	if got := spentInAll(t, f, "acc_b"); got != foreign.Cost {
		t.Errorf("at the estimate: got %s spent, want %s", got, foreign.Cost)
	}

	want = ledger.Resolution{Attempts: 1, AtMost: 1000}
	if got := older(t, f, ledger.ResolveQuery{Rule: ledger.RuleRelease, Before: noon.AddDate(0, 0, -7)}); got != want {
		t.Errorf("release, the old one: got %+v, want %+v", got, want)
	}
	if got := spentInAll(t, f, "acc_a"); got != all-1000 {
		t.Errorf("after a release: got %s spent, want %s", got, all-1000)
	}

	var progress [][2]int64
	got, err := f.Corrections.ResolveOlder(t.Context(), ann(), ledger.ResolveQuery{
		Rule:   ledger.RuleAtMost,
		Before: noon.Add(time.Hour),
	},
		func(done, total int64) { progress = append(progress, [2]int64{done, total}) })
	want = ledger.Resolution{
		Attempts: 2, Cost: first.Cost + lost.Cost, AtMost: first.Cost + lost.Cost + 1000,
		Decided: first.Cost + lost.Cost + 1000,
	}
	if err != nil || got != want || !cmp.Equal(progress, [][2]int64{{2, 2}}) {
		t.Errorf("at most: got %+v, %v, progress %v; want %+v", got, err, progress, want)
	}
	if got := spentInAll(t, f, "acc_a"); got != all-1000 { // the bounds are the cost now
		t.Errorf("at the bounds: got %s spent, want %s", got, all-1000)
	}
	if got := older(t, f, ledger.ResolveQuery{Rule: ledger.RuleRelease}); got != (ledger.Resolution{}) {
		t.Errorf("again: got %+v, want nothing left", got)
	}
	entries := logged(t, f, audit.Query{Action: audit.AttemptResolved, Limit: 10})
	if len(entries) != 4 || !strings.Contains(string(entries[0].After), `"reason":"at_most"`) {
		t.Errorf("the audit log: got %d entries %+v, want one for each attempt, with its rule", len(entries), entries)
	}
	verified(t, f)
	if got := older(t, f, ledger.ResolveQuery{
		Rule:   ledger.RuleEstimate,
		Before: noon.Add(3 * time.Hour),
	}); got.Attempts != 1 {
		t.Errorf("the young one, later: got %+v, want one", got)
	}
	verified(t, f)
}

// testResolveOlderSeen checks that no rule changes an attempt with a seen end but without a price, because the
// provider's numbers remain. It can be resolved by hand.
func testResolveOlderSeen(t *testing.T, f *fixture) {
	seen, assumed := entry(1), entry(2)
	for _, e := range []*ledger.Entry{&seen, &assumed} {
		e.Unpriced, e.AtMost = e.Unpriced.With(llm.Maps), e.Cost+5000
	}
	assumed.Provenance = ledger.Assumed
	cheap := entry(3) // its end was not seen, and it cannot have cost more
	cheap.Outcome, cheap.Provenance, cheap.AtMost = ledger.OutcomeClientGone, ledger.Estimated, 0
	gone := cheap
	gone.ID.Request, gone.AtMost = entry(4).ID.Request, cheap.Cost+1000
	apply(t, f, newTape().next(nil, seen, assumed, cheap, gone))
	want := ledger.Resolution{Attempts: 1, Cost: gone.Cost, AtMost: gone.Cost + 1000}
	if got := older(t, f, ledger.ResolveQuery{Rule: ledger.RuleRelease}); got != want {
		t.Errorf("release: got %+v, want %+v", got, want)
	}
	for _, id := range []ledger.AttemptID{seen.ID, assumed.ID} {
		if err := f.Corrections.Resolve(t.Context(), ann(), id, 7, false); err != nil {
			t.Errorf("by hand: %v", err)
		}
	}
	if err := f.Corrections.Resolve(t.Context(), ann(), cheap.ID, 7, false); !errors.Is(err, ledger.ErrKnown) {
		t.Errorf("a correction above the possible cost: got %v, want %v", err, ledger.ErrKnown)
	}
	if got, want := spentInAll(t, f, "acc_a"), cheap.Cost+14; got != want {
		t.Errorf("in the end: got %s spent, want %s", got, want)
	}
	verified(t, f)
}

// testResolveOlderAtOnce resolves more attempts than one transaction in two concurrent calls, and checks that each is
// resolved once.
func testResolveOlderAtOnce(t *testing.T, f *fixture) {
	const many = 250
	j := newTape()
	var list []ledger.Entry
	for i := range many {
		e := bounded(i)
		e.Key = fmt.Sprint("key_", i%3)
		if i%2 == 0 {
			e.ID = ledger.AttemptID{Request: attempt(i + 1).ID.Request, N: 2}
		}
		list = append(list, e)
	}
	apply(t, f, j.next(nil, list...))
	other := f.open(t)
	var all sync.WaitGroup
	var got [2]ledger.Resolution
	for i, rule := range []ledger.Rule{ledger.RuleEstimate, ledger.RuleRelease} {
		all.Go(func() {
			to := f.DB
			if i == 1 {
				to = other
			}
			var err error
			if got[i], err = to.Corrections.ResolveOlder(t.Context(), ann(), ledger.ResolveQuery{
				Rule:   rule,
				Before: noon.Add(time.Hour),
			}, nil); err != nil {
				t.Errorf("resolve: %v", err)
			}
		})
	}
	all.Wait()
	if n := got[0].Attempts + got[1].Attempts; n != many {
		t.Errorf("got %d and %d attempts resolved, want %d in all", got[0].Attempts, got[1].Attempts, many)
	}
	if got, want := spentInAll(t, f, "acc_a"), got[0].Decided+got[1].Decided; got != want {
		t.Errorf("spent: got %s, want %s", got, want)
	}
	verified(t, f)
}
