package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/budget"
	"weir/internal/llm"
)

// scopeDay identifies a balance of one journal: the spending of an account, a key or a part of one on a day.
type scopeDay struct {
	scope string
	day   int64
}

func compareScopeDays(a, b scopeDay) int {
	return cmp.Or(strings.Compare(a.scope, b.scope), cmp.Compare(a.day, b.day))
}

// balances holds amounts by scope and day.
type balances map[scopeDay]llm.Money

// balancesOf converts sums by hour to the amounts that they add to the balances.
func balancesOf(hours buckets) balances {
	m := balances{}
	for b, s := range hours {
		if charged := s.charged(); charged != 0 {
			day := b.ofDay().period
			m[scopeDay{b.account, day}] += charged
			m[scopeDay{b.key, day}] += charged
		}
	}
	return m
}

// sorted returns the names in the order of the table's primary key.
func (m balances) sorted() []scopeDay { return slices.SortedFunc(maps.Keys(m), compareScopeDays) }

func insertBalances() *insertion {
	return &insertion{
		head:    "INSERT INTO balances (scope, day, journal, spent) VALUES ",
		columns: 4,
		tail:    " ON CONFLICT (scope, day, journal) DO UPDATE SET spent = balances.spent + excluded.spent",
	}
}

// balance adds the charges of the batch's attempts to the balances of the journal, and writes the events of budgets
// that reached a threshold.
func (a *applier) balance(ctx context.Context, tx *sql.Tx, journal int64, now time.Time) error {
	m := balancesOf(a.sums)
	maps.Copy(m, a.parts)
	names := m.sorted()
	_, err := a.bulk.insert(ctx, a.balances, len(names), func(dst []any, i int) []any {
		return append(dst, names[i].scope, names[i].day, journal, int64(m[names[i]]))
	})
	if err != nil {
		return err
	}
	return a.notice(ctx, tx, names, journal, now)
}

// thresholds are the shares of a budget, in percent, that cause an event.
var thresholds = [...]int64{50, 80, 95, 100}

// passed follows the last threshold: a provider has billed more than it was allowed to, and the other nodes have been
// notified.
const passed = 101

// budgetRow is a budget with its owner.
type budgetRow struct {
	id, account  string      // its scope, and the account
	owner        string      // the account or key
	part         budget.Part // the part of the owner that the budget is for; zero for all of it
	limit        llm.Money
	period       budget.Period
	credit, from sql.NullInt64
}

// notice writes an event for each threshold that a budget of the scopes has reached, once for each limit and period.
func (a *applier) notice(ctx context.Context, tx *sql.Tx, names []scopeDay, journal int64, now time.Time) error {
	days := map[string][]int64{}
	var ids []string
	for _, n := range names {
		if days[n.scope] == nil {
			ids = append(ids, n.scope)
		}
		days[n.scope] = append(days[n.scope], n.day)
	}
	if err := a.learnBudgets(ctx, tx, ids); err != nil {
		return fmt.Errorf("read budgets: %w", err)
	}
	var all []budgetProgress
	for _, id := range ids {
		if b := a.budgets[id]; b != nil {
			all = a.appendProgresses(all, b, days[id])
		}
	}
	if err := a.spentOf(ctx, tx, all); err != nil {
		return fmt.Errorf("read spending of budgets: %w", err)
	}
	for i := range all {
		if err := a.tellOf(ctx, tx, &all[i], journal, now); err != nil {
			return fmt.Errorf("budget of %s: %w", all[i].id, err)
		}
	}
	return nil
}

// learnBudgets reads the budgets of the scopes that have not been read since the last change of any account or key.
func (a *applier) learnBudgets(ctx context.Context, tx *sql.Tx, ids []string) error {
	var place int64 // in the feed, which has every change in the order of commits
	if err := tx.QueryRowContext(ctx, "SELECT coalesce(max(seq), 0) FROM changes").Scan(&place); err != nil {
		return err
	}
	if a.budgets == nil || place != a.learnt || len(a.budgets)+len(ids) > maxBudgets {
		a.budgets, a.learnt = make(map[string]*budgetRow, len(ids)), place
	}
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { _, known := a.budgets[id]; return known })
	if len(ids) == 0 {
		return nil
	}
	whole, parts := ownersOf(ids)
	list, err := a.budgetRows(ctx, tx, whole)
	if err != nil {
		return err
	}
	for _, id := range ids {
		a.budgets[id] = nil
	}
	if err := a.learnParts(ctx, tx, parts); err != nil {
		return err
	}
	for i := range list {
		a.budgets[list[i].id] = &list[i]
	}
	return nil
}

// budgetRows reads the budgets of the scopes.
func (a *applier) budgetRows(ctx context.Context, tx *sql.Tx, ids []string) (list []budgetRow, err error) {
	if a.engine.arrays {
		return budgetRowsIn(ctx, tx, " = ANY (?)", ids)
	}
	for some := range slices.Chunk(ids, bulkRows) {
		args := make([]any, len(some))
		for i, id := range some {
			args[i] = id
		}
		part, err := budgetRowsIn(ctx, tx, " IN (?"+strings.Repeat(", ?", len(some)-1)+")", args...)
		if err != nil {
			return nil, err
		}
		list = append(list, part...)
	}
	return list, nil
}

func budgetRowsIn(ctx context.Context, tx *sql.Tx, in string, args ...any) ([]budgetRow, error) {
	rows, err := tx.QueryContext(ctx, "SELECT id, id, budget, budget_period, credit, credit_from FROM accounts"+
		" WHERE id"+in+" AND (budget > 0 OR credit IS NOT NULL)"+
		" UNION ALL SELECT id, account, budget, budget_period, NULL, 0 FROM keys WHERE id"+in+" AND budget > 0",
		slices.Concat(args, args)...)
	return collect(rows, err, func(row scanner) (b budgetRow, err error) {
		err = row.Scan(&b.id, &b.account, &b.limit, &b.period, &b.credit, &b.from)
		b.owner = b.id
		return b, err
	})
}

