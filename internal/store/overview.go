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

// Reports reads the ledger for people and programs.
type Reports struct{ *conn }

var errRange = fmt.Errorf("use dates of the form %s, the first not after the last, and at most %d days",
	time.DateOnly, report.MaxDays)

// daysBetween returns all days of a range, in their stored form, as arguments of a query. Queries list the days
// because the rows of an account are not adjacent: those of a day are followed by other accounts' rows.
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

// among returns the condition that a column has one of n values.
func among(column string, n int) string {
	return column + " IN (?" + strings.Repeat(", ?", n-1) + ")"
}

// Overview returns an account's usage between two dates, by day, and by the models that cost most. The database adds
// it up from rollups. It returns an error if the range is invalid.
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
	days   map[int64]int  // indexes into Days
	models map[string]int // indexes into Models
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

// usedRow holds the sums of a day, or of a model on a day.
type usedRow struct {
	day   int64
	model string
	report.Sum
}

// readDays reads the sums of days and their total.
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

// readUsed calls fn with rows of uses and of speeds. key lists the first columns; function, which may be empty, is
// applied to the others.
func readUsed(ctx context.Context, q querier, key, function, where string, args []any, fn func(*usedRow) error) error {
	var m sums
	var r usedRow
	dest := append([]any{&r.day, &r.model}, m.dest()...) // reused, because there may be many rows
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

// columnsBy applies an SQL function, which may be empty, to columns.
func columnsBy(function string, columns []string) string {
	return function + "(" + strings.Join(columns, "), "+function+"(") + ")"
}

// reported converts sums for reports.
func (s *sums) reported() report.Sum {
	return report.Sum{
		Usage: *s.usage(), Cost: s.charge(), Requests: s[measureRequests], Attempts: s[measureAttempts],
		Errors: s[measureErrors], Unpriced: s.unpriced(), Estimated: s[measureEstimated],
		Unknown: s[measureUnknown], Uncertain: s.uncertain(), Margin: s.marginOf(),
	}
}

// KeySpend returns the usage of each key of an account between two dates, see OverviewQuery, by descending charge, up
// to most of them. Unused keys are not in it.
func (s *Reports) KeySpend(ctx context.Context, account, from, to string, most int) ([]report.KeySum, error) {
	days, err := daysBetween(from, to)
	if err != nil {
		return nil, fmt.Errorf("read spending of keys: %w", err)
	}
	return reportList(ctx, s.conn, account, "read spending of keys", func(row scanner) (k report.KeySum, err error) {
		return k, row.Scan(&k.Key, &k.Requests, &k.Cost, &k.Uncertain, &k.Unpriced)
	}, "SELECT key, sum(requests), sum(cost + margin), sum(uncertain + margin_uncertain), sum(unpriced +"+
		" margin_unpriced) FROM rollup_day WHERE account = ? AND "+
		among("period", len(days))+" GROUP BY key HAVING "+used("sum", "")+" ORDER BY 3 DESC, 2 DESC, 1 LIMIT ?",
		slices.Concat([]any{account}, days, []any{most})...)
}

var errMonth = errors.New("not a month of the form yyyymm")

// KeysUsed returns when each key of an account was last used, by id. It is the time when its last attempt was opened.
// Unused keys are not in it.
func (s *Reports) KeysUsed(ctx context.Context, account string) (map[string]time.Time, error) {
	used := map[string]time.Time{}
	err := s.report(ctx, account, "read last use of keys", func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(
			ctx, "SELECT u.key, u.at FROM keys k JOIN key_used u ON u.key = k.id WHERE k.account = ?", account)
		return eachRow(rows, err, func(row scanner) error {
			var key string
			var at int64
			err := row.Scan(&key, &at)
			used[key] = fromMicros(at)
			return err
		})
	})
	return used, err
}

// AccountsOverview returns the usage of every account in a month, yyyymm, by descending charge.
func (s *Reports) AccountsOverview(ctx context.Context, month int64) (list []report.AccountSum, err error) {
	if budget.PeriodOf(month) != budget.PeriodMonth {
		return nil, fmt.Errorf("read overview of accounts: %d: %w", month, errMonth)
	}
	f := usesFilter{all: true}
	f.from, f.to = budget.DaysOf(month)
	q := report.UsesQuery{By: []report.Dimension{report.ByAccount}}
	u := newUsesRows(newUsesGroups(&f, q, nil), q)
	u.most = math.MaxInt // at most the number of accounts
	err = s.at(ctx, "", "read overview of accounts", func(m *moment) error {
		if err := m.readOfAll(ctx, u); err != nil {
			return err
		}
		rows, err := m.tx.QueryContext(ctx, "SELECT a.id, (SELECT coalesce(max(w.at), 0) FROM keys k JOIN key_used w"+
			" ON w.key = k.id WHERE k.account = a.id)"+
			" FROM accounts a")
		list, err = collect(rows, err, u.scanAccountSum)
		return err
	})
	slices.SortFunc(list, func(a, b report.AccountSum) int {
		return cmp.Or(cmp.Compare(b.Cost, a.Cost), cmp.Compare(b.Requests, a.Requests),
			strings.Compare(a.Account, b.Account))
	})
	return list, err
}

