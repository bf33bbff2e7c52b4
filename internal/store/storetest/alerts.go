package storetest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/alert"
	"weir/internal/budget"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/store"
	"weir/internal/webhook"
)

// alertRules returns limits in billionths of a US dollar.
func alertRules() *alert.Rules {
	return &alert.Rules{
		BudgetPercent: 100, SpendFactor: 3, SpendLeast: 10, ErrorPercent: 25, ErrorLeast: 2, Refusals: 4, Unpriced: 1,
		PricesDays: 90,
	}
}

// testAlertFacts checks the facts of each kind of alert, and that those far below a limit are left out.
func testAlertFacts(t *testing.T, f *fixture) {
	budgeted(t, f, 20_000, budget.PeriodMonth)
	at := func(e ledger.Entry, came time.Time) ledger.Entry {
		e.Opened, e.Arrived = came, came
		return e
	}
	failed, unpriced, low, stored := costing(7, 0), costing(8, 1), costing(9, 9), costing(10, 0)
	failed.Outcome, stored.Cached.Hit = ledger.OutcomeFailed, true // a stored answer is no attempt at a provider
	unpriced.Model, unpriced.Price, unpriced.Cost = "new", llm.Price{}, 0
	unpriced.Unpriced = unpriced.Price.Unpriced(&unpriced.Usage, "")
	low.Account, low.Key = "acc_b", "key_b"
	apply(t, f, newTape().costing(costing(1, 60), at(costing(2, 20), noon.AddDate(0, 0, -7)),
		at(costing(3, 15), noon.AddDate(0, 0, -1)), at(costing(4, 900), noon.AddDate(0, 0, -8)),
		at(costing(5, 800), noon.Add(-time.Hour)), at(costing(6, 3), noon.Add(2*time.Hour)), failed, unpriced, low, stored))
	r := f.recorder(f.DB)
	for i := range 5 {
		r.Add(refused(noon.Add(time.Duration(i)*time.Second), "acc_a", "key_a", "m", llm.CodeRateLimited))
	}
	r.Add(refused(noon, "acc_b", "key_b", "m", llm.CodeRateLimited))
	r.Add(refused(noon.Add(-2*time.Hour), "acc_a", "key_a", "m", llm.CodeRateLimited))
	must.Do(t, r.Flush(t.Context()))
	now := time.Date(2026, 11, 21, 13, 5, 0, 0, time.UTC)
	got := must.Get(f.Alerts.Facts(t.Context(), alertRules(), now))(t)
	want := alert.Facts{
		Budgets:  []alert.Budget{{Account: "acc_a", Period: budget.PeriodMonth, Limit: 20_000, Spent: 1798}},
		Spend:    []alert.Spend{{Account: "acc_a", Hour: 60, Usual: 20}},
		Errors:   []alert.Errors{{Account: "acc_a", Attempts: 3, Failed: 1}},
		Refusals: []alert.Refusals{{Account: "acc_a", Key: "key_a", Count: 5}},
		Unpriced: []alert.Unpriced{{Model: "openai/new", Count: 1}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("facts (-want +got)\n%s", diff)
	}
	higher := alertRules()
	higher.BudgetPercent = 200
	if got := must.Get(f.Alerts.Facts(t.Context(), higher, now))(t); got.Budgets != nil {
		t.Errorf("got %+v, of which too little is spent", got.Budgets)
	}
	if off := must.Get(f.Alerts.Facts(t.Context(), &alert.Rules{}, now))(t); cmp.Diff(off, alert.Facts{}) != "" {
		t.Errorf("got %+v, want nothing without limits", off)
	}
}

// testAlertFactsShared checks that an account with many refused keys leaves facts to others.
func testAlertFactsShared(t *testing.T, f *fixture) {
	r := f.recorder(f.DB)
	rules := &alert.Rules{Refusals: 1}
	for i := range 2*alert.MostOfAccount + 5 {
		for range 2 {
			r.Add(refused(noon, "acc_a", fmt.Sprint("key_", i), "m", llm.CodeRateLimited))
		}
	}
	r.Add(refused(noon, "acc_b", "key_b", "m", llm.CodeRateLimited))
	must.Do(t, r.Flush(t.Context()))
	facts := must.Get(f.Alerts.Facts(t.Context(), rules, noon.Add(time.Minute)))(t)
	got := map[string]int{}
	for _, x := range facts.Refusals {
		got[x.Account]++
	}
	must.Equal(t, got, map[string]int{"acc_a": 2 * alert.MostOfAccount, "acc_b": 1}, "facts of accounts")
}

// testAlerts checks that an alert fires once on several nodes and after a restart, reaches the endpoints concerned, and
// fires again after it has ended. Account and installation have an alert each.
func testAlerts(t *testing.T, f *fixture) {
	create(t, f, "a", "b")
	endpoint(t, f, "w1", "acc_a")
	endpoint(t, f, "w2", "")
	endpoint(t, f, "w3", "acc_b")
	of := alert.Condition{Source: alert.Source{Kind: alert.SpendJump, Account: "acc_a"}, Value: 400, Limit: 300, Text: "Much."}
	own := of
	own.Own = true
	old := alert.Condition{Source: alert.Source{Kind: alert.PricesOld}, Value: 90, Limit: 90, Text: "Old."}
	var fires atomic.Int64
	var nodes sync.WaitGroup
	for range 4 {
		nodes.Go(func() {
			fired, _, err := f.open(t).Alerts.Write(t.Context(), []alert.Condition{of, own, old}, f.clock())
			must.Do(t, err)
			fires.Add(int64(len(fired)))
		})
	}
	nodes.Wait()
	must.Equal(t, fires.Load(), int64(3), "alerts that fire on four nodes")
	f.advance(time.Minute)
	write := func(s *store.DB, all ...alert.Condition) (int, int) {
		fired, ended, err := s.Alerts.Write(t.Context(), all, f.clock())
		must.Do(t, err)
		return len(fired), len(ended)
	}
	step := func(what string, fired, ended int, wantFired, wantEnded int) {
		if fired != wantFired || ended != wantEnded {
			t.Errorf("%s: %d fire and %d end, want %d and %d", what, fired, ended, wantFired, wantEnded)
		}
	}
	fired, ended := write(f.open(t), of, own, old)
	step("after a restart", fired, ended, 0, 0)
	fired, ended = write(f.DB, old)
	step("without its condition", fired, ended, 0, 2)
	fired, ended = write(f.DB, of, own, old)
	step("again", fired, ended, 2, 0)
	sent := []webhook.Type{webhook.AlertFired, webhook.AlertEnded, webhook.AlertFired}
	must.Equal(t, typesOf(t, f, "w1"), sent, "events of the account's endpoint")
	must.Equal(t, typesOf(t, f, "w2"), append([]webhook.Type{webhook.AlertFired}, sent...), "events of the installation's")
	must.Equal(t, len(typesOf(t, f, "w3")), 0, "events of another account's")
	latest := must.Get(f.Alerts.Latest(t.Context(), store.AlertQuery{Account: "acc_a"}))(t)
	if len(latest) != 2 || latest[0].Ended != nil || latest[1].Ended == nil || latest[0].Text != "Much." {
		t.Errorf("got %+v, want an active alert and one that has ended", latest)
	}
	last := must.Get(f.Alerts.LastFired(t.Context(), store.AlertQuery{}))(t)
	if !last[alert.SpendJump].Equal(f.clock()) || last[alert.ErrorRate] != (time.Time{}) {
		t.Errorf("last fired: got %v", last)
	}
	another := must.Get(f.Alerts.LastFired(t.Context(), store.AlertQuery{Account: "acc_b"}))(t)
	must.Equal(t, len(another), 0, "kinds that fired for another account")
	f.advance(alert.KeepFor + time.Hour)
	write(f.DB, of)
	must.Equal(t, len(must.Get(f.Alerts.Latest(t.Context(), store.AlertQuery{}))(t)), 2, "alerts after the old one was deleted")
}

// testAlertsClaimed checks that one node evaluates at a time, and another one after the lease.
func testAlertsClaimed(t *testing.T, f *fixture) {
	other := f.open(t)
	claim := func(s *store.DB) bool {
		now, mine, err := s.Alerts.Claim(t.Context(), time.Minute)
		must.Do(t, err)
		must.Equal(t, now, f.clock(), "the shared time")
		return mine
	}
	got := []bool{claim(f.DB), claim(other), claim(f.DB)}
	f.advance(time.Minute)
	got = append(got, claim(other), claim(f.DB))
	f.advance(-time.Hour) // the claim came from a wrong clock
	got = append(got, claim(f.DB))
	must.Equal(t, got, []bool{true, false, false, true, false, true}, "claims")
}
