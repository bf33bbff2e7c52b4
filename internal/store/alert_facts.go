package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"weir/internal/alert"
	"weir/internal/budget"
	"weir/internal/llm"
)

// mostFacts bounds the facts of a kind, and factsOfAccount those of an account among them, the highest values first.
const (
	mostFacts      = 2 * alert.MostActive
	factsOfAccount = 2 * alert.MostOfAccount
)

// highest returns a query for the rows of another one with the highest values, and its arguments. The other one has the
// columns account, key and the value.
func highest(value, query string, args ...any) (string, []any) {
	order := value + " DESC, account, key"
	return "SELECT * FROM (SELECT x.*, row_number() OVER (PARTITION BY account ORDER BY " + order + ") AS place" +
			" FROM (" + query + ") AS x) AS y WHERE place <= ? ORDER BY " + order + " LIMIT ?",
		append(args, factsOfAccount, mostFacts)
}

// Facts reads the facts that can fire under the rules, and the accounts with limits of their own with the facts that
// can fire under these. Values far below a limit are left out: their alerts end. It does not wait for reports: the pool
// has a connection more than reports are read at once.
func (s *Alerts) Facts(ctx context.Context, r *alert.Rules, now time.Time) (f alert.Facts, err error) {
	err = s.moment(ctx, s.reports, "read facts of alerts", func(tx *sql.Tx) error {
		ctx := s.engine.within(ctx)
		if err := readFacts(ctx, tx, &factQuery{r, now, ""}, &f); err != nil {
			return err
		}
		limits, err := alertLimits(ctx, tx, "")
		if err != nil || len(limits) == 0 {
			return err
		}
		f.Own = alert.Own{Limits: limits, Facts: &alert.Facts{}}
		widest := f.Own.Widest(r)
		of := " AND account IN (SELECT account FROM alert_limits)"
		return readFacts(ctx, tx, &factQuery{&widest, now, of}, f.Own.Facts)
	})
	if err != nil {
		return f, fmt.Errorf("read facts of alerts: %w", err)
	}
	return f, nil
}

// factQuery selects facts: those that can fire under the rules, of all accounts or of some.
type factQuery struct {
	*alert.Rules
	now time.Time
	of  string // condition for the column account, with AND; empty for all accounts
}

func readFacts(ctx context.Context, tx *sql.Tx, q *factQuery, f *alert.Facts) error {
	for _, read := range []func(context.Context, *sql.Tx, *factQuery, *alert.Facts) error{
		readBudgetFacts, readSpendFacts, readErrorFacts, readRefusalFacts, readUnpricedFacts,
	} {
		if err := read(ctx, tx, q, f); err != nil {
			return err
		}
	}
	return nil
}

// leastOfBudget is the part of a budget, in thousandths for each percent of the limit, below which a forecast does not
// hold an alert: a tenth of the period has passed.
const leastOfBudget = 0.8

// readBudgetFacts reads budgets of which enough is spent for an alert.
func readBudgetFacts(ctx context.Context, tx *sql.Tx, q *factQuery, f *alert.Facts) error {
	if q.BudgetPercent == 0 {
		return nil
	}
	for _, p := range []budget.Period{budget.PeriodDay, budget.PeriodMonth} {
		first, last := budget.DaysOf(p.Number(q.now))
		part := func(columns, table, where string) string {
			return "SELECT " + columns + ", sum(b.spent) AS spent FROM " + table +
				" o JOIN balances b ON b.scope = o.id AND b.day BETWEEN ? AND ?" +
				" WHERE o.budget > 0 AND o.budget_period = ?" + where +
				" GROUP BY o.id, o.budget" // columns depend on the id
		}
		query, args := highest("spent", "SELECT account, key, budget, spent FROM ("+
			part("o.id AS account, '' AS key, o.budget AS budget", "accounts", "")+" UNION ALL "+
			part("min(o.account) AS account, o.id AS key, o.budget AS budget", "keys", " AND o.revoked IS NULL")+
			") AS b WHERE spent >= budget / 1000 * ?"+q.of,
			first, last, string(p), first, last, string(p), int64(leastOfBudget*float64(q.BudgetPercent)))
		rows, err := tx.QueryContext(ctx, query, args...)
		some, err := collect(rows, err, func(row scanner) (b alert.Budget, err error) {
			var place int64
			b.Period = p
			return b, row.Scan(&b.Account, &b.Key, &b.Limit, &b.Spent, &place)
		})
		if err != nil {
			return err
		}
		f.Budgets = append(f.Budgets, some...)
	}
	return nil
}

