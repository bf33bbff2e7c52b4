package alert_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"weir/internal/alert"
	"weir/internal/budget"
	"weir/internal/llm"
	"weir/internal/must"
)

var noon = time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC) // the middle of a month

// TestAlertFiresOnceUntilItHasEnded checks that a value near its limit fires once, and again only after it was clearly
// below.
func TestAlertFiresOnceUntilItHasEnded(t *testing.T) {
	t.Parallel()
	var active []alert.Alert
	var got []string
	for i, value := range []int64{99, 100, 250, 99, 81, 100, 80, 100} {
		now := noon.Add(time.Duration(i) * time.Minute)
		c := alert.Condition{Source: alert.Source{Kind: alert.KeyRefusals, Account: "a", Subject: "k"}, Value: value, Limit: 100}
		fired, ended := alert.Decide(active, []alert.Condition{c}, now)
		switch {
		case len(fired) == 1:
			got, active = append(got, "fired"), fired
		case len(ended) == 1:
			must.Equal(t, *ended[0].Ended, now, "when it ended")
			got, active = append(got, "ended"), nil
		default:
			got = append(got, "")
		}
	}
	if text := strings.Join(got, ","); text != ",fired,,,,,ended,fired" {
		t.Errorf("got %s", text)
	}
}

// TestAlertEndsWithoutItsCondition checks that an alert ends if its condition is gone or switched off, and that others
// go on.
func TestAlertEndsWithoutItsCondition(t *testing.T) {
	t.Parallel()
	of := func(subject string, limit int64) alert.Condition {
		return alert.Condition{Source: alert.Source{Kind: alert.UnpricedUsage, Subject: subject}, Value: 5, Limit: limit}
	}
	active, _ := alert.Decide(nil, []alert.Condition{of("gone", 1), of("off", 1), of("stays", 1)}, noon)
	must.Equal(t, len(active), 3, "alerts that fire")
	fired, ended := alert.Decide(active, []alert.Condition{of("off", 0), of("stays", 1)}, noon)
	if len(fired) != 0 || len(ended) != 2 || ended[0].Subject != "gone" || ended[1].Subject != "off" {
		t.Errorf("got %v that fire and %v that end", fired, ended)
	}
}

// TestActiveAlertsAreBounded checks that a flood of conditions does not fire without bound.
func TestActiveAlertsAreBounded(t *testing.T) {
	t.Parallel()
	var all []alert.Condition
	for i := range alert.MostActive + 5 {
		of := alert.Source{Kind: alert.KeyRefusals, Account: fmt.Sprint(i / 10), Subject: fmt.Sprint(i)}
		all = append(all, alert.Condition{Source: of, Value: 1, Limit: 1})
	}
	fired, _ := alert.Decide(nil, all, noon)
	must.Equal(t, len(fired), alert.MostActive, "alerts")
	again, _ := alert.Decide(fired, all, noon)
	must.Equal(t, len(again), 0, "alerts beyond the bound")
}

// TestAccountsHaveSharesOfAlerts checks that an account with many conditions leaves alerts to others and to other kinds
// of its own, and that an alert that ends makes room for the next one.
func TestAccountsHaveSharesOfAlerts(t *testing.T) {
	t.Parallel()
	condition := func(kind alert.Kind, account string, n int) alert.Condition {
		return alert.Condition{Source: alert.Source{Kind: kind, Account: account, Subject: fmt.Sprint(n)}, Value: 1, Limit: 1}
	}
	var all []alert.Condition
	for i := range 2 * alert.MostOfAccount {
		all = append(all, condition(alert.KeyRefusals, "a", i))
	}
	all = append(all, condition(alert.BudgetForecast, "a", 0), condition(alert.KeyRefusals, "b", 0), condition(alert.UnpricedUsage, "", 0))
	fired, _ := alert.Decide(nil, all, noon)
	got := map[alert.Source]int{}
	for _, a := range fired {
		got[alert.Source{Kind: a.Kind, Account: a.Account}]++
	}
	want := map[alert.Source]int{
		{Kind: alert.KeyRefusals, Account: "a"}: alert.MostOfAccount, {Kind: alert.BudgetForecast, Account: "a"}: 1,
		{Kind: alert.KeyRefusals, Account: "b"}: 1, {Kind: alert.UnpricedUsage}: 1,
	}
	must.Equal(t, got, want, "alerts that fire")
	next, ended := alert.Decide(fired, all[1:], noon)
	if len(next) != 1 || len(ended) != 1 || next[0].Account != "a" {
		t.Errorf("after the end of one: got %v, %v, want the next one of its account", next, ended)
	}
}