// budgetProgress is the spending of one budget in one period.
type budgetProgress struct {
	*budgetRow
	limited
	next  llm.Money // the spending that makes the next event due
	spent llm.Money // including from
}

// limited identifies a limit; each of its thresholds is reported once.
type limited struct {
	scope  string
	number int64 // of the period
	limit  llm.Money
	credit bool // it is a credit
	// from is spending that does not count. A credit that starts anew may have the same amount as the previous one.
	from llm.Money
}

// once returns the id of an event about the limit, which no other event has.
func (l *limited) once(of string) []string {
	parts := []string{l.scope, of, l.limit.String(), strconv.FormatInt(l.number, 10)}
	if l.credit {
		parts = append(parts, l.from.String())
	}
	return parts
}

// appendProgresses appends the progress of a budget in the periods of those days, unless all of its events are
// written.
func (a *applier) appendProgresses(all []budgetProgress, b *budgetRow, days []int64) []budgetProgress {
	if b.limit > 0 {
		for i, day := range days {
			number := numberOf(b.period, day)
			if i == 0 || number != numberOf(b.period, days[i-1]) {
				all = a.appendProgress(all, b, limited{scope: b.id, number: number, limit: b.limit})
			}
		}
	}
	if b.credit.Valid {
		all = a.appendProgress(all, b, b.prepaid())
	}
	return all
}

func (a *applier) appendProgress(all []budgetProgress, b *budgetRow, of limited) []budgetProgress {
	for _, percent := range thresholds {
		if percent > a.told[of] {
			return append(all, budgetProgress{budgetRow: b, limited: of, next: of.from + of.limit/100*llm.Money(
				percent)})
		}
	}
	if a.told[of] < passed {
		all = append(all, budgetProgress{budgetRow: b, limited: of, next: of.from + of.limit + 1})
	}
	return all
}

// numberOf returns the number of the period that contains a day.
func numberOf(p budget.Period, day int64) int64 {
	switch p {
	case budget.PeriodMonth:
		return day / 100
	case budget.PeriodTotal:
		return 0
	}
	return day
}

// spentOf fills in the spending, with one query for all budgets if each query is a network round trip.
func (a *applier) spentOf(ctx context.Context, tx *sql.Tx, all []budgetProgress) error {
	if len(all) == 0 {
		return nil
	}
	if a.engine.arrays {
		return spentOfMany(ctx, tx, all)
	}
	stmt, err := tx.PrepareContext(
		ctx, "SELECT coalesce(sum(spent), 0) FROM balances WHERE scope = ? AND day BETWEEN ? AND ?")
	if err != nil {
		return err
	}
	defer stmt.Close()
	for i := range all {
		s := &all[i]
		first, last := budget.DaysOf(s.number)
		if err := stmt.QueryRowContext(ctx, s.id, first, last).Scan(&s.spent); err != nil {
			return err
		}
	}
	return nil
}

// spentOfMany fills in the spending of the budgets that have a due event, and leaves 0 in the others.
func spentOfMany(ctx context.Context, tx *sql.Tx, all []budgetProgress) error {
	scopes := make([]string, len(all))
	firsts, lasts, nexts := make([]int64, len(all)), make([]int64, len(all)), make([]int64, len(all))
	for i := range all {
		scopes[i], nexts[i] = all[i].id, int64(all[i].next)
		firsts[i], lasts[i] = budget.DaysOf(all[i].number)
	}
	rows, err := tx.QueryContext(
		ctx, "SELECT place, spent FROM (SELECT q.place, q.next, (SELECT coalesce(sum(b.spent), 0) FROM balances b"+
			" WHERE b.scope = q.scope AND b.day BETWEEN q.first_day AND q.last_day) AS spent"+
			" FROM unnest(?::text[], ?::bigint[], ?::bigint[], ?::bigint[]) WITH ORDINALITY AS q (scope, first_day, "+
			"last_day, next, place)) AS s"+
			" WHERE spent >= next", scopes, firsts, lasts, nexts)
	return eachRow(rows, err, func(row scanner) error {
		var place int
		var spent llm.Money
		if err := row.Scan(&place, &spent); err != nil {
			return err
		}
		all[place-1].spent = spent
		return nil
	})
}

// Spent returns the spending of a scope in a period.
func (s *Ledger) Spent(ctx context.Context, scope string, period int64) (llm.Money, error) {
	return spentIn(ctx, s.read, scope, period)
}

// SpentOn returns the spending of a scope on the days from first to last, yyyymmdd, both inclusive.
func (s *Ledger) SpentOn(ctx context.Context, scope string, first, last int64) (llm.Money, error) {
	return spentOn(ctx, s.read, scope, first, last)
}

func spentIn(ctx context.Context, q querier, scope string, period int64) (spent llm.Money, err error) {
	first, last := budget.DaysOf(period)
	return spentOn(ctx, q, scope, first, last)
}

func spentOn(ctx context.Context, q querier, scope string, first, last int64) (spent llm.Money, err error) {
	err = q.QueryRowContext(ctx, "SELECT coalesce(sum(spent), 0) FROM balances WHERE scope = ? AND day BETWEEN ? AND ?",
		scope, first, last).Scan(&spent)
	if err != nil {
		return 0, fmt.Errorf("read balance: %w", err)
	}
	return spent, nil
}
