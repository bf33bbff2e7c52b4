package store

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strings"

	"weir/internal/llm"
	"weir/internal/report"
)

// firstDay and lastDay are the open bounds of stored dates.
const (
	firstDay = 0
	lastDay  = 9999_12_31
)

// Uses returns a page of an account's usage. It reads only rollups: by date and model the one without keys, over all
// accounts the packed one. By end users and tags it reads their sums, and the rows of attempts that are not in them. By
// minute it reads rows.
func (s *Reports) Uses(ctx context.Context, q report.UsesQuery) (page report.UsesPage, err error) {
	err = s.at(ctx, q.Account, "read uses", func(m *moment) (err error) {
		page, err = m.uses(ctx, q)
		return err
	})
	return page, err
}

// UsesTogether calls fn to read several reports of an account, or of all accounts if it is empty: uses is like Uses.
// They are of one moment of the database, and what they share is read once.
func (s *Reports) UsesTogether(ctx context.Context, account string,
	fn func(uses func(report.UsesQuery) (report.UsesPage, error)) error,
) error {
	return s.at(ctx, account, "read uses", func(m *moment) error {
		return fn(func(q report.UsesQuery) (report.UsesPage, error) { return m.uses(ctx, q) })
	})
}

// uses is Reports.Uses as of this moment. The account must be that of the moment.
func (m *moment) uses(ctx context.Context, q report.UsesQuery) (page report.UsesPage, err error) {
	if q.Top == 0 {
		return m.usesOf(ctx, q, nil)
	}
	if err := q.CheckTop(); err != nil {
		return page, err
	}
	at, top := q.Ranked(), q
	if q.Apart != nil {
		return m.usesOf(ctx, q, &separate{at, q.Apart})
	}
	top.By, top.Sort, top.Top, top.Limit, top.Offset = q.By[at:at+1], cmp.Or(q.Sort, report.MeasureCost), 0, q.Top, 0
	if page, err = m.usesOf(ctx, top, nil); err != nil {
		return page, err
	}
	apart := &separate{at: at}
	for i := range page.Uses {
		apart.values = append(apart.values, page.Uses[i].Group[0])
	}
	return m.usesOf(ctx, q, apart)
}

// separate names the values of a dimension that are not summed up as report.Other.
type separate struct {
	at     int // the index of the dimension
	values []*string
}

func (m *moment) usesOf(ctx context.Context, q report.UsesQuery, apart *separate) (page report.UsesPage, err error) {
	f, err := newUsesFilter(q)
	if err != nil {
		return page, err
	}
	if err := f.checkMinutes(q.By, m.reports.clock.now()); err != nil {
		return page, err
	}
	groups := newUsesGroups(&f, q, apart)
	switch {
	case q.Speeds:
		return m.pageOfSpeeds(ctx, newUsesRows(groups, q), q.Limit, q.Offset)
	case q.ByAttribution() || f.byMinute(q.By):
		return newUsesRows(groups, q).page(ctx, m, q.Limit, q.Offset)
	case f.all:
		return m.pageOfAll(ctx, newUsesRows(groups, q), q.Limit, q.Offset)
	case len(q.By) > 0 || q.Sort != "" || q.Failed || groups.table != tableUses:
		return groups.page(ctx, m.tx, q.Limit, q.Offset)
	}
	return f.page(ctx, m.tx, m.reports.engine, q.Limit, q.Offset)
}

// usesFilter holds the filters of a query.
type usesFilter struct {
	account, model, provider, key string // empty for all
	all                           bool   // of all accounts
	from, to                      int64
	timeRange
}

func newUsesFilter(q report.UsesQuery) (f usesFilter, err error) {
	f = usesFilter{
		account: q.Account, model: q.Model, provider: q.Provider, key: q.Key, all: q.All && q.Account == "",
	}
	if f.from, err = parseDate(q.From, firstDay); err != nil {
		return f, err
	}
	if f.to, err = parseDate(q.To, lastDay); err != nil {
		return f, err
	}
	if !q.Since.IsZero() {
		f.from = max(f.from, dayOf(q.Since))
	}
	if !q.Until.IsZero() {
		f.to = min(f.to, dayOf(q.Until.Add(-1)))
	}
	if isPartOfDay(q.Since) || isPartOfDay(q.Until) || slices.Contains(q.By, report.ByMinute) {
		f.timeRange = timeRange{q.Since, q.Until}
	}
	return f, nil
}

// used returns the condition that sums contain usage; function is an SQL function for each column, or empty. Attempts
// without a charge add rows to the rollup too: targets that failed and were replaced by another one, and model names
// that a client has misspelt.
func used(function, row string) string {
	column := func(name string) string { return function + "(" + row + name + ") <> 0" }
	return "(" + column("requests") + " OR " + column("tokens") + " OR " + column("cost") + " OR " +
		column("uncertain") + " OR " + column("margin") + " OR " + column("margin_uncertain") + ")"
}

// usedUp returns the condition that a row of the rollup has usage of any class, or a cost.
func usedUp() string {
	columns := []string{"tokens", "cost", "uncertain"}
	for c := llm.NumTokens; c < llm.NumClasses; c++ {
		columns = append(columns, "use_"+llm.Class(c).String())
	}
	return "(" + strings.Join(columns, " <> 0 OR ") + " <> 0)"
}

