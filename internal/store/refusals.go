package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"weir/internal/refusal"
)

// refusalsByMinute is the age up to which refusals are counted by minute. Older counts are stored by hour.
const refusalsByMinute = 48 * time.Hour

// Refusals stores counts of refused requests, and the latest of each account.
type Refusals struct {
	*conn
	checks turn // of sums
}

// Write adds a batch. Its counts must be sorted by the same order on all nodes.
func (s *Refusals) Write(ctx context.Context, b refusal.Batch) error {
	return s.writeFast(ctx, "count refused requests", func(tx *sql.Tx) error {
		if err := addRefusals(ctx, tx, b.Counts); err != nil {
			return err
		}
		if err := keepRefusals(ctx, tx, b.Latest); err != nil {
			return err
		}
		if err := addRefusalSums(ctx, tx, b.Counts); err != nil {
			return err
		}
		return dropRefusedDays(ctx, tx, b.Counts, s.clock.now())
	})
}

func addRefusals(ctx context.Context, tx *sql.Tx, counts []refusal.Count) error {
	in := insertion{
		head:    "INSERT INTO refusals (account, minute, key, reason, model, n) VALUES ",
		columns: 6,
		tail:    " ON CONFLICT (account, minute, key, reason, model) DO UPDATE SET n = refusals.n + excluded.n",
	}
	for some := range slices.Chunk(counts, bulkRows) {
		var args []any
		for i := range some {
			c := &some[i]
			args = append(args, c.Account, c.Minute, c.Key, string(c.Reason), c.Model, c.N)
		}
		if _, err := tx.ExecContext(ctx, in.sql(len(some)), args...); err != nil {
			return err
		}
	}
	return nil
}

// keepRefusals stores refusals, which must be sorted by account, and deletes all but the latest of each account.
func keepRefusals(ctx context.Context, tx *sql.Tx, latest []refusal.Refusal) error {
	in := insertion{
		head:    "INSERT INTO refusals_latest (account, request, at, key, reason, status, model, message) VALUES ",
		columns: 8,
		tail:    " ON CONFLICT (account, request) DO NOTHING",
	}
	for some := range slices.Chunk(latest, bulkRows) {
		var args []any
		for i := range some {
			x := &some[i]
			args = append(args, x.Account, x.Request.String(), micros(x.At), x.Key, string(x.Reason), x.Status, x.Model,
				x.Text())
		}
		if _, err := tx.ExecContext(ctx, in.sql(len(some)), args...); err != nil {
			return err
		}
	}
	for i := range latest {
		account := latest[i].Account
		if i > 0 && latest[i-1].Account == account {
			continue
		}
		// The newest of each key come first, then the second ones, and so on: a key that is refused rarely keeps its
		// own.
		_, err := tx.ExecContext(ctx, "DELETE FROM refusals_latest WHERE account = ? AND request IN"+
			" (SELECT request FROM (SELECT request, row_number() OVER (ORDER BY turn, request DESC) AS place"+
			" FROM (SELECT request, row_number() OVER (PARTITION BY key ORDER BY request DESC) AS turn"+
			" FROM refusals_latest WHERE account = ?) AS turns) AS places WHERE place > ?)",
			account, account, refusal.MostLatest)
		if err != nil {
			return err
		}
	}
	return nil
}

// refusalFilter returns the condition of a query and its arguments. at is the column of the time, in units of unit.
func refusalFilter(q *refusal.Query, at string, unit time.Duration) (where string, args []any) {
	conditions := []string{"1 = 1"}
	add := func(condition string, arg any) {
		conditions, args = append(conditions, condition), append(args, arg)
	}
	if !q.All {
		add("account = ?", q.Account)
	}
	if q.Key != "" {
		add("key = ?", q.Key)
	}
	if q.Model != "" {
		add("model = ?", q.Model)
	}
	if q.Reason != "" {
		add("reason = ?", string(q.Reason))
	}
	if !q.From.IsZero() {
		add(at+" >= ?", inUnits(q.From, unit))
	}
	if !q.Until.IsZero() {
		add(at+" < ?", inUnits(q.Until, unit))
	}
	return " WHERE " + strings.Join(conditions, " AND "), args
}

// inUnits returns the start of a time's minute in seconds or microseconds since 1970.
func inUnits(at time.Time, unit time.Duration) int64 {
	return at.Truncate(time.Minute).Unix() * int64(time.Second/unit)
}

