package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"weir/internal/budget"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/report"
)

// Reports are what people and programs read of the ledger.
type Reports struct{ *conn }

var errRange = fmt.Errorf("the dates have to be of the form %s, the first not after the last, at most %d days",
	time.DateOnly, report.MaxDays)

// daysBetween are all days of a range, as they are stored, as arguments of a
// query: between the days of an account lie those of all others, so that days
// are named one by one.
func daysBetween(from, to string) ([]any, error) {
	first, err := time.Parse(time.DateOnly, from)
	last, lerr := time.Parse(time.DateOnly, to)
	if err != nil || lerr != nil || last.Before(first) || last.Sub(first) >= report.MaxDays*24*time.Hour {
		return nil, fmt.Errorf("dates %q to %q: %w", from, to, errRange)
	}
	var days []any
	for d := first; !d.After(last); d = d.AddDate(0, 0, 1) {
		days = append(days, dayOf(d))
	}
	return days, nil
}

// among is the condition that a column has one of n values.
func among(column string, n int) string {
	return column + " IN (?" + strings.Repeat(", ?", n-1) + ")"
}

// Overview is what an account used between two dates, by day, and by the models that cost most. It
// reads rollups alone, which the database adds up. It is an error when the range is not one.
func (s *Reports) Overview(ctx context.Context, q report.OverviewQuery) (report.Overview, error) {
	days, err := daysBetween(q.From, q.To)
	if err != nil {
		return report.Overview{}, fmt.Errorf("read overview: %w", err)
	}
	v := newOverview(days)
	where, args := "account = ? AND "+among("period", len(days)), append([]any{q.Account}, days...)
	if q.Model != "" {
		where, args = where+" AND model = ?", append(args, q.Model)
	}
	err = s.report(ctx, q.Account, "read overview", func(tx *sql.Tx) error {
		ctx := s.engine.within(ctx)
		if err := v.readDays(ctx, tx, where, args); err != nil {
			return err
		}
		return v.readModels(ctx, tx, where, args, q.Models)
	})
	return v.Overview, err
}

// overview adds up rows of days and models.
type overview struct {
	report.Overview
	days   map[int64]int  // places in Days
	models map[string]int // places in Models
}

func newOverview(days []any) *overview {
	v := &overview{days: make(map[int64]int, len(days)), models: map[string]int{}}
	v.Days = make([]report.DaySum, len(days))
	for i, d := range days {
		day := d.(int64)
		v.Days[i].Date = dateText(day)
		v.days[day] = i
	}
	return v
}

// usedRow is what a day has, or a model on a day.
type usedRow struct {
	day   int64
	model string
	report.Sum
}

// readDays reads the sums of days, and those of all.
func (v *overview) readDays(ctx context.Context, q querier, where string, args []any) error {
	return readUsed(ctx, q, "period, ''", "sum", where+" GROUP BY period", args, func(r *usedRow) error {
		v.Days[v.days[r.day]].Add(&r.Sum)
		v.Total.Add(&r.Sum)
		return nil
	})
}

// readModels reads the sums of the models that cost most, at most n.
func (v *overview) readModels(ctx context.Context, q querier, where string, args []any, n int) error {
	if n == 0 {
		return nil
	}
	rows, err := q.QueryContext(ctx, "SELECT model FROM rollup_uses WHERE "+where+
		" GROUP BY model HAVING "+used("sum", "")+
		" ORDER BY sum(cost + margin) DESC, sum(requests) DESC, model LIMIT ?", append(args, n+1)...)
	names, err := collect(rows, err, func(row scanner) (name any, err error) {
		var text string
		err = row.Scan(&text)
		return text, err
	})
	if err != nil || len(names) == 0 {
		return err
	}
	v.More = len(names) > n
	names = names[:min(n, len(names))]
	for i, name := range names {
		v.models[name.(string)] = i
		v.Models = append(v.Models, report.ModelSum{Model: name.(string), Costs: make([]llm.Money, len(v.Days))})
	}
	where, args = where+" AND "+among("model", len(names)), slices.Concat(args, names)
	return readUsed(ctx, q, "period, model", "", where, args, func(r *usedRow) error {
		m := &v.Models[v.models[r.model]]
		m.Add(&r.Sum)
		m.Costs[v.days[r.day]] += r.Cost
		return nil
	})
}