// where returns the condition without its period, for rows r of the rollup.
func (f *usesFilter) where() (text string, args []any) {
	text, args = f.among()
	return text + " AND " + used("", "r."), args
}

// among returns the condition without its days, for rows r of attempts or of sums.
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
	if f.provider != "" {
		text, args = text+" AND r.provider = ?", append(args, f.provider)
	}
	return text, args
}

// daysOf returns the days between two bounds that have rows in a table, newest first. It jumps from day to day
// through the table's primary key, so its cost does not depend on the rows in between.
func daysOf(ctx context.Context, q querier, table, column string, from, to int64) ([]int64, error) {
	query := strings.NewReplacer("TABLE", table, "COLUMN", column).Replace(
		"WITH RECURSIVE days (day) AS (" + "SELECT (SELECT max(COLUMN) FROM TABLE WHERE COLUMN <= ?)" + " UNION ALL " +
			"SELECT (SELECT max(COLUMN) FROM TABLE WHERE COLUMN < days.day) FROM days WHERE days.day > ?)" +
			" SELECT day FROM days WHERE day >= ?")
	rows, err := q.QueryContext(ctx, query, to, from, from)
	return collect(rows, err, scanOne[int64])
}

// scanOne scans a row of one column.
func scanOne[T any](row scanner) (v T, err error) {
	err = row.Scan(&v)
	return v, err
}

// mostNamed is how many periods a query lists: two years of hours.
const mostNamed = 20_000

// periodsOf returns the condition that rows r of a rollup are between two periods. It lists the existing periods,
// because the rows of an account are not adjacent: those of a period are followed by other accounts' rows.
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

// isOn returns the condition that a column is one of those days or other periods. The list has at least two values:
// with a single one SQLite reads the rows of all accounts, instead of the index that has an account's rows by day.
func isOn(column string, days ...int64) string {
	if len(days) == 0 {
		return "1 = 0"
	}
	names := []string{"0"} // 0 is not a day
	for _, day := range days {
		names = append(names, count(day))
	}
	return column + " IN (" + strings.Join(names, ", ") + ")"
}

// usesDay holds the sums of one day.
type usesDay struct {
	day     int64
	entries int
	total   report.Totals
}

// page first adds up each day, and then reads the days on the page.
func (f *usesFilter) page(ctx context.Context, tx *sql.Tx, e *engine, limit, offset int) (page report.UsesPage,
	err error,
) {
	days, err := f.days(ctx, tx, e)
	if err != nil {
		return page, err
	}
	var on []any // the days on the page
	skip := 0    // entries of the first day that are before the page
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
	// Only the first and the last day may have entries outside the page. A single day is read in the order of the
	// table, no further than needed.
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

// days adds up each day that has rows, newest first.
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

// eachDay adds up each day by a query of its own, because an account's rows of a day are adjacent. It is for an
// engine in this process: otherwise each query is a network round trip.
func (f *usesFilter) eachDay(ctx context.Context, tx *sql.Tx, days []int64) ([]usesDay, error) {
	where, args := f.where()
	stmt, err := tx.PrepareContext(
		ctx, "SELECT count(*), "+totalsOrNone(totalColumns("r."))+
			" FROM rollup_uses r WHERE r.period = ? AND "+where)
	if err != nil {
		return nil, err
	}
	defer stmt.Close()
	// A query that can be interrupted costs a goroutine, more than the query. ctx still ends the transaction.
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

// allDays adds up all days with one query. An index of the account's rows contains the sums, in the order of the
// groups.
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

// entries reads the entries of those days. The query lists the days, because the rows of an account are not adjacent.
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

// use converts the sums to an entry.
func (s *sums) use() report.Use {
	return report.Use{
		Usage: *s.usage(), Requests: s[measureRequests], Attempts: s[measureAttempts], Errors: s[measureErrors],
		Cost: s.charge(), Unpriced: s.unpriced(), Missed: s.missed(), Uncertain: s.uncertain(),
		Unseen: s[measureEstimated] + s[measureUnknown], Margin: s.marginOf(),
		Cached: s[measureCached], Saved: llm.Money(s[measureSaved]),
	}
}

// totalColumns returns the columns for totalsDest. Costs are the account's charges.
func totalColumns(row string) []string {
	return []string{
		row + "tokens", row + "requests", row + "cost + " + row + "margin",
		row + "uncertain + " + row + "margin_uncertain", row + "margin", row + "margin_uncertain",
		row + "unpriced + " + row + "margin_unpriced", row + "margin_unpriced",
	}
}

// totalsOrNone adds up columns, to 0 if there are no rows.
func totalsOrNone(columns []string) string {
	return "coalesce(sum(" + strings.Join(columns, "), 0), coalesce(sum(") + "), 0)"
}

func totalsDest(t *report.Totals) []any {
	return []any{
		&t.Tokens, &t.Requests, &t.Cost, &t.Uncertain, &t.Margin.Margin, &t.MarginUncertain, &t.Unpriced,
		&t.MarginUnpriced,
	}
}
