package account

import (
	"context"
	"time"

	"weir/internal/budget"
	"weir/internal/llm"
)

// Spender returns the settled spending of an account or a key, by its id, in the period of that number: see
// budget.Period.Number.
type Spender func(ctx context.Context, scope string, period int64) (llm.Money, error)

// BudgetStatus reports an account's spending and credit, as far as requests are settled.
type BudgetStatus struct {
	Spent      llm.Money // of the budget, in the current period
	CreditLeft llm.Money // rest of the prepaid credit; negative if a provider charged more than expected
}

// BudgetStatus returns the status of the account's budget and credit at a time; 0 if the account has none.
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

// BudgetSpent returns the spending of the key's budget at a time; 0 without a budget.
func (k *Key) BudgetSpent(ctx context.Context, now time.Time, spent Spender) (llm.Money, error) {
	if k.Budget.Limit == 0 {
		return 0, nil
	}
	return spent(ctx, k.ID, k.Budget.Period.Number(now))
}
