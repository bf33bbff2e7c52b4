package store

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"strings"
	"time"

	"weir/internal/refusal"
)

// repairSums compares the sums over all accounts of the last days, and of the other ones once a day, with the counts,
// and replaces wrong ones: a node of an earlier version adds to counts and not to all sums.
func (s *Refusals) repairSums(ctx context.Context, first time.Time) error {
	now := s.clock.now().UTC()
	isChecked := s.checks.next(now)
	today := now.Truncate(24 * time.Hour)
	for at := today; !at.Before(first); at = at.AddDate(0, 0, -1) {
		if today.Sub(at) >= checkedDays*24*time.Hour && !isChecked(dayOf(at)) {
			continue
		}
		from := at.Unix()
		for _, unit := range []int64{refusalsDay, refusalsHour} {
			if unit == refusalsHour && at.Before(now.Add(-hoursFor+24*time.Hour)) {
				continue // they are deleted or about to be
			}
			isRight, all, err := s.areRight(ctx, unit, from)
			if err == nil && !isRight {
				err = s.sumAgain(ctx, unit, from)
			}
			if err == nil && unit == refusalsDay {
				err = s.checkRefusedDay(ctx, from, all)
			}
			if err != nil {
				return fmt.Errorf("check sums of refused requests on %s: %w", at.Format(time.DateOnly), err)
			}
		}
	}
	return nil
}

// sumsOfPeriods is the condition on sums of all columns between two times.
func sumsOfPeriods(unit, from, until int64) (where string, args []any) {
	args = []any{unit}
	for _, column := range []string{sumsByAccount, sumsByKey, sumsByModel, sumsByReason} {
		args = append(args, column)
	}
	for _, reason := range refusal.Reasons() {
		args = append(args, sumsByPair+string(reason))
	}
	where = "unit = ? AND " + among("grouped", len(args)-1) + " AND period >= ? AND period < ?"
	return where, append(args, from, until)
}

// areRight reports whether all sums of a day are complete, and returns the number of all its refusals.
func (s *Refusals) areRight(ctx context.Context, unit, from int64) (right bool, all int64, err error) {
	until := from + refusalsDay
	err = s.moment(ctx, s.reports, "check sums of refused requests", func(tx *sql.Tx) error {
		err := tx.QueryRowContext(ctx, "SELECT coalesce(cast(sum(n) AS BIGINT), 0) FROM refusals"+
			" WHERE minute >= ? AND minute < ?", from, until).Scan(&all)
		if err != nil {
			return err
		}
		sums := map[string]int64{sumsByAccount: 0, sumsByKey: 0, sumsByModel: 0, sumsByReason: 0, sumsByPair: 0}
		where, args := sumsOfPeriods(unit, from, until)
		rows, err := tx.QueryContext(ctx, "SELECT grouped, cast(sum(n) AS BIGINT) FROM refusals_sums WHERE "+where+
			" GROUP BY grouped", args...)
		err = eachRow(rows, err, func(row scanner) error {
			var column string
			var n int64
			err := row.Scan(&column, &n)
			if strings.HasPrefix(column, sumsByPair) {
				column = sumsByPair
			}
			sums[column] += n
			return err
		})
		maps.DeleteFunc(sums, func(_ string, n int64) bool { return n == all })
		right = len(sums) == 0
		return err
	})
	return right, all, err
}

// sumAgain replaces the sums of a day. Transactions that add to sums meanwhile wait.
func (s *Refusals) sumAgain(ctx context.Context, unit, from int64) error {
	until, period := from+refusalsDay, "minute - minute % "+count(unit)
	return s.write(ctx, s.sure, "add up refused requests", func(tx *sql.Tx) error {
		if s.engine.manyWriters { // reads remain possible
			_, err := tx.ExecContext(ctx, "LOCK TABLE refusals_sums IN SHARE ROW EXCLUSIVE MODE")
			if err != nil {
				return err
			}
		}
		where, args := sumsOfPeriods(unit, from, until)
		if _, err := tx.ExecContext(ctx, "DELETE FROM refusals_sums WHERE "+where, args...); err != nil {
			return err
		}
		for _, c := range []struct{ grouped, value, by string }{
			{"'" + sumsByAccount + "'", "account", "account"},
			{"'" + sumsByKey + "'", "key", "key"},
			{"'" + sumsByModel + "'", "model", "model"},
			{"'" + sumsByReason + "'", "reason", "reason"},
			{"'" + sumsByPair + "' || reason", "account", "account, reason"},
		} {
			_, err := tx.ExecContext(ctx, "INSERT INTO refusals_sums (unit, grouped, period, value, n) SELECT "+
				count(unit)+", "+c.grouped+", "+period+", "+c.value+", cast(sum(n) AS BIGINT) FROM refusals"+
				" WHERE minute >= ? AND minute < ? GROUP BY "+period+", "+c.by+
				" ON CONFLICT (unit, grouped, period, value) DO UPDATE SET n = excluded.n", from, until)
			if err != nil {
				return err
			}
		}
		return nil
	})
}
