package plan_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/budget"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/plan"
	"weir/internal/pricing"
	"weir/internal/ratelimit"
	"weir/internal/route"
)

// certainty returns which requests a plan is certain of, in their order, and which it would refuse.
func certainty(t *testing.T, change func(now, then *plan.State), beside func(first, last int64) llm.Money,
	entries ...ledger.Entry,
) (certain, refused []bool) {
	t.Helper()
	table := must.Get(route.NewTable(route.Options{Book: must.Get(pricing.NewBook(pricing.Overrides{}))(t), Health: route.NewHealth(nil)}))(t)
	now := plan.State{
		Accounts: map[string]*account.Account{"a": {ID: "a", Name: "a"}, "b": {ID: "b", Name: "b"}},
		Keys:     map[string]*account.Key{"k": {ID: "k", AccountID: "a"}, "l": {ID: "l", AccountID: "b"}}, Table: table,
	}
	then := now
	change(&now, &then)
	decided := map[string]*plan.Decision{}
	must.Get(plan.Make(t.Context(), plan.Options{
		Now: now, Then: then, From: midnight, Most: 100, Log: slog.New(slog.DiscardHandler),
		Spent: func(context.Context, string, int64, int64) (llm.Money, error) { return 0, nil },
		WithoutRows: func(_ context.Context, _ string, first, last int64) (llm.Money, error) {
			return beside(first, last), nil
		},
		Decided: func(d *plan.Decision) { decided[d.Request] = d },
		Attempts: func(_ context.Context, fn func(*ledger.Entry) error) error {
			for i := range entries {
				if err := fn(&entries[i]); err != nil {
					return err
				}
			}
			return nil
		},
	}))(t)
	for i := range entries {
		d := decided[entries[i].ID.Request.String()]
		certain, refused = append(certain, !d.Estimated), append(refused, d.Refused != plan.NotRefused)
	}
	return certain, refused
}

func nothing(int64, int64) llm.Money { return 0 }

// tokens builds an attempt with a bound and a usage.
func tokens(request byte, at time.Duration, bound, used int64) ledger.Entry {
	e := attempt(request, 1, at, at+100*time.Millisecond, 1)
	e.Bound[llm.Input], e.Bound[llm.Output] = bound, 300
	e.Usage[llm.Input], e.Usage[llm.Output] = used, 300
	return e
}

// TestBalancesCountMoreThanRows checks that balances count amounts in addition to the rows of the window: an opening
// balance, a correction, and deleted rows.
func TestBalancesCountMoreThanRows(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name        string
		period      budget.Period
		first, last int64
	}{
		{"of the day", budget.PeriodDay, 2026_11_20, 2026_11_20},
		{"of the month", budget.PeriodMonth, 2026_11_20, 2026_11_99},
		{"in total", budget.PeriodTotal, 2026_11_20, 9999_99_99},
	} {
		limited := func(now, then *plan.State) {
			a := *now.Accounts["a"]
			a.Budget = account.Budget{Limit: 12 * llm.USD, Period: tt.period}
			accounts := map[string]*account.Account{"a": &a}
			now.Accounts, then.Accounts = accounts, accounts
		}
		asked := false
		certain, refused := certainty(t, limited, func(first, last int64) llm.Money {
			asked = asked || first == tt.first && last == tt.last
			return 11 * llm.USD
		}, attempt(1, 1, 0, time.Second, 1), attempt(2, 1, 2*time.Second, 3*time.Second, 5))
		must.Equal(t, refused, []bool{false, true}, "%s: refused", tt.name)
		must.Equal(t, certain, []bool{false, false}, "%s: certain", tt.name)
		if !asked {
			t.Errorf("%s: the amounts in addition to the rows from %d to %d were not read", tt.name, tt.first, tt.last)
		}
		certain, refused = certainty(t, limited, nothing, attempt(1, 1, 0, time.Second, 1), attempt(2, 1, 2*time.Second, 3*time.Second, 5))
		must.Equal(t, refused, []bool{false, false}, "%s, without: refused", tt.name)
		must.Equal(t, certain, []bool{true, true}, "%s, without: certain", tt.name)
	}
}

// TestEstimateOfOthers checks that the outcome of another account's request is an estimate if it depends on one through
// a limit of the installation.
func TestEstimateOfOthers(t *testing.T) {
	t.Parallel()
	other, later := tokens(4, 4*time.Second, 200, 200), tokens(5, 2*time.Minute, 200, 200)
	other.Account, other.Key, later.Account, later.Key = "b", "l", "b", "l"
	entries := []ledger.Entry{
		tokens(1, time.Second, 2400, 500), tokens(2, 2*time.Second, 2400, 500), tokens(3, 3*time.Second, 2400, 500), other, later,
	}
	all := func(_, then *plan.State) { then.Policy = ratelimit.Policy{Installation: ratelimit.Limits{TPM: 2000}} }
	certain, _ := certainty(t, all, nothing, entries...)
	must.Equal(t, certain, make([]bool, 5), "by tokens of all")
	// Here the outcome of the second request of a is unknown, and so b's for a minute.
	both := func(now, then *plan.State) {
		a := *now.Accounts["a"]
		a.Limits.TPM = 2000
		then.Accounts = map[string]*account.Account{"a": &a, "b": now.Accounts["b"]}
		now.Policy = ratelimit.Policy{Installation: ratelimit.Limits{RPM: 4}}
		then.Policy = now.Policy
	}
	certain, _ = certainty(t, both, nothing, entries...)
	must.Equal(t, certain, []bool{false, false, false, false, true}, "by requests of all")
}

// TestTokensAreEstimates checks that no request at a limit of tokens is certain, and that the true usage of a request
// counts.
func TestTokensAreEstimates(t *testing.T) {
	t.Parallel()
	limited := func(now, then *plan.State) {
		a := *now.Accounts["a"]
		a.Limits.TPM = 2000
		then.Accounts = map[string]*account.Account{"a": &a}
	}
	certain, refused := certainty(t, limited, nothing, tokens(1, 0, 600, 1600), tokens(2, time.Second, 600, 100), tokens(3, 70*time.Second, 600, 100))
	must.Equal(t, certain, []bool{false, false, false}, "certain")
	must.Equal(t, refused, []bool{false, true, false}, "refused")
}