// refusalGroup returns the column of a group.
func refusalGroup(g refusal.Group) string {
	switch g {
	case refusal.ByHour:
		return "minute - minute % 3600"
	case refusal.ByDay:
		return "minute - minute % 86400"
	}
	return string(g)
}

// Count returns the number of refusals that a query selects.
func (s *Refusals) Count(ctx context.Context, q refusal.Query) (n int64, err error) {
	err = s.report(ctx, q.Account, "count refused requests", func(tx *sql.Tx) (err error) {
		n, err = s.countRefusals(ctx, tx, &q)
		return err
	})
	return n, err
}

func (s *Refusals) countRefusals(ctx context.Context, from querier, q *refusal.Query) (n int64, err error) {
	total := *q
	total.By = nil
	r, err := s.planRefusals(ctx, from, &refusalSelection{Query: &total})
	if err != nil {
		return 0, err
	}
	g := newRefusedGroups(&total)
	if err = r.readDays(ctx, from, g); errors.Is(err, errPacked) {
		r, g, err = s.refusalSource(&refusalSelection{Query: &total}, nil), newRefusedGroups(&total), nil
	}
	if err != nil {
		return 0, err
	}
	where, args := refusalFilter(q, "minute", time.Second)
	err = from.QueryRowContext(ctx, "SELECT coalesce(cast(sum(n) AS BIGINT), 0) FROM "+r.table+where,
		append(r.args, args...)...).Scan(&n)
	return n + g.total(), err
}

// Read answers a query.
func (s *Refusals) Read(ctx context.Context, q refusal.Query) (r refusal.Report, err error) {
	err = s.report(ctx, q.Account, "read refused requests", func(tx *sql.Tx) (err error) {
		if r.Total, err = s.countRefusals(ctx, tx, &q); err == nil {
			r.Sums, err = s.newestSums(ctx, tx, &q, refusal.MostSums)
		}
		if err == nil {
			where, args := refusalFilter(&q, "at", time.Microsecond)
			r.Latest, err = latestRefusals(ctx, tx, where, args)
		}
		if err == nil {
			err = labelRefused(ctx, tx, r.Sums, r.Latest)
		}
		return err
	})
	return r, err
}

// Series answers a query by one group, and by a unit of time for all groups together and for each of the largest ones,
// at most that many.
func (s *Refusals) Series(ctx context.Context, q refusal.Query, unit refusal.Group, apart int) (
	r refusal.Series, err error,
) {
	q.By = q.By[:1]
	byTime, byBoth := q, refusalSelection{Query: new(q), of: q.By[0]}
	byTime.By, byBoth.By = []refusal.Group{unit}, []refusal.Group{unit, q.By[0]}
	err = s.report(ctx, q.Account, "read refused requests", func(tx *sql.Tx) (err error) {
		r.Groups, err = s.refusalSums(ctx, tx, &refusalSelection{Query: &q}, refusal.MostSums)
		if err == nil {
			r.Times, err = s.refusalSums(ctx, tx, &refusalSelection{Query: &byTime}, mostPeriods)
		}
		for i := range r.Groups[:min(apart, len(r.Groups))] {
			if value := r.Groups[i].Value(q.By[0]); value != "" {
				byBoth.values = append(byBoth.values, value)
			}
		}
		if err == nil && len(byBoth.values) > 0 {
			r.Apart, err = s.refusalSums(ctx, tx, &byBoth, apart*mostPeriods)
		}
		if err == nil {
			err = labelRefused(ctx, tx, r.Groups, nil)
		}
		if err == nil {
			err = labelRefused(ctx, tx, r.Apart, nil)
		}
		return err
	})
	for i := range r.Times {
		r.Total += r.Times[i].N
	}
	return r, err
}

// mostPeriods is how many units of time a series has at most.
const mostPeriods = 10_000

// labelRefused adds the labels of keys.
func labelRefused(ctx context.Context, q querier, sums []refusal.Sum, latest []refusal.Refusal) error {
	labels := map[string]string{}
	for i := range sums {
		labels[sums[i].Key] = ""
	}
	for i := range latest {
		labels[latest[i].Key] = ""
	}
	delete(labels, "")
	if len(labels) == 0 {
		return nil
	}
	err := named(ctx, q, "SELECT id, label FROM keys", labels)
	for i := range sums {
		sums[i].KeyLabel = labels[sums[i].Key]
	}
	for i := range latest {
		latest[i].KeyLabel = labels[latest[i].Key]
	}
	return err
}

