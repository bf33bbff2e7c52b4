package store

import (
	"cmp"
	"context"
	"database/sql"
	"maps"
	"slices"
	"strings"
	"time"

	"weir/internal/refusal"
)

// Units of the sums over all accounts, in seconds.
const (
	refusalsHour = 3600
	refusalsDay  = 24 * refusalsHour
)

// Columns of the sums over all accounts. sumsByPair, before a reason, is the column of accounts for that reason.
const (
	sumsByAccount = "account"
	sumsByKey     = "key"
	sumsByModel   = "model"
	sumsByReason  = "reason"
	sumsByPair    = "/"
)

// refusalSum identifies a sum of the refusals of an hour or a day over all accounts.
type refusalSum struct {
	unit   int64 // in seconds
	column string
	period int64  // start of the hour or day, in Unix seconds
	value  string // of the column
}

func (s refusalSum) compare(o refusalSum) int {
	return cmp.Or(cmp.Compare(s.unit, o.unit), strings.Compare(s.column, o.column), cmp.Compare(s.period, o.period),
		strings.Compare(s.value, o.value))
}

// refusalSumsOf adds up counts by hour and by day.
func refusalSumsOf(counts []refusal.Count) map[refusalSum]int64 {
	all := map[refusalSum]int64{}
	for i := range counts {
		c := &counts[i]
		for _, unit := range []int64{refusalsHour, refusalsDay} {
			period := c.Minute - c.Minute%unit
			for column, value := range map[string]string{
				sumsByAccount: c.Account, sumsByKey: c.Key, sumsByModel: c.Model, sumsByReason: string(c.Reason),
				sumsByPair + string(c.Reason): c.Account,
			} {
				all[refusalSum{unit, column, period, value}] += c.N
			}
		}
	}
	return all
}

// addRefusalSums adds counts to the sums over all accounts. All nodes write to the same rows in the same order, at the
// end of their transactions.
func addRefusalSums(ctx context.Context, tx *sql.Tx, counts []refusal.Count) error {
	in := insertion{
		head:    "INSERT INTO refusals_sums (unit, grouped, period, value, n) VALUES ",
		columns: 5,
		tail:    " ON CONFLICT (unit, grouped, period, value) DO UPDATE SET n = refusals_sums.n + excluded.n",
	}
	sums := refusalSumsOf(counts)
	for some := range slices.Chunk(slices.SortedFunc(maps.Keys(sums), refusalSum.compare), bulkRows) {
		var args []any
		for _, s := range some {
			args = append(args, s.unit, s.column, s.period, s.value, sums[s])
		}
		if _, err := tx.ExecContext(ctx, in.sql(len(some)), args...); err != nil {
			return err
		}
	}
	return nil
}

// refusalsOf returns the counts of an account.
func refusalsOf(ctx context.Context, tx *sql.Tx, account string) ([]refusal.Count, error) {
	rows, err := tx.QueryContext(ctx, "SELECT minute, key, reason, model, n FROM refusals WHERE account = ?", account)
	return collect(rows, err, func(row scanner) (c refusal.Count, err error) {
		c.Account = account
		return c, row.Scan(&c.Minute, &c.Key, &c.Reason, &c.Model, &c.N)
	})
}

// subtractRefusals removes counts from the sums over all accounts, at the end of the transaction, as addRefusalSums.
func subtractRefusals(ctx context.Context, tx *sql.Tx, counts []refusal.Count) error {
	sums := refusalSumsOf(counts)
	for _, s := range slices.SortedFunc(maps.Keys(sums), refusalSum.compare) {
		const of = " WHERE unit = ? AND grouped = ? AND period = ? AND value = ?"
		args := []any{s.unit, s.column, s.period, s.value}
		_, err := tx.ExecContext(ctx, "UPDATE refusals_sums SET n = n - ?"+of, append([]any{sums[s]}, args...)...)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM refusals_sums"+of+" AND n <= 0", args...); err != nil {
			return err
		}
	}
	return nil
}