// scanAccountSum scans an account and the time of its last use, and adds its usage.
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

// Unpriced returns the models that were used without a price, by name.
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

// FirstDay returns the first UTC day with usage of a provider, as time.DateOnly; empty for none.
func (s *Reports) FirstDay(ctx context.Context, provider string) (string, error) {
	scan := scanOne[int64]
	days, err := reportList(ctx, s.conn, "", "read first use of a provider", scan,
		"SELECT period FROM rollup_day WHERE provider = ? ORDER BY period LIMIT 1", provider)
	if err != nil || len(days) == 0 {
		return "", err
	}
	return dateText(days[0]), nil
}

// UnseenAttempts returns up to most attempts of a model ("<provider>/<model>") on a UTC day that have an unseen end:
// see ledger.Row.Unseen.
func (s *Reports) UnseenAttempts(ctx context.Context, date, model string, most int) ([]ledger.Entry, error) {
	day, err := parseDate(date, lastDay)
	if err != nil {
		return nil, fmt.Errorf("read attempts whose end was not seen: %w", err)
	}
	var list []ledger.Entry
	err = s.report(ctx, "", "read attempts whose end was not seen", func(tx *sql.Tx) error {
		query := ofDay(day)
		query.least = stateUnseen
		err := walk(ctx, tx, query, func(r *storedRow) error {
			if r.FullModel() == model {
				list = append(list, r.Entry)
			}
			if len(list) >= most {
				return errEnough
			}
			return nil
		})
		if errors.Is(err, errEnough) {
			return nil
		}
		return err
	})
	return list, err
}

// errEnough ends a walk.
var errEnough = errors.New("the list is complete")

// isUncertain is the SQL condition that the cost or the charge in a row r of a rollup is uncertain: the charge at an
// account's own price may have an upper bound when the cost has none.
const isUncertain = "(r.uncertain > 0 OR r.margin_uncertain > 0)"

// Unseen returns for each account the unresolved attempts between two dates, see UsesQuery, that have an unseen end;
// accounts without any are not in it. The accounts with the highest uncertain amount come first. It reads only
// rollups and corrections.
func (s *Reports) Unseen(ctx context.Context, from, to string) ([]report.UnseenSum, error) {
	f, err := newUsesFilter(report.UsesQuery{From: from, To: to})
	if err != nil {
		return nil, fmt.Errorf("read attempts whose end was not seen: %w", err)
	}
	// An attempt that is resolved remains estimated in the rollup, but no longer uncertain, and its row is deleted in
	// time. A resolved one without a row is assumed to have been estimated.
	scan := func(row scanner) (u report.UnseenSum, err error) {
		var first int64
		err = row.Scan(&u.Account, &u.Attempts, &u.Uncertain, &first)
		u.First = dateText(first)
		return u, err
	}
	return reportList(ctx, s.conn, "", "read attempts whose end was not seen", scan,
		"SELECT u.account, sum(u.attempts) AS attempts, sum(u.uncertain) AS uncertain, min(u.period) FROM ("+
			"SELECT r.account, r.period, r.uncertain, r.unknown + CASE WHEN "+isUncertain+" THEN r.estimated - "+
			"(SELECT "+
			"count(*) FROM corrections c"+
			" LEFT JOIN attempts a ON a.day = c.day AND a.request = c.request AND a.n = c.n"+
			" LEFT JOIN attempt_rows p ON p.day = c.day AND p.id = "+s.engine.rowID+
			" WHERE c.day = r.period AND c.account = r.account AND c.model = r.model AND c.kind = '"+
			ledger.CorrectionResolved+"'"+
			" AND c.unknown = 0 AND coalesce(a.provenance, 'estimated') = 'estimated'"+
			" AND coalesce(p.state, 3) <> 2) ELSE 0 END AS attempts"+
			" FROM rollup_uses r WHERE ("+isUncertain+" OR r.unknown > 0) AND r.period BETWEEN ? AND ?) AS u"+
			" WHERE u.attempts > 0 GROUP BY u.account ORDER BY 3 DESC, 2 DESC, 1", f.from, f.to)
}