// refusalSelection is a query that may be restricted to some values of a group.
type refusalSelection struct {
	*refusal.Query
	of     refusal.Group
	values []string // nil for all
}

// where returns the condition that a column has one of the values.
func (q *refusalSelection) where(column string) (text string, args []any) {
	if q.values == nil {
		return "", nil
	}
	for _, v := range q.values {
		args = append(args, v)
	}
	return " AND " + among(column, len(args)), args
}

// refusalSums returns the sums by the groups of a query, at most that many.
func (s *Refusals) refusalSums(ctx context.Context, tx *sql.Tx, q *refusalSelection, most int) ([]refusal.Sum, error) {
	if len(q.By) == 0 {
		return nil, nil
	}
	r, err := s.planRefusals(ctx, tx, q)
	if err != nil {
		return nil, err
	}
	if len(r.days) == 0 {
		return r.read(ctx, tx, most)
	}
	rest, err := r.read(ctx, tx, mostRefusedGroups)
	if err != nil {
		return nil, err
	}
	g := newRefusedGroups(q.Query)
	for i := range rest {
		g.addSum(&rest[i])
	}
	err = r.readDays(ctx, tx, g)
	if errors.Is(err, errEnough) || errors.Is(err, errPacked) {
		return s.refusalSource(q, nil).read(ctx, tx, most)
	}
	return g.largest(most), err
}

// read reads the sums that are in SQL.
func (r *refusalParts) read(ctx context.Context, tx *sql.Tx, most int) ([]refusal.Sum, error) {
	q := r.refusalSelection
	where, more := refusalFilter(q.Query, "minute", time.Second)
	of, values := q.where(string(q.of))
	where, more = where+of, append(more, values...)
	var columns, order []string
	for i, g := range q.By {
		columns = append(columns, refusalGroup(g))
		if g == refusal.ByMinute || g == refusal.ByHour || g == refusal.ByDay {
			order = append(order, fmt.Sprintf("%d DESC", i+1))
		}
	}
	order = append(order, fmt.Sprintf("%d DESC", len(columns)+1))
	for i := range columns {
		order = append(order, fmt.Sprint(i+1))
	}
	groups := strings.Join(columns, ", ")
	rows, err := tx.QueryContext(ctx, "SELECT "+groups+", cast(sum(n) AS BIGINT) FROM "+r.table+where+" GROUP BY "+
		groups+" ORDER BY "+strings.Join(order, ", ")+" LIMIT ?", slices.Concat(r.args, more, []any{most})...)
	return collect(rows, err, func(row scanner) (x refusal.Sum, err error) {
		var dest []any
		for _, g := range q.By {
			switch g {
			case refusal.ByAccount:
				dest = append(dest, &x.Account)
			case refusal.ByKey:
				dest = append(dest, &x.Key)
			case refusal.ByReason:
				dest = append(dest, &x.Reason)
			case refusal.ByModel:
				dest = append(dest, &x.Model)
			default:
				dest = append(dest, &x.Minute)
			}
		}
		return x, row.Scan(append(dest, &x.N)...)
	})
}

func latestRefusals(ctx context.Context, q querier, where string, args []any) ([]refusal.Refusal, error) {
	rows, err := q.QueryContext(ctx, "SELECT account, request, at, key, reason, status, model, message FROM "+
		"refusals_latest"+where+" ORDER BY request DESC LIMIT ?", append(args, refusal.MostLatest)...)
	return collect(rows, err, func(row scanner) (x refusal.Refusal, err error) {
		var request string
		var at int64
		if err = row.Scan(&x.Account, &request, &at, &x.Key, &x.Reason, &x.Status, &x.Model, &x.Message); err != nil {
			return x, err
		}
		x.At = fromMicros(at)
		x.Request, err = uuid.Parse(request)
		return x, err
	})
}

// Find returns the refused request with that id; false if there is none, or it is not among the latest of its account.
func (s *Refusals) Find(ctx context.Context, id uuid.UUID) (x refusal.Refusal, there bool, err error) {
	var r refusal.Report
	r.Latest, err = latestRefusals(ctx, s.read, " WHERE request = ?", []any{id.String()})
	if err == nil {
		err = labelRefused(ctx, s.read, nil, r.Latest)
	}
	if err != nil {
		return x, false, fmt.Errorf("find refused request: %w", err)
	}
	if len(r.Latest) == 0 {
		return x, false, nil
	}
	return r.Latest[0], true, nil
}
