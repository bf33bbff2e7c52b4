package store

import (
	"context"
	"database/sql"
	"errors"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/budget"
	"weir/internal/llm"
)

// opening is the earlier spending of a budget, at another gateway.
type opening struct {
	object  audit.Object // the account or key that has the budget
	account string
	period  int64
	amount  llm.Money
}

// raise raises an opening balance to an amount, and returns by how much. A higher balance remains: if the other
// gateway starts to count again, that is another period.
func (s *Accounts) raise(ctx context.Context, tx *sql.Tx, by audit.Actor, o *opening) (llm.Money, error) {
	var was llm.Money
	err := tx.QueryRowContext(ctx, "SELECT amount FROM openings WHERE scope = ? AND period = ?", o.object.ID,
		o.period).Scan(&was)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	more := o.amount - was
	if err != nil || more <= 0 {
		return 0, err
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO openings (scope, period, amount) VALUES (?, ?, ?)"+
		" ON CONFLICT (scope, period) DO UPDATE SET amount = excluded.amount", o.object.ID, o.period, int64(o.amount))
	if err != nil {
		return 0, err
	}
	day, _ := budget.DaysOf(o.period)
	if _, err = tx.ExecContext(ctx, insertBalances().sql(1), o.object.ID, day, noJournal, int64(more)); err != nil {
		return 0, err
	}
	e := audit.Entry{Actor: by, Action: audit.BudgetOpened, Account: o.account, Object: o.object}
	before, after := facts{"opening_usd": nil}, facts{"opening_usd": o.amount.String()}
	if was > 0 {
		before["opening_usd"] = was.String()
	}
	if _, err := s.note(ctx, tx, e, before, after); err != nil {
		return 0, err
	}
	return more, s.changed(ctx, tx, account.ChangedAttempt, o.account)
}

// readOpenings returns the opening balances of a scope, or of all if it is empty, by the days of their balances.
func readOpenings(ctx context.Context, q querier, scope string) (balances, error) {
	all := balances{}
	rows, err := q.QueryContext(ctx, "SELECT scope, period, amount FROM openings WHERE ? = ''"+
		" OR scope = ?", scope, scope)
	err = eachRow(rows, err, func(row scanner) error {
		var scope string
		var period int64
		var amount llm.Money
		err := row.Scan(&scope, &period, &amount)
		day, _ := budget.DaysOf(period)
		all[scopeDay{scope, day}] += amount
		return err
	})
	return all, err
}

// of returns the balances of a day.
func (m balances) of(day int64) balances {
	some := balances{}
	for name, amount := range m {
		if name.day == day {
			some[name] = amount
		}
	}
	return some
}
