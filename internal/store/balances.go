package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"weir/internal/ledger"
	"weir/internal/llm"
)

// scopeDay names a balance of one journal: what an account or a key has spent
// on a day.
type scopeDay struct {
	scope string
	day   int64
}

func compareScopeDays(a, b scopeDay) int {
	return cmp.Or(strings.Compare(a.scope, b.scope), cmp.Compare(a.day, b.day))
}

// balances are amounts by scope and day.
type balances map[scopeDay]llm.Money

// balancesOf folds sums by hour into what they add to the balances.
func balancesOf(hours buckets) balances {
	m := balances{}
	for b, s := range hours {
		if cost := llm.Money(s[measureCost]); cost != 0 {
			day := b.ofDay().period
			m[scopeDay{b.account, day}] += cost
			m[scopeDay{b.key, day}] += cost
		}
	}
	return m
}

// sorted are the names in the order of the table's primary key.
func (m balances) sorted() []scopeDay { return slices.SortedFunc(maps.Keys(m), compareScopeDays) }

func insertBalances() *insertion {
	return &insertion{
		head:    "INSERT INTO balances (scope, day, journal, spent) VALUES ",
		columns: 4,
		tail:    " ON CONFLICT (scope, day, journal) DO UPDATE SET spent = balances.spent + excluded.spent",
	}
}

// balance adds what the batch's attempts have cost to the balances of the
// journal, and writes the events of budgets that it has brought to a threshold.
func (a *applier) balance(ctx context.Context, tx *sql.Tx, journal int64, now time.Time) error {
	m := balancesOf(a.sums)
	names := m.sorted()
	_, err := a.bulk.insert(ctx, a.balances, len(names), func(dst []any, i int) []any {
		return append(dst, names[i].scope, names[i].day, journal, int64(m[names[i]]))
	})
	if err != nil {
		return err
	}
	return a.notice(ctx, tx, names, now)
}

// thresholds are the parts of a budget, in percent, at which somebody is told.
var thresholds = [...]int64{50, 80, 95, 100}

// budgetRow is a budget with whose it is.
type budgetRow struct {
	id, account  string
	limit        llm.Money
	period       ledger.Period
	credit, from sql.NullInt64
}

// notice writes an event for each threshold that a budget of those scopes has
// reached, once for each limit and period.
func (a *applier) notice(ctx context.Context, tx *sql.Tx, names []scopeDay, now time.Time) error {
	days := map[string][]int64{}
	var ids []string
	for _, n := range names {
		if days[n.scope] == nil {
			ids = append(ids, n.scope)
		}
		days[n.scope] = append(days[n.scope], n.day)
	}
	list, err := a.budgetRows(ctx, tx, ids)
	if err != nil {
		return fmt.Errorf("read budgets: %w", err)
	}
	var all []standing
	for i := range list {
		all = append(all, list[i].standings(days[list[i].id])...)
	}
	if err := a.spentOf(ctx, tx, all); err != nil {
		return fmt.Errorf("read what was spent of budgets: %w", err)
	}
	for i := range all {
		if err := a.tellOf(ctx, tx, &all[i], now); err != nil {
			return fmt.Errorf("budget of %s: %w", all[i].id, err)
		}
	}
	return nil
}

// budgetRows are the budgets that those scopes have.
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
		return b, row.Scan(&b.id, &b.account, &b.limit, &b.period, &b.credit, &b.from)
	})
}

// standing is how one budget stands in one period.
type standing struct {
	*budgetRow
	number      int64     // of the period
	limit, from llm.Money // from is what does not count of what was spent
	spent       llm.Money
}

// standings are those of the budget in the periods that those days are in, with
// nothing spent.
func (b *budgetRow) standings(days []int64) (list []standing) {
	if b.limit > 0 {
		for _, number := range periodsOf(b.period, days) {
			list = append(list, standing{budgetRow: b, number: number, limit: b.limit})
		}
	}
	if b.credit.Valid {
		list = append(list, standing{budgetRow: b, limit: llm.Money(b.credit.Int64), from: llm.Money(b.from.Int64)})
	}
	return list
}

// periodsOf are the numbers of the periods that those days are in.
func periodsOf(p ledger.Period, days []int64) (numbers []int64) {
	for _, day := range days {
		number := day
		switch p {
		case ledger.PeriodMonth:
			number = day / 100
		case ledger.PeriodTotal:
			number = 0
		}
		if !slices.Contains(numbers, number) {
			numbers = append(numbers, number)
		}
	}
	return numbers
}

