package plan_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"

	"weir/internal/account"
	"weir/internal/budget"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/plan"
	"weir/internal/pricing"
	"weir/internal/route"
)

var midnight = time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)

// attempt builds one of a request of key k, with that cost and the same hold, in dollars.
func attempt(request, n byte, from, to time.Duration, dollars llm.Money) ledger.Entry {
	e := ledger.Entry{Attempt: ledger.Attempt{
		ID: ledger.AttemptID{Request: uuid.UUID{request}, N: uint16(n)}, Account: "a", Key: "k", Requested: "p/m", Provider: "p",
		Model: "m", Arrived: midnight.Add(from), Opened: midnight.Add(from), Hold: dollars * llm.USD,
	}}
	e.Cost, e.Duration = dollars*llm.USD, to-from
	return e
}

// TestMakeReplaysOverlappingRequests replays overlapping requests, and ones with several attempts.
func TestMakeReplaysOverlappingRequests(t *testing.T) {
	t.Parallel()
	table := must.Get(route.NewTable(route.Options{Book: must.Get(pricing.NewBook(pricing.Overrides{}))(t), Health: route.NewHealth(nil)}))(t)
	first, second := attempt(2, 1, 2*time.Second, 4*time.Second, 2), attempt(2, 2, 2*time.Second, 9*time.Second, 3)
	second.Opened, second.Duration = midnight.Add(4*time.Second), 5*time.Second
	entries := []ledger.Entry{
		attempt(1, 1, 0, 10*time.Second, 5), first, second,
		attempt(3, 1, 5*time.Second, 6*time.Second, 1), attempt(4, 1, 11*time.Second, 12*time.Second, 1),
	}
	for _, tt := range []struct {
		name    string
		limits  account.Limits
		budget  account.Budget
		before  llm.Money // earlier spending
		most    int
		refused map[plan.Refusal]int64
		planned llm.Money
	}{
		{name: "nothing", planned: 12},
		{name: "two at a time", limits: account.Limits{Concurrency: 2}, refused: map[plan.Refusal]int64{plan.RefusedLimit: 1}, planned: 11},
		{name: "one at a time", limits: account.Limits{Concurrency: 1}, refused: map[plan.Refusal]int64{plan.RefusedLimit: 2}, planned: 6},
		{name: "two a minute", limits: account.Limits{RPM: 2}, refused: map[plan.Refusal]int64{plan.RefusedLimit: 2}, planned: 10},
		{name: "a budget for all", budget: account.Budget{Limit: 12 * llm.USD, Period: budget.PeriodDay}, planned: 12},
		// The second attempt of the second request does not fit next to the first request, and then there is room for
		// the last ones.
		{name: "no second attempt", budget: account.Budget{Limit: 9 * llm.USD, Period: budget.PeriodDay}, refused: map[plan.Refusal]int64{plan.RefusedBudget: 1}, planned: 9},
		{name: "spent before", budget: account.Budget{Limit: 12 * llm.USD, Period: budget.PeriodMonth}, before: 8, refused: map[plan.Refusal]int64{plan.RefusedBudget: 2}, planned: 4},
		{name: "some of it", most: 3, planned: 5},
	} {
		now := plan.State{
			Accounts: map[string]*account.Account{"a": {ID: "a", Name: "a"}}, Keys: map[string]*account.Key{"k": {ID: "k", AccountID: "a"}},
			Table: table,
		}
		then := now
		then.Accounts = map[string]*account.Account{"a": {ID: "a", Name: "a", Limits: tt.limits, Budget: tt.budget}}
		if tt.most == 0 {
			tt.most = 100
		}
		r, err := plan.Make(t.Context(), plan.Options{
			Now: now, Then: then, From: midnight, Most: tt.most, Log: slog.New(slog.DiscardHandler),
			Spent: func(_ context.Context, scope string, first, last int64) (llm.Money, error) {
				if scope != "a" || first != 2026_11_00 || last != 2026_11_19 {
					t.Errorf("%s: read the spending of %s from %d to %d, want the days of the month before", tt.name, scope, first, last)
				}
				return tt.before * llm.USD, nil
			},
			WithoutRows: func(context.Context, string, int64, int64) (llm.Money, error) { return 0, nil },
			Attempts: func(_ context.Context, fn func(*ledger.Entry) error) error {
				for i := range entries {
					if err := fn(&entries[i]); err != nil {
						return err
					}
				}
				return nil
			},
		})
		must.Do(t, err)
		must.Equal(t, r.Total.Refused, tt.refused, "%s: refused", tt.name)
		if r.Total.Planned != tt.planned*llm.USD || r.Cut != (tt.most < 100) || !r.Cut && r.Total.Requests != 4 {
			t.Errorf("%s: got %+v, want a charge of $%d", tt.name, r.Total, tt.planned)
		}
	}
}
