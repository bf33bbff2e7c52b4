package storetest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/budget"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/webhook"
)

// perMonth returns a budget for each end user, and other limits for each value of a tag.
func perMonth(limit llm.Money) []account.Per {
	return []account.Per{
		{Budget: account.Budget{Limit: limit, Period: budget.PeriodMonth}},
		{Tag: "team", Limits: account.Limits{RPM: 7}, Budget: account.Budget{Limit: 5, Period: budget.PeriodDay}},
	}
}

func setPer(t *testing.T, f *fixture, list []account.Per) account.Account {
	t.Helper()
	return must.Get(f.Accounts.UpdateAccount(t.Context(), ann(), "acc_a", account.Update{Per: &list}))(t)
}

// testPer stores the limits of each end user, and of each value of a tag, of accounts and keys.
func testPer(t *testing.T, f *fixture) {
	create(t, f, "a")
	if a := setPer(t, f, perMonth(9)); !cmp.Equal(a.Per, perMonth(9)) {
		t.Errorf("of an account: %s", cmp.Diff(a.Per, perMonth(9)))
	}
	k := newKey("key_1", "acc_a")
	k.Per = perMonth(3)
	must.Do(t, f.Accounts.CreateKey(t.Context(), ann(), k, account.Hash{1}))
	a, got, err := f.Accounts.KeyByHash(t.Context(), account.Hash{1})
	if err != nil || !cmp.Equal(got, k) || !cmp.Equal(a.Per, perMonth(9)) {
		t.Errorf("of a key: %v, %s, account %+v", err, cmp.Diff(got, k), a.Per)
	}
	one := perMonth(3)[1:]
	must.Get(f.Accounts.UpdateKey(t.Context(), ann(), "key_1", account.KeyUpdate{Per: &one}))(t)
	entries := logged(t, f, audit.Query{Object: "key_1", Limit: 1})
	if len(entries) != 1 || !cmp.Equal(string(entries[0].Before),
		`{"per_user":{"budget_period":"month","budget_usd":"0.000000003"}}`,
		cmp.Transformer("compact", compacted)) {
		t.Errorf("audit log: got %+v, want the removed budget", entries)
	}
	if a := setPer(t, f, nil); len(a.Per) != 0 {
		t.Errorf("removed: got %+v", a.Per)
	}
}

func compacted(text string) (v any) {
	_ = json.Unmarshal([]byte(text), &v) // an invalid text compares as nil
	return v
}

// testParts leases and counts the budgets of end users separately.
func testParts(t *testing.T, f *fixture) {
	a, b := uuid.New(), uuid.New()
	budgeted(t, f, 1000, budget.PeriodMonth, a, b)
	setPer(t, f, perMonth(100))
	endpoint(t, f, "w", "acc_a", webhook.BudgetThreshold, webhook.BudgetExceeded)
	j := &tape{journal: a}
	spend := func(n int, user string, cost llm.Money) {
		e := costing(n, cost)
		e.Attribution.User, e.Parts = user, budget.Parts(0).User(budget.AccountPart)
		apply(t, f, j.costing(e))
	}
	spend(1, "ada", 60)
	spend(2, "bob", 30)
	ada := budget.ID{Scope: budget.UserScope("acc_a", "ada"), Period: theMonth}
	spent(t, f, ada.Scope, theMonth, 60)
	spent(t, f, "acc_a", theMonth, 90)
	first := lease(t, f.DB, budget.LeaseRequest{Journal: a, Budget: ada, Unknown: true, Least: 10, Most: 20})
	if first.Limit != 100 || first.Spent != 60 || first.Granted < 80 {
		t.Errorf("first lease: got %+v, want 60 spent of 100", first)
	}
	if l := lease(t, f.DB, budget.LeaseRequest{
		Journal: b, Budget: ada, Least: 101 - first.Granted,
		Most: 100,
	}); l.Granted != 0 {
		t.Errorf("another node: got %+v, want nothing", l)
	}
	day := budget.ID{Scope: ada.Scope, Period: theDay}
	want := budget.Budget{Scope: ada.Scope, Period: budget.PeriodMonth, Limit: 100}
	if l := lease(t, f.DB, budget.LeaseRequest{Journal: b, Budget: day, Least: 1, Most: 1}); l.Limit != 0 ||
		l.Beside != want {
		t.Errorf("another period: got %+v, want %+v in addition to it", l, want)
	}
	if got := typesOf(t, f, "w"); len(got) != 0 {
		t.Errorf("got the events %v of an end user near the end of a budget", got)
	}
	spend(3, "ada", 41)
	told := deliveries(t, f, webhook.DeliveryQuery{Webhook: "w", Limit: 100})
	if len(told) != 1 || told[0].Type != webhook.BudgetExceeded {
		t.Fatalf("got the events %+v, want that the budget is spent", told)
	}
	jobs := take(t, f, "w", 1)
	var event struct {
		Data struct{ Budget webhook.Budget }
	}
	must.Do(t, json.Unmarshal(jobs[0].Payload, &event))
	if g := event.Data.Budget; g.Of != "user" || g.Part == nil || *g.Part != (webhook.Part{Value: "ada"}) ||
		g.SpentUSD != "0.000000101" {
		t.Errorf("got the events %+v", g)
	}
	shorter := perMonth(100)
	shorter[0].Budget.Period = budget.PeriodDay
	setPer(t, f, shorter)
	others := must.Get(f.Leases.Beat(t.Context(), budget.Node{Journal: b}))(t).Alive > 1
	if l := lease(t, f.DB, budget.LeaseRequest{Journal: b, Budget: day, Least: 1, Most: 1}); l.Changing != others {
		t.Errorf("right after the period was changed: got %+v, want that it is changing where there are others", l)
	}
	must.Do(t, f.Corrections.Correct(t.Context(), ann(), ledger.Correct{
		ID: attempt(3).ID, Amount: -41,
		Reason: "credit note",
	}))
	spent(t, f, ada.Scope, theMonth, 60)
	old := noon.AddDate(0, 0, 2)
	must.Get(f.Ledger.Retain(t.Context(), old, old, nil))(t)
	f.advance(2 * time.Second)
	spent(t, f, ada.Scope, theDay, 60)
	verified(t, f)
	f.advance(80 * 24 * time.Hour)
	must.Do(t, f.Leases.RetainBudgets(t.Context()))
	spent(t, f, ada.Scope, theDay, 0)
	spent(t, f, "acc_a", theDay, 90)
	verified(t, f)
}