// readUsed calls fn with rows of uses and of speeds: the columns of the key, and the others each by
// a function, which may be none.
func readUsed(ctx context.Context, q querier, key, function, where string, args []any, fn func(*usedRow) error) error {
	var m sums
	var r usedRow
	dest := append([]any{&r.day, &r.model}, m.dest()...) // once: there may be many rows
	rows, err := q.QueryContext(ctx, "SELECT "+key+", "+columnsBy(function, measureColumns())+
		" FROM rollup_uses WHERE "+where, args...)
	if err := each(rows, err, func(row scanner) (usedRow, error) {
		err := row.Scan(dest...)
		r.Sum = m.reported()
		return r, err
	}, fn); err != nil {
		return err
	}
	r.Sum = report.Sum{}
	dest = dest[:2]
	for i := range r.Speed {
		dest = append(dest, &r.Speed[i])
	}
	rows, err = q.QueryContext(ctx, "SELECT "+key+", "+columnsBy(function, speedColumns())+
		" FROM rollup_speed WHERE "+where, args...)
	if err := each(rows, err, func(row scanner) (usedRow, error) { return r, row.Scan(dest...) }, fn); err != nil {
		return fmt.Errorf("speed: %w", err)
	}
	return nil
}

// columnsBy are columns, each by a function of SQL; empty for none.
func columnsBy(function string, columns []string) string {
	return function + "(" + strings.Join(columns, "), "+function+"(") + ")"
}

// reported are the sums in the words of reports.
func (s *sums) reported() report.Sum {
	return report.Sum{
		Usage: *s.usage(), Cost: s.charge(), Requests: s[measureRequests], Attempts: s[measureAttempts],
		Errors: s[measureErrors], Unpriced: s.unpriced(), Estimated: s[measureEstimated],
		Unknown: s[measureUnknown], Uncertain: s.uncertain(), Margin: s.marginOf(),
	}
}

// KeySpend is what each key of an account used between two dates, as
// OverviewQuery has them, the dearest first, at most so many; keys without use are not in it.
func (s *Reports) KeySpend(ctx context.Context, account, from, to string, most int) ([]report.KeySum, error) {
	days, err := daysBetween(from, to)
	if err != nil {
		return nil, fmt.Errorf("read spending of keys: %w", err)
	}
	return reportList(ctx, s.conn, account, "read spending of keys", func(row scanner) (k report.KeySum, err error) {
		return k, row.Scan(&k.Key, &k.Requests, &k.Cost, &k.Uncertain, &k.Unpriced)
	}, "SELECT key, sum(requests), sum(cost + margin), sum(uncertain + margin_uncertain), sum(unpriced + margin_unpriced) FROM rollup_day WHERE account = ? AND "+
		among("period", len(days))+" GROUP BY key HAVING "+used("sum", "")+" ORDER BY 3 DESC, 2 DESC, 1 LIMIT ?",
		slices.Concat([]any{account}, days, []any{most})...)
}

var errMonth = errors.New("not a month, which is yyyymm")

// AccountsOverview is what every account there is used in a month, yyyymm, the
// dearest first.
func (s *Reports) AccountsOverview(ctx context.Context, month int64) (list []report.AccountSum, err error) {
	if budget.PeriodOf(month) != budget.PeriodMonth {
		return nil, fmt.Errorf("read overview of accounts: %d: %w", month, errMonth)
	}
	f := usesFilter{all: true}
	f.from, f.to = budget.DaysOf(month)
	u := newUsesRows(&f, report.UsesQuery{By: []report.Dimension{report.ByAccount}})
	u.most = math.MaxInt // no more than there are accounts
	err = s.report(ctx, "", "read overview of accounts", func(tx *sql.Tx) error {
		if err := s.readOfAll(ctx, tx, u); err != nil {
			return err
		}
		rows, err := tx.QueryContext(ctx, "SELECT a.id, (SELECT coalesce(max(w.at), 0) FROM keys k JOIN key_used w ON w.key = k.id WHERE k.account = a.id)"+
			" FROM accounts a")
		list, err = collect(rows, err, u.scanAccountSum)
		return err
	})
	slices.SortFunc(list, func(a, b report.AccountSum) int {
		return cmp.Or(cmp.Compare(b.Cost, a.Cost), cmp.Compare(b.Requests, a.Requests), strings.Compare(a.Account, b.Account))
	})
	return list, err
}

// scanAccountSum reads an account and when it was last used, and adds what it used.
func (u *usesRows) scanAccountSum(row scanner) (a report.AccountSum, err error) {
	var used int64
	if err := row.Scan(&a.Account, &used); err != nil {
		return a, err
	}
	if used > 0 {
		a.Used = fromMicros(used)
	}
	g, err := u.groupOf([]*string{&a.Account})
	if err == nil {
		a.Requests, a.Cost, a.Uncertain, a.Margin = g.sums[measureRequests], g.charge(), g.uncertain(), g.marginOf()
		a.Errors, a.Unpriced = g.sums[measureErrors], g.unpriced()
	}
	return a, err
}