// spentOf fills in what was spent: with one query for all where each takes a way
// to the database.
func (a *applier) spentOf(ctx context.Context, tx *sql.Tx, all []standing) error {
	if len(all) == 0 {
		return nil
	}
	if a.engine.arrays {
		return spentOfMany(ctx, tx, all)
	}
	stmt, err := tx.PrepareContext(ctx, "SELECT coalesce(sum(spent), 0) FROM balances WHERE scope = ? AND day BETWEEN ? AND ?")
	if err != nil {
		return err
	}
	defer stmt.Close()
	for i := range all {
		s := &all[i]
		first, last := ledger.DaysOf(s.number)
		if err := stmt.QueryRowContext(ctx, s.id, first, last).Scan(&s.spent); err != nil {
			return err
		}
		s.spent -= s.from
	}
	return nil
}

func spentOfMany(ctx context.Context, tx *sql.Tx, all []standing) error {
	scopes := make([]string, len(all))
	firsts, lasts := make([]int64, len(all)), make([]int64, len(all))
	for i := range all {
		scopes[i] = all[i].id
		firsts[i], lasts[i] = ledger.DaysOf(all[i].number)
		all[i].spent = -all[i].from
	}
	type sum struct {
		place int
		spent llm.Money
	}
	rows, err := tx.QueryContext(ctx, "SELECT q.place, (SELECT coalesce(sum(b.spent), 0) FROM balances b"+
		" WHERE b.scope = q.scope AND b.day BETWEEN q.first_day AND q.last_day)"+
		" FROM unnest(?::text[], ?::bigint[], ?::bigint[]) WITH ORDINALITY AS q (scope, first_day, last_day, place)", scopes, firsts, lasts)
	return each(rows, err, func(row scanner) (s sum, err error) {
		return s, row.Scan(&s.place, &s.spent)
	}, func(s *sum) error {
		all[s.place-1].spent += s.spent
		return nil
	})
}

// tellOf writes the events of the thresholds that a budget has reached.
func (a *applier) tellOf(ctx context.Context, tx *sql.Tx, s *standing, now time.Time) error {
	for _, percent := range thresholds {
		if s.spent < s.limit/100*llm.Money(percent) {
			break
		}
		e := budgetEvent{
			Account: s.account, Scope: "account", Period: string(ledger.PeriodOf(s.number)), Number: s.number,
			LimitUSD: s.limit.String(), SpentUSD: s.spent.String(), Percent: percent, Credit: s.credit.Valid && s.number == 0,
		}
		if s.id != s.account {
			e.Scope, e.Key = "key", s.id
		}
		if err := a.tell(ctx, tx, &e, now); err != nil {
			return err
		}
	}
	return nil
}

// budgetEvent says that a budget has reached a threshold.
type budgetEvent struct {
	Account  string `json:"account"`       // id
	Key      string `json:"key,omitempty"` // id, of a key's budget
	Scope    string `json:"scope"`         // account or key
	Credit   bool   `json:"credit"`        // it is what was paid beforehand
	Period   string `json:"period"`        // day, month or total
	Number   int64  `json:"period_number"` // yyyymmdd, yyyymm or 0
	LimitUSD string `json:"limit_usd"`
	SpentUSD string `json:"spent_usd"`
	Percent  int64  `json:"threshold_percent"`
}

// tell writes the event, if it is not there. What is remembered to be there
// costs nothing: a budget goes on to be used when it has reached a threshold.
func (a *applier) tell(ctx context.Context, tx *sql.Tx, e *budgetEvent, now time.Time) error {
	name := strings.Join([]string{"budget", e.Account, e.Key, e.LimitUSD, strconv.FormatInt(e.Number, 10), strconv.FormatInt(e.Percent, 10)}, "/")
	if a.told[name] {
		return nil
	}
	a.telling = append(a.telling, name)
	body, err := json.Marshal(e)
	if err != nil {
		return err
	}
	result, err := tx.ExecContext(ctx, "INSERT INTO events (id, type, account, at, body) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
		uuid.NewSHA1(uuid.NameSpaceURL, []byte(name)).String(), "budget.threshold_reached", e.Account, micros(now), string(body))
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err == nil && n > 0 {
		a.log.Info("a budget has reached a threshold", "account", e.Account, "key", e.Key, "percent", e.Percent,
			"spent_usd", e.SpentUSD, "limit_usd", e.LimitUSD, "period", e.Period)
	}
	return nil
}

// Spent is what a scope has spent in a period.
func (s *Store) Spent(ctx context.Context, scope string, period int64) (spent llm.Money, err error) {
	first, last := ledger.DaysOf(period)
	err = s.read.QueryRowContext(ctx, "SELECT coalesce(sum(spent), 0) FROM balances WHERE scope = ? AND day BETWEEN ? AND ?", scope, first, last).Scan(&spent)
	if err != nil {
		return 0, fmt.Errorf("read balance: %w", err)
	}
	return spent, nil
}
