package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"weir/internal/llm"
	"weir/internal/report"
)

// firstDay and lastDay are no bounds, as dates are stored.
const (
	firstDay = 0
	lastDay  = 9999_12_31
)

// Uses is a page of an account's usage. It reads rollups alone: by date and model the one without keys; of all
// accounts what is packed of them. By end users and tags it reads their sums, and the rows of attempts that are not in them.
func (s *Reports) Uses(ctx context.Context, q report.UsesQuery) (page report.UsesPage, err error) {
	f, err := newUsesFilter(q)
	if err != nil {
		return page, fmt.Errorf("read uses: %w", err)
	}
	err = s.report(ctx, q.Account, "read uses", func(tx *sql.Tx) (err error) {
		switch {
		case q.ByAttribution():
			page, err = newUsesRows(&f, q).page(ctx, tx, q.Limit, q.Offset)
		case f.all && !slices.Contains(q.By, report.ByHour):
			page, err = s.pageOfAll(ctx, tx, newUsesRows(&f, q), q.Limit, q.Offset)
		case len(q.By) > 0 || q.Key != "" || q.ByCost:
			page, err = newUsesGroups(&f, q).page(ctx, tx, q.Limit, q.Offset)
		default:
			page, err = f.page(ctx, tx, s.engine, q.Limit, q.Offset)
		}
		return err
	})
	return page, err
}

// usesFilter is what a query selects.
type usesFilter struct {
	account, model, key string // empty for all models, for all keys
	all                 bool   // of all accounts
	from, to            int64
}

func newUsesFilter(q report.UsesQuery) (f usesFilter, err error) {
	f = usesFilter{account: q.Account, model: q.Model, key: q.Key, all: q.All && q.Account == ""}
	if f.from, err = parseDate(q.From, firstDay); err != nil {
		return f, err
	}
	f.to, err = parseDate(q.To, lastDay)
	return f, err
}

// used is the condition on sums, each by a function of SQL or by none, that something was used.
// Attempts that nobody was charged for add a row to the rollup as well: of a target that another
// one stood in for, and of a model that a client has misspelt.
func used(function, row string) string {
	column := func(name string) string { return function + "(" + row + name + ") <> 0" }
	return "(" + column("requests") + " OR " + column("tokens") + " OR " + column("cost") + " OR " +
		column("uncertain") + " OR " + column("margin") + " OR " + column("margin_uncertain") + ")"
}

// usedUp is the condition on a row of the rollup that something was used that has a price: tokens,
// or units of another class.
func usedUp() string {
	columns := []string{"tokens", "cost", "uncertain"}
	for c := llm.NumTokens; c < llm.NumClasses; c++ {
		columns = append(columns, "use_"+llm.Class(c).String())
	}
	return "(" + strings.Join(columns, " <> 0 OR ") + " <> 0)"
}

// where is the condition on the rows r of the rollup, apart from the period.
func (f *usesFilter) where() (text string, args []any) {
	text, args = f.among()
	return text + " AND " + used("", "r."), args
}

// among is the condition on rows r of attempts or sums, of whatever day.
func (f *usesFilter) among() (text string, args []any) {
	if text, args = "r.account = ?", []any{f.account}; f.all {
		text, args = "1 = 1", nil
	}
	if f.model != "" {
		text, args = text+" AND r.model = ?", append(args, f.model)
	}
	if f.key != "" {
		text, args = text+" AND r.key = ?", append(args, f.key)
	}
	return text, args
}

// daysOf selects the days between two bounds for which a table has rows, the
// newest first. It jumps from day to day through the table's primary key, and
// so costs nothing for the rows between.
func daysOf(ctx context.Context, q querier, table, column string, from, to int64) ([]int64, error) {
	query := strings.NewReplacer("TABLE", table, "COLUMN", column).Replace(
		"WITH RECURSIVE days (day) AS (" + "SELECT (SELECT max(COLUMN) FROM TABLE WHERE COLUMN <= ?)" + " UNION ALL " +
			"SELECT (SELECT max(COLUMN) FROM TABLE WHERE COLUMN < days.day) FROM days WHERE days.day > ?)" +
			" SELECT day FROM days WHERE day >= ?")
	rows, err := q.QueryContext(ctx, query, to, from, from)
	return collect(rows, err, scanOne[int64])
}

// scanOne reads a row of one column.
func scanOne[T any](row scanner) (v T, err error) {
	err = row.Scan(&v)
	return v, err
}

// mostNamed is how many periods a query names one by one, which are two years of hours.
const mostNamed = 20_000

// periodsOf is the condition on the rows r of a rollup that they are between two periods. It names those that
// there are one by one, because between two periods of an account lie the rows of all others.
func periodsOf(ctx context.Context, q querier, table string, from, to int64) (string, error) {
	periods, err := daysOf(ctx, q, table, "period", from, to)
	switch {
	case err != nil:
		return "", err
	case len(periods) > mostNamed:
		return "r.period BETWEEN " + count(from) + " AND " + count(to), nil
	}
	return isOn("r.period", periods...), nil
}

// isOn is the condition on a column that it is one of those days, or other periods. There are two at least: of one alone SQLite reads the
// rows of all accounts, where an index has those of one account on some days.
func isOn(column string, days ...int64) string {
	if len(days) == 0 {
		return "1 = 0"
	}
	names := []string{"0"} // which is no day
	for _, day := range days {
		names = append(names, count(day))
	}
	return column + " IN (" + strings.Join(names, ", ") + ")"
}

// usesDay is what one day has.
type usesDay struct {
	day     int64
	entries int
	total   report.Totals
}

