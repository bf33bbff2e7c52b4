package alert_test

import (
	"fmt"
	"testing"

	"weir/internal/alert"
	"weir/internal/must"
)

// TestAccountsHaveAlertsByTheirOwnLimits checks that an account's limit replaces the installation's for the account
// alone, also if the installation has the kind switched off.
func TestAccountsHaveAlertsByTheirOwnLimits(t *testing.T) {
	t.Parallel()
	of := func(account string, count int64) alert.Refusals {
		return alert.Refusals{Account: account, Key: "k", Count: count}
	}
	for _, tt := range []struct {
		name   string
		limit  int64 // of the installation
		limits alert.Limits
		fired  string // account and whether it is its own
	}{
		{"no limit of its own", 10, alert.Limits{}, "[a false a true]"},
		{"a lower limit", 100, alert.Limits{alert.KeyRefusals: 5}, "[a true]"},
		{"a higher limit", 10, alert.Limits{alert.KeyRefusals: 50}, "[a false]"},
		{"switched off", 10, alert.Limits{alert.KeyRefusals: 0}, "[a false]"},
		{"switched on", 0, alert.Limits{alert.KeyRefusals: 5}, "[a true]"},
		{"another kind", 10, alert.Limits{alert.ErrorRate: 5}, "[a false a true]"},
	} {
		rules := alert.Rules{Refusals: tt.limit}
		facts := alert.Facts{Refusals: []alert.Refusals{of("a", 20)}}
		facts.Own = alert.Own{Limits: map[string]alert.Limits{"a": tt.limits}, Facts: &alert.Facts{Refusals: facts.Refusals}}
		fired, _ := alert.Decide(nil, rules.AllConditions(&facts, noon), noon)
		var got []string
		for _, a := range fired {
			got = append(got, fmt.Sprint(a.Account, " ", a.Own))
		}
		must.Equal(t, fmt.Sprint(got), tt.fired, "%s", tt.name)
	}
}

// TestWidestRulesHaveLowestLimits checks that facts are read down to the lowest limit of any account.
func TestWidestRulesHaveLowestLimits(t *testing.T) {
	t.Parallel()
	own := alert.Own{Limits: map[string]alert.Limits{
		"a": {alert.KeyRefusals: 5, alert.ErrorRate: 0, alert.SpendJump: 250}, "b": {alert.KeyRefusals: 3, alert.ErrorRate: 40},
	}}
	rules := usual()
	got := own.Widest(&rules)
	want := alert.Rules{Refusals: 3, ErrorPercent: 40, SpendFactor: 2, SpendLeast: rules.SpendLeast, ErrorLeast: rules.ErrorLeast}
	must.Equal(t, got, want, "rules")
}

// TestLimitsOfAccountsAreChecked checks which limits an account can set.
func TestLimitsOfAccountsAreChecked(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		kind  alert.Kind
		limit int64
		ok    bool
	}{
		{alert.KeyRefusals, 0, true},
		{alert.KeyRefusals, alert.MostLimit, true},
		{alert.KeyRefusals, alert.MostLimit + 1, false},
		{alert.KeyRefusals, -1, false},
		{alert.SpendJump, 99, false},
		{alert.SpendJump, 100, true},
		{alert.ErrorRate, 100, true},
		{alert.ErrorRate, 101, false}, // never reached
		{alert.PricesOld, 1, false},
		{alert.Kind("sun"), 1, false},
	} {
		if err := alert.CheckLimit(tt.kind, tt.limit); (err == nil) != tt.ok {
			t.Errorf("%s %d: got %v, want it accepted: %t", tt.kind, tt.limit, err, tt.ok)
		}
	}
}