// Unpriced are the models that were used without a price, by name.
func (s *Reports) Unpriced(ctx context.Context, q report.UnpricedQuery) ([]report.UnpricedModel, error) {
	f, err := newUsesFilter(report.UsesQuery{From: q.From, To: q.To})
	if err != nil {
		return nil, fmt.Errorf("read models without a price: %w", err)
	}
	scan := func(row scanner) (m report.UnpricedModel, err error) {
		var first, last int64
		err = row.Scan(&m.Model, &m.Attempts, &m.Accounts, &first, &last)
		m.First, m.Last = dateText(first), dateText(last)
		return m, err
	}
	return reportList(ctx, s.conn, "", "read models without a price", scan,
		"SELECT model, sum(unpriced), count(DISTINCT account), min(period), max(period)"+
			" FROM rollup_uses WHERE unpriced > 0 AND "+usedUp()+
			" AND period BETWEEN ? AND ? AND model > ? GROUP BY model ORDER BY model LIMIT ?",
		f.from, f.to, q.After, q.Limit)
}

// FirstDay is the first UTC day on which a provider was used, as time.DateOnly has it; empty for none.
func (s *Reports) FirstDay(ctx context.Context, provider string) (string, error) {
	scan := scanOne[int64]
	days, err := reportList(ctx, s.conn, "", "read when a provider was used first", scan,
		"SELECT period FROM rollup_day WHERE provider = ? ORDER BY period LIMIT 1", provider)
	if err != nil || len(days) == 0 {
		return "", err
	}
	return dateText(days[0]), nil
}

// UnseenAttempts are at most so many attempts of a model ("<provider>/<model>") on a UTC day whose end nobody saw: see
// ledger.Row.Unseen.
func (s *Reports) UnseenAttempts(ctx context.Context, date, model string, most int) ([]ledger.Entry, error) {
	day, err := parseDate(date, lastDay)
	if err != nil {
		return nil, fmt.Errorf("read attempts whose end was not seen: %w", err)
	}
	return reportList(ctx, s.conn, "", "read attempts whose end was not seen", scanEntry, "SELECT "+attemptColumns+
		" FROM attempts WHERE day = ? AND model = ? AND outcome <> 'open' AND "+isUnseen+" LIMIT ?", day, model, int64(most))
}

// isUncertain says of a row r of a rollup that nobody knows what something cost or is charged: the charge at an account's own
// price may have a bound where the cost has none.
const isUncertain = "(r.uncertain > 0 OR r.margin_uncertain > 0)"

// Unseen is what each account has between two dates, as UsesQuery has them, of attempts
// whose end nobody saw and that nobody has resolved; accounts without any are not in it.
// Those that may have cost most come first. It reads rollups and corrections alone.
func (s *Reports) Unseen(ctx context.Context, from, to string) ([]report.UnseenSum, error) {
	f, err := newUsesFilter(report.UsesQuery{From: from, To: to})
	if err != nil {
		return nil, fmt.Errorf("read attempts whose end was not seen: %w", err)
	}
	// An estimated attempt stays one when it is resolved; what is uncertain of it goes, and
	// its row in time. A resolved one whose row is gone is taken to have been estimated.
	scan := func(row scanner) (u report.UnseenSum, err error) {
		var first int64
		err = row.Scan(&u.Account, &u.Attempts, &u.Uncertain, &first)
		u.First = dateText(first)
		return u, err
	}
	return reportList(ctx, s.conn, "", "read attempts whose end was not seen", scan, "SELECT u.account, sum(u.attempts) AS attempts, sum(u.uncertain) AS uncertain, min(u.period) FROM ("+
		"SELECT r.account, r.period, r.uncertain, r.unknown + CASE WHEN "+isUncertain+" THEN r.estimated - "+
		"(SELECT "+
		"count(*) FROM corrections c"+
		" LEFT JOIN attempts a ON a.day = c.day AND a.request = c.request AND a.n = c.n"+
		" WHERE c.day = r.period AND c.account = r.account AND c.model = r.model AND c.kind = '"+
		ledger.CorrectionResolved+"'"+
		" AND c.unknown = 0 AND coalesce(a.provenance, 'estimated') = 'estimated') ELSE 0 END AS attempts"+
		" FROM rollup_uses r WHERE ("+isUncertain+" OR r.unknown > 0) AND r.period BETWEEN ? AND ?) AS u"+
		" WHERE u.attempts > 0 GROUP BY u.account ORDER BY 3 DESC, 2 DESC, 1", f.from, f.to)
}