// retainRefusalSums deletes sums that no report reads.
func (s *Refusals) retainRefusalSums(ctx context.Context, before time.Time) error {
	hours := before
	if by := s.clock.now().Add(-hoursFor).Truncate(24 * time.Hour); by.After(hours) {
		hours = by
	}
	return s.writeDeletion(ctx, "delete sums of refused requests", func(tx *sql.Tx) error {
		for unit, first := range map[int64]time.Time{refusalsHour: hours, refusalsDay: before} {
			_, err := tx.ExecContext(ctx, "DELETE FROM refusals_sums WHERE unit = ? AND period < ?", unit,
				first.Unix())
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// refusalSource returns the table of a query, an expression of SQL named refusals with its arguments: all counts, or
// for a report over all accounts their sums by one column or by account and reason, and counts only of the hours that
// the range cuts. Days are left to their packed rows if sums are not enough.
func (s *Refusals) refusalSource(q *refusalSelection, packed []int64) *refusalParts {
	r := &refusalParts{refusalSelection: q, table: "refusals"}
	column, days, ok := sumsFor(q.Query)
	if !ok || column == "" && len(packed) == 0 {
		return r
	}
	r.column, r.packed = column, packed
	from, until := int64(0), int64(1)<<40
	if !q.From.IsZero() {
		from = inUnits(q.From, time.Second)
	}
	if !q.Until.IsZero() {
		until = inUnits(q.Until, time.Second)
	}
	r.hoursFrom = s.clock.now().Add(-hoursFor + 24*time.Hour).Unix()
	if days {
		r.addDays(from, until)
	} else {
		r.addHours(from, until)
	}
	switch {
	case len(r.parts) > 0:
		r.table = "(" + strings.Join(r.parts, " UNION ALL ") + ") AS refusals"
	case len(r.days) > 0:
		r.table = "(SELECT * FROM refusals WHERE 1 = 0) AS refusals"
	}
	return r
}

// hasTime reports whether the groups have a time.
func hasTime(by []refusal.Group) bool {
	return slices.ContainsFunc(by, func(g refusal.Group) bool { return !isColumn(g) })
}

func isColumn(g refusal.Group) bool {
	_, ok := refusedColumn(g)
	return ok
}

// sumsFor returns the column of the sums that suffice for a query, empty if none does, and whether sums of days do; not
// ok if only counts do.
func sumsFor(q *refusal.Query) (column string, days, ok bool) {
	if !q.All || slices.Contains(q.By, refusal.ByMinute) {
		return "", false, false
	}
	needs := map[string]bool{}
	for _, g := range q.By {
		if isColumn(g) {
			needs[string(g)] = true // the columns have the names of the groups
		}
	}
	for column, value := range map[string]string{
		sumsByKey: q.Key, sumsByModel: q.Model, sumsByReason: string(q.Reason),
	} {
		needs[column] = needs[column] || value != ""
	}
	maps.DeleteFunc(needs, func(_ string, isNeeded bool) bool { return !isNeeded })
	columns, days := slices.Sorted(maps.Keys(needs)), !slices.Contains(q.By, refusal.ByHour)
	switch {
	case len(columns) == 0:
		return sumsByReason, days, true
	case len(columns) == 1:
		return columns[0], days, true
	case slices.Equal(columns, []string{sumsByAccount, sumsByReason}):
		return sumsByPair, days, true
	}
	return "", days, true
}

// refusalParts are the parts of a range: of sums, of counts by minute at its ends, and packed days.
type refusalParts struct {
	*refusalSelection
	column    string
	hoursFrom int64 // there are sums of hours since then
	packed    []int64
	days      []refusedHours
	table     string
	parts     []string
	args      []any
}

// refusedHours are hours of a packed day, the last one exclusively.
type refusedHours struct {
	day         int64
	from, until int
}

func (r *refusalParts) addDays(from, until int64) {
	first, last := from+(refusalsDay-from%refusalsDay)%refusalsDay, until-until%refusalsDay
	if first >= last {
		r.addHours(from, until)
		return
	}
	r.addHours(from, first)
	if r.column != "" && r.column != sumsByPair {
		r.addSums(refusalsDay, first, last)
	} else {
		r.addPacked(first, last, func(from, until int64) {
			if r.column == "" {
				r.addCounts(from, until)
			} else {
				r.addSums(refusalsDay, from, until)
			}
		})
	}
	r.addHours(last, until)
}

// addPacked adds the hours of packed days in a range, and calls rest for other times.
func (r *refusalParts) addPacked(from, until int64, rest func(from, until int64)) {
	for _, day := range r.packed {
		begin, end := max(from, day), min(until, day+refusalsDay)
		first, last := (begin-day+refusalsHour-1)/refusalsHour, (end-day)/refusalsHour
		if first >= last {
			continue
		}
		r.days = append(r.days, refusedHours{day, int(first), int(last)})
		if until := day + first*refusalsHour; from < until {
			rest(from, until)
		}
		from = day + last*refusalsHour
	}
	if from < until {
		rest(from, until)
	}
}

func (r *refusalParts) addHours(from, until int64) {
	r.addPacked(from, until, func(from, until int64) {
		first, last := from+(refusalsHour-from%refusalsHour)%refusalsHour, until-until%refusalsHour
		if first >= last || first < r.hoursFrom || r.column == "" {
			r.addCounts(from, until)
			return
		}
		r.addCounts(from, first)
		r.addSums(refusalsHour, first, last)
		r.addCounts(last, until)
	})
}

func (r *refusalParts) addSums(unit, from, until int64) {
	value, grouped, args := "value AS "+r.column, "grouped = ?", []any{unit, r.column}
	if r.column == sumsByPair {
		reasons := refusal.Reasons()
		value, grouped = "value AS account, substr(grouped, 2) AS reason", among("grouped", len(reasons))
		args = []any{unit}
		for _, reason := range reasons {
			args = append(args, sumsByPair+string(reason))
		}
	}
	periods, of := " AND period >= ? AND period < ?", ""
	args = append(args, from, until)
	if n := (until - from) / unit; r.column != sumsByPair && r.values != nil && n <= mostPeriods {
		var list []int64 // so that the database looks up each value
		for at := from; at < until; at += unit {
			list = append(list, at)
		}
		periods, args = " AND "+isOn("period", list...), args[:2]
		var values []any
		of, values = r.where("value")
		args = append(args, values...)
	}
	r.parts = append(r.parts, "SELECT period AS minute, "+value+", n FROM refusals_sums WHERE unit = ? AND "+grouped+
		periods+of)
	r.args = append(r.args, args...)
}

func (r *refusalParts) addCounts(from, until int64) {
	if from >= until {
		return
	}
	columns := r.column
	switch columns {
	case "":
		columns = "account, key, reason, model"
	case sumsByPair:
		columns = "account, reason"
	}
	r.parts = append(r.parts, "SELECT minute, "+columns+", n FROM refusals WHERE minute >= ? AND minute < ?")
	r.args = append(r.args, from, until)
}
