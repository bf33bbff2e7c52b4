package account

import (
	"context"
	"time"

	"weir/internal/budget"
	"weir/internal/llm"
)

// Spender tells what an account or a key, by its id, has spent in the period of that
// number, as far as requests are settled: see budget.Period.Number.
type Spender func(ctx context.Context, scope string, period int64) (llm.Money, error)

// BudgetStatus is how an account's budgets stand, as far as requests are settled.
type BudgetStatus struct {
	Spent      llm.Money // of its budget, in the present period
	CreditLeft llm.Money // of what it has paid beforehand; below 0 where a provider billed more than it was asked for
}

// BudgetStatus is how the account's budgets stand at a moment. What it has none of is 0.
func (a *Account) BudgetStatus(ctx context.Context, now time.Time, spent Spender) (s BudgetStatus, err error) {
	if a.Budget.Limit > 0 {
		if s.Spent, err = spent(ctx, a.ID, a.Budget.Period.Number(now)); err != nil {
			return s, err
		}
	}
	if a.Credit != nil {
		total, err := spent(ctx, a.ID, budget.PeriodTotal.Number(now))
		if err != nil {
			return s, err
		}
		s.CreditLeft = a.Credit.Paid + a.Credit.From - total
	}
	return s, nil
}

// BudgetSpent is what of the key's budget is spent at a moment; 0 where it has none.
func (k *Key) BudgetSpent(ctx context.Context, now time.Time, spent Spender) (llm.Money, error) {
	if k.Budget.Limit == 0 {
		return 0, nil
	}
	return spent(ctx, k.ID, k.Budget.Period.Number(now))
}