const daysBefore = 7

// readSpendFacts reads what accounts spent in the last full hour, if it is enough to fire, and in the same hour of the
// days before.
func readSpendFacts(ctx context.Context, tx *sql.Tx, q *factQuery, f *alert.Facts) error {
	if q.SpendFactor == 0 {
		return nil
	}
	last := q.now.Add(-time.Hour)
	hour := hourOf(last)
	least := q.SpendLeast / 2 * llm.Money(q.SpendFactor) // lower, for alerts that go on
	args := []any{}
	for back := range daysBefore + 1 {
		args = append(args, hourOf(last.AddDate(0, 0, -back)))
	}
	rows, err := tx.QueryContext(ctx, "SELECT account, period, sum(cost + margin) FROM rollup_hour WHERE "+
		among("period", len(args))+" AND account IN (SELECT account FROM rollup_hour WHERE period = ?"+q.of+
		" GROUP BY account"+
		" HAVING sum(cost + margin) >= ? ORDER BY sum(cost + margin) DESC LIMIT ?)"+
		" GROUP BY account, period ORDER BY account", append(args, hour, int64(least), mostFacts)...)
	return each(rows, err, func(row scanner) (x alert.Spend, err error) {
		var period int64
		var spent llm.Money
		err = row.Scan(&x.Account, &period, &spent)
		if x.Usual = spent; period == hour {
			x.Hour, x.Usual = spent, 0
		}
		return x, err
	}, func(x *alert.Spend) error {
		if n := len(f.Spend); n > 0 && f.Spend[n-1].Account == x.Account {
			before := &f.Spend[n-1]
			before.Hour, before.Usual = before.Hour+x.Hour, max(before.Usual, x.Usual)
			return nil
		}
		f.Spend = append(f.Spend, *x)
		return nil
	})
}

func readErrorFacts(ctx context.Context, tx *sql.Tx, q *factQuery, f *alert.Facts) error {
	if q.ErrorPercent == 0 {
		return nil
	}
	// A request that was answered from the answer cache has a row, but no attempt at a provider.
	rows, err := tx.QueryContext(ctx, "SELECT account, sum(attempts - cached), sum(errors) FROM rollup_hour"+
		" WHERE period IN (?, ?)"+q.of+" GROUP BY account HAVING sum(attempts - cached) >= ? AND sum(errors) > 0"+
		" ORDER BY sum(errors) DESC, account LIMIT ?",
		hourOf(q.now), hourOf(q.now.Add(-time.Hour)), max(1, q.ErrorLeast), mostFacts)
	f.Errors, err = collect(rows, err, func(row scanner) (x alert.Errors, err error) {
		return x, row.Scan(&x.Account, &x.Attempts, &x.Failed)
	})
	return err
}

func readRefusalFacts(ctx context.Context, tx *sql.Tx, q *factQuery, f *alert.Facts) error {
	if q.Refusals == 0 {
		return nil
	}
	query, args := highest("n", "SELECT account, key, sum(n) AS n FROM refusals WHERE minute > ? AND key <> ''"+q.of+
		" GROUP BY account, key HAVING sum(n) >= ?", q.now.Add(-time.Hour).Unix(), max(1, q.Refusals/2))
	rows, err := tx.QueryContext(ctx, query, args...)
	f.Refusals, err = collect(rows, err, func(row scanner) (x alert.Refusals, err error) {
		var place int64
		return x, row.Scan(&x.Account, &x.Key, &x.Count, &place)
	})
	return err
}

func readUnpricedFacts(ctx context.Context, tx *sql.Tx, q *factQuery, f *alert.Facts) error {
	if q.Unpriced == 0 {
		return nil
	}
	rows, err := tx.QueryContext(ctx, "SELECT model, sum(unpriced) FROM rollup_hour WHERE period IN (?, ?)"+
		" AND unpriced > 0 AND "+usedUp()+" GROUP BY model ORDER BY sum(unpriced) DESC, model LIMIT ?",
		hourOf(q.now), hourOf(q.now.Add(-time.Hour)), mostFacts)
	f.Unpriced, err = collect(rows, err, func(row scanner) (x alert.Unpriced, err error) {
		return x, row.Scan(&x.Model, &x.Count)
	})
	return err
}