func usual() alert.Rules {
	return alert.Rules{
		BudgetPercent: 100, SpendFactor: 3, SpendLeast: 10 * llm.USD, ErrorPercent: 25, ErrorLeast: 50, Refusals: 100,
		Unpriced: 1, PricesDays: 90,
	}
}

// TestRulesCompareFacts checks the value of each kind on both sides of its limit.
func TestRulesCompareFacts(t *testing.T) {
	t.Parallel()
	month := func(spent llm.Money) alert.Facts {
		return alert.Facts{Budgets: []alert.Budget{{Account: "a", Period: budget.PeriodMonth, Limit: 100 * llm.USD, Spent: spent}}}
	}
	spend := func(hour, usual llm.Money) alert.Facts {
		return alert.Facts{Spend: []alert.Spend{{Account: "a", Hour: hour, Usual: usual}}}
	}
	failed := func(attempts, failed int64) alert.Facts {
		return alert.Facts{Errors: []alert.Errors{{Account: "a", Attempts: attempts, Failed: failed}}}
	}
	for _, tt := range []struct {
		name  string
		facts alert.Facts
		kind  alert.Kind
		value int64 // 0 for no condition, or one of 0
		fires bool
	}{
		{"a budget that lasts", month(50 * llm.USD), alert.BudgetForecast, 96, false}, // 15.5 of 30 days
		{"a budget that does not last", month(52 * llm.USD), alert.BudgetForecast, 100, true},
		{"spending as usual", spend(59*llm.USD, 20*llm.USD), alert.SpendJump, 295, false},
		{"a jump", spend(60*llm.USD, 20*llm.USD), alert.SpendJump, 300, true},
		{"a jump of cents", spend(llm.USD, 0), alert.SpendJump, 10, false},
		{"a jump from nothing", spend(30*llm.USD, 0), alert.SpendJump, 300, true},
		{"few failures", failed(100, 24), alert.ErrorRate, 24, false},
		{"many failures", failed(100, 25), alert.ErrorRate, 25, true},
		{"few attempts", failed(49, 49), alert.ErrorRate, 0, false},
		{"refusals", alert.Facts{Refusals: []alert.Refusals{{Account: "a", Key: "k", Count: 100}}}, alert.KeyRefusals, 100, true},
		{"few refusals", alert.Facts{Refusals: []alert.Refusals{{Account: "a", Key: "k", Count: 99}}}, alert.KeyRefusals, 99, false},
		{"a model without a price", alert.Facts{Unpriced: []alert.Unpriced{{Model: "house/m", Count: 1}}}, alert.UnpricedUsage, 1, true},
		{"prices of today", alert.Facts{Prices: noon}, alert.PricesOld, 0, false},
		{"old prices", alert.Facts{Prices: noon.AddDate(0, 0, -90)}, alert.PricesOld, 90, true},
		{"unknown prices", alert.Facts{}, alert.PricesOld, 0, false},
	} {
		rules := usual()
		all := rules.Conditions(&tt.facts, noon)
		value := int64(0)
		for _, c := range all {
			if c.Kind == tt.kind {
				value = c.Value
			}
		}
		fired, _ := alert.Decide(nil, all, noon)
		if value != tt.value || len(fired) == 1 != tt.fires {
			t.Errorf("%s: got %d, %d fire, want %d, %t", tt.name, value, len(fired), tt.value, tt.fires)
		}
		off := alert.Rules{}
		if all := off.Conditions(&tt.facts, noon); len(all) != 0 {
			t.Errorf("%s: got %v, want nothing without limits", tt.name, all)
		}
	}
}

// TestForecastWaitsForATenthOfThePeriod checks that the first hours of a month fire nothing.
func TestForecastWaitsForATenthOfThePeriod(t *testing.T) {
	t.Parallel()
	rules := usual()
	f := alert.Facts{Budgets: []alert.Budget{{Account: "a", Period: budget.PeriodMonth, Limit: 100 * llm.USD, Spent: 99 * llm.USD}}}
	first := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	if all := rules.Conditions(&f, first.Add(71*time.Hour)); len(all) != 0 {
		t.Errorf("got %v before a tenth of the month, want nothing", all)
	}
	if all := rules.Conditions(&f, first.Add(72*time.Hour)); len(all) != 1 || all[0].Value != 990 {
		t.Errorf("got %v after a tenth of the month, want 990 %%", all)
	}
}