// page first adds up each day, and then reads the days that the page is of.
func (f *usesFilter) page(ctx context.Context, tx *sql.Tx, e *engine, limit, offset int) (page report.UsesPage,
	err error,
) {
	days, err := f.days(ctx, tx, e)
	if err != nil {
		return page, err
	}
	var on []any // the days that the page is of
	skip := 0    // entries of the first of them that are not on it
	for _, d := range days {
		if end := page.Count + d.entries; end > offset && page.Count < offset+limit {
			if len(on) == 0 {
				skip = offset - page.Count
			}
			on = append(on, d.day)
		}
		page.Count += d.entries
		page.Total.Add(&d.total)
	}
	// Only the first and the last day may have more than the page: one alone is read in the order of
	// the table, no further than needed.
	first, last := min(1, len(on)), min(max(1, len(on)-1), len(on))
	for _, some := range [][]any{on[:first], on[first:last], on[last:]} {
		if len(some) == 0 {
			continue
		}
		uses, err := f.entries(ctx, tx, some, limit-len(page.Uses), skip)
		if err != nil {
			return page, err
		}
		page.Uses, skip = append(page.Uses, uses...), 0
	}
	return page, nil
}

// days adds up each day that has rows, the newest first.
func (f *usesFilter) days(ctx context.Context, tx *sql.Tx, e *engine) ([]usesDay, error) {
	if e.daysTogether {
		return f.allDays(ctx, tx)
	}
	days, err := daysOf(ctx, tx, tableUses, "period", f.from, f.to)
	if err != nil {
		return nil, err
	}
	return f.eachDay(ctx, tx, days)
}

// eachDay adds up each day by itself: an account's rows of one lie together,
// between two days lie those of all others. It is for an engine that is in this
// process: elsewhere each query takes a way there.
func (f *usesFilter) eachDay(ctx context.Context, tx *sql.Tx, days []int64) ([]usesDay, error) {
	where, args := f.where()
	stmt, err := tx.PrepareContext(
		ctx, "SELECT count(*), "+totalsOrNone(totalColumns("r."))+
			" FROM rollup_uses r WHERE r.period = ? AND "+where)
	if err != nil {
		return nil, err
	}
	defer stmt.Close()
	// A query that can be interrupted costs a goroutine, more than the query.
	// ctx still ends the transaction.
	ctx = context.WithoutCancel(ctx)
	list := make([]usesDay, len(days))
	for i, day := range days {
		d := &list[i]
		d.day = day
		err := stmt.QueryRowContext(ctx, append([]any{day}, args...)...).
			Scan(append([]any{&d.entries}, totalsDest(&d.total)...)...)
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// allDays adds up all days with one query. An index of the account's rows has the sums,
// in the order in which they are grouped.
func (f *usesFilter) allDays(ctx context.Context, tx *sql.Tx) ([]usesDay, error) {
	where, args := f.where()
	rows, err := tx.QueryContext(
		ctx, "SELECT r.period, count(*), "+columnsBy("sum", totalColumns("r."))+
			" FROM rollup_uses r WHERE "+where+" AND r.period BETWEEN ? AND ? GROUP BY r.period ORDER BY r.period DESC",
		append(args, f.from, f.to)...)
	return collect(rows, err, func(row scanner) (d usesDay, err error) {
		return d, row.Scan(append([]any{&d.day, &d.entries}, totalsDest(&d.total)...)...)
	})
}

// entries reads the entries of those days. They are named one by one, because
// between two days lie the rows of all accounts.
func (f *usesFilter) entries(ctx context.Context, tx *sql.Tx, days []any, limit, offset int) ([]report.Use, error) {
	where, args := f.where()
	query := "SELECT r.period, r.model, r." + strings.Join(measureColumns(), ", r.") +
		" FROM rollup_uses r WHERE r.period IN (?" + strings.Repeat(", ?", len(days)-1) + ") AND " + where +
		" ORDER BY r.period DESC, r.model LIMIT ? OFFSET ?"
	rows, err := tx.QueryContext(ctx, query, slices.Concat(days, args, []any{limit, offset})...)
	return collect(rows, err, scanUse)
}

func scanUse(row scanner) (u report.Use, err error) {
	var (
		day   int64
		model string
		sum   sums
	)
	if err := row.Scan(append([]any{&day, &model}, sum.dest()...)...); err != nil {
		return u, err
	}
	u = sum.use()
	u.Date, u.Model = dateText(day), model
	return u, nil
}

// use are the sums as an entry.
func (s *sums) use() report.Use {
	return report.Use{
		Usage: *s.usage(), Requests: s[measureRequests], Cost: s.charge(), Unpriced: s.unpriced(),
		Uncertain: s.uncertain(), Unseen: s[measureEstimated] + s[measureUnknown], Margin: s.marginOf(),
	}
}

// totalColumns are the sums that totalsDest has the places of: costs are what the account is charged.
func totalColumns(row string) []string {
	return []string{
		row + "tokens", row + "requests", row + "cost + " + row + "margin", row + "uncertain + " + row + "margin_uncertain",
		row + "margin", row + "margin_uncertain", row + "unpriced + " + row + "margin_unpriced", row + "margin_unpriced",
	}
}

// totalsOrNone adds up columns, to 0 where there are no rows.
func totalsOrNone(columns []string) string {
	return "coalesce(sum(" + strings.Join(columns, "), 0), coalesce(sum(") + "), 0)"
}

func totalsDest(t *report.Totals) []any {
	return []any{&t.Tokens, &t.Requests, &t.Cost, &t.Uncertain, &t.Margin.Margin, &t.MarginUncertain, &t.Unpriced, &t.MarginUnpriced}
}
