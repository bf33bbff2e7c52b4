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
	return a.notice(ctx, tx, names, journal, now)
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
func (a *applier) notice(ctx context.Context, tx *sql.Tx, names []scopeDay, journal int64, now time.Time) error {
	for some := range slices.Chunk(names, bulkRows) {
		days := map[string][]int64{}
		ids := make([]any, 0, len(some))
		for _, n := range some {
			if days[n.scope] == nil {
				ids = append(ids, n.scope)
			}
			days[n.scope] = append(days[n.scope], n.day)
		}
		list, err := budgetRows(ctx, tx, ids)
		if err != nil {
			return fmt.Errorf("read budgets: %w", err)
		}
		for i := range list {
			if err := a.noticeOne(ctx, tx, &list[i], days[list[i].id], journal, now); err != nil {
				return fmt.Errorf("budget of %s: %w", list[i].id, err)
			}
		}
	}
	return nil
}

// budgetRows are the budgets that those scopes have.
func budgetRows(ctx context.Context, tx *sql.Tx, ids []any) ([]budgetRow, error) {
	in := " IN (?" + strings.Repeat(", ?", len(ids)-1) + ")"
	rows, err := tx.QueryContext(ctx, "SELECT id, id, budget, budget_period, credit, credit_from FROM accounts"+
		" WHERE id"+in+" AND (budget > 0 OR credit IS NOT NULL)"+
		" UNION ALL SELECT id, account, budget, budget_period, NULL, 0 FROM keys WHERE id"+in+" AND budget > 0",
		slices.Concat(ids, ids)...)
	return collect(rows, err, func(row scanner) (b budgetRow, err error) {
		return b, row.Scan(&b.id, &b.account, &b.limit, &b.period, &b.credit, &b.from)
	})
}

func (a *applier) noticeOne(ctx context.Context, tx *sql.Tx, b *budgetRow, days []int64, journal int64, now time.Time) error {
	if b.limit > 0 {
		for _, number := range periodsOf(b.period, days) {
			if err := a.noticePeriod(ctx, tx, b, number, b.limit, 0, journal, now); err != nil {
				return err
			}
		}
	}
	if b.credit.Valid {
		return a.noticePeriod(ctx, tx, b, 0, llm.Money(b.credit.Int64), llm.Money(b.from.Int64), journal, now)
	}
	return nil
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

// noticePeriod writes the events of one budget in one period, to which a batch of
// the journal added; from is what does not count of what was spent in it.
func (a *applier) noticePeriod(ctx context.Context, tx *sql.Tx, b *budgetRow, number int64, limit, from llm.Money, journal int64, now time.Time) error {
	first, last := ledger.DaysOf(number)
	var spent llm.Money
	err := tx.QueryRowContext(ctx, "SELECT coalesce(sum(spent), 0) FROM balances WHERE scope = ? AND day BETWEEN ? AND ?", b.id, first, last).Scan(&spent)
	if err != nil {
		return err
	}
	spent -= from
	if spent > limit {
		if err := a.callBack(ctx, tx, b.id, number, journal); err != nil {
			return err
		}
	}
	for _, percent := range thresholds {
		if spent < limit/100*llm.Money(percent) {
			break
		}
		e := budgetEvent{
			Account: b.account, Scope: "account", Period: string(ledger.PeriodOf(number)), Number: number,
			LimitUSD: limit.String(), SpentUSD: spent.String(), Percent: percent, Credit: b.credit.Valid && number == 0,
		}
		if b.id != b.account {
			e.Scope, e.Key = "key", b.id
		}
		if err := a.tell(ctx, tx, &e, now); err != nil {
			return err
		}
	}
	return nil
}

// callBack has all other nodes give back what they have of a budget that is
// passed, because a provider billed more than it was asked for: so nobody spends
// any more of it.
func (a *applier) callBack(ctx context.Context, tx *sql.Tx, scope string, number, journal int64) error {
	if !a.engine.shared {
		return nil
	}
	now, err := a.engine.now(ctx, tx)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO slices (scope, period, journal, granted, wanted) VALUES (?, ?, ?, 0, ?)"+
		" ON CONFLICT (scope, period, journal) DO UPDATE SET wanted = excluded.wanted", scope, number, journal, now)
	return err
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

// tell writes the event, if it is not there.
func (a *applier) tell(ctx context.Context, tx *sql.Tx, e *budgetEvent, now time.Time) error {
	name := strings.Join([]string{"budget", e.Account, e.Key, e.LimitUSD, strconv.FormatInt(e.Number, 10), strconv.FormatInt(e.Percent, 10)}, "/")
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
