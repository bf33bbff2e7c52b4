package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"weir/internal/refusal"
)

const (
	// mostRefusedCounts bounds the counts of a day that are packed. Reports read those of other days one by one.
	mostRefusedCounts = 100_000
	// packRefusedAfter is how long after its end a day is packed.
	packRefusedAfter = time.Hour
)

// PackRefusals writes the missing and outdated rows of the past days of all accounts.
func (s *Refusals) PackRefusals(ctx context.Context) error {
	there, err := refusedDays(ctx, s.read)
	if err != nil {
		return err
	}
	last := s.clock.now().Add(-packRefusedAfter).UTC().Truncate(24 * time.Hour)
	rows, err := s.read.QueryContext(ctx, "SELECT DISTINCT period FROM refusals_sums"+
		" WHERE unit = ? AND grouped = ? AND period < ?", refusalsDay, sumsByReason, last.Unix())
	days, err := collect(rows, err, scanOne[int64])
	for _, day := range days {
		if _, packed := there[day]; packed || err != nil {
			continue
		}
		if err = s.packRefusedDay(ctx, day); err != nil {
			err = fmt.Errorf("pack refused requests of %s: %w", time.Unix(day, 0).UTC().Format(time.DateOnly), err)
		}
	}
	return err
}

// refusedDays returns the days whose rows are up to date: true if a row has the counts, false if they are too many.
func refusedDays(ctx context.Context, q querier) (map[int64]bool, error) {
	rows, err := q.QueryContext(ctx, "SELECT day, length(by_all) IS NOT NULL FROM refusals_days WHERE packed = version")
	there := map[int64]bool{}
	err = eachRow(rows, err, func(row scanner) error {
		var day int64
		var has bool
		err := row.Scan(&day, &has)
		there[day] = has
		return err
	})
	return there, err
}

// packRefusedDay writes the row of a day, unless the day changes meanwhile.
func (s *Refusals) packRefusedDay(ctx context.Context, day int64) error {
	err := s.write(ctx, s.sure, "pack refused requests", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO refusals_days (day, version, packed) VALUES (?, 0, -1)"+
			" ON CONFLICT (day) DO NOTHING", day)
		return err
	})
	if err != nil {
		return err
	}
	var version int64
	var pairs, all []byte
	err = s.moment(ctx, s.reports, "add up refused requests", func(tx *sql.Tx) error {
		err := tx.QueryRowContext(ctx, "SELECT version FROM refusals_days WHERE day = ?", day).Scan(&version)
		if err == nil {
			pairs, all, err = addUpRefused(ctx, tx, day)
		}
		return err
	})
	if err != nil {
		return err
	}
	return s.write(ctx, s.sure, "pack refused requests", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE refusals_days SET packed = ?, by_pair = ?, by_all = ?"+
			" WHERE day = ? AND version = ?", version, pairs, all, day, version)
		return err
	})
}

// addUpRefused packs the counts of a day; nil for too many.
func addUpRefused(ctx context.Context, tx *sql.Tx, day int64) (pairs, all []byte, err error) {
	byPair, byAll := map[refusedBy]int64{}, map[refusedBy]int64{}
	var by refusedBy
	var minute, n int64
	rows, err := tx.QueryContext(ctx, "SELECT account, key, model, reason, minute, n FROM refusals"+
		" WHERE minute >= ? AND minute < ?", day, day+refusalsDay)
	err = eachRow(rows, err, func(row scanner) error {
		err := row.Scan(&by[refusedAccount], &by[refusedKey], &by[refusedModel], &by[refusedReason], &minute, &n)
		by[refusedHour] = hourText2(int((minute - day) / refusalsHour))
		byAll[by] += n
		byPair[refusedBy{refusedAccount: by[refusedAccount], refusedReason: by[refusedReason]}] += n
		if err == nil && len(byAll) > mostRefusedCounts {
			err = errEnough
		}
		return err
	})
	if errors.Is(err, errEnough) {
		return nil, nil, nil
	}
	return packRefusals(byPair), packRefusals(byAll), err
}

// hourText2 returns an hour of the day as two digits.
func hourText2(hour int) string { return strconv.Itoa(100 + hour)[1:] }

// dropRefusedDays outdates the rows of the days of counts, at the end of the transaction that changes these. A day that
// is not over may have no row yet.
func dropRefusedDays(ctx context.Context, tx *sql.Tx, counts []refusal.Count, now time.Time) error {
	days := map[int64]bool{}
	for i := range counts {
		days[counts[i].Minute-counts[i].Minute%refusalsDay] = true
	}
	for _, day := range slices.Sorted(maps.Keys(days)) {
		statement := "INSERT INTO refusals_days AS d (day, version, packed) VALUES (?, 1, -1)" +
			" ON CONFLICT (day) DO UPDATE SET version = d.version + 1, by_pair = NULL, by_all = NULL"
		if day+refusalsDay > now.Unix() {
			statement = "UPDATE refusals_days SET version = version + 1, by_pair = NULL, by_all = NULL WHERE day = ?"
		}
		if _, err := tx.ExecContext(ctx, statement, day); err != nil {
			return fmt.Errorf("packed refused requests: %w", err)
		}
	}
	return nil
}

// checkRefusedDay outdates the row of a day if it lacks refusals: a node of an earlier version has added them.
func (s *Refusals) checkRefusedDay(ctx context.Context, day, want int64) error {
	var pairs, all []byte
	err := s.read.QueryRowContext(ctx, "SELECT by_pair, by_all FROM refusals_days WHERE day = ? AND packed = version"+
		" AND length(by_all) IS NOT NULL", day).Scan(&pairs, &all)
	if isNone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, packed := range [][]byte{pairs, all} {
		g := newRefusedGroups(&refusal.Query{})
		if err := g.addDay(packed, 0, hoursOfDay); err == nil && g.total() == want {
			continue
		}
		return s.write(ctx, s.sure, "outdate packed refused requests", func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "UPDATE refusals_days SET version = version + 1, by_pair = NULL,"+
				" by_all = NULL WHERE day = ?", day)
			return err
		})
	}
	return nil
}

// planRefusals plans how a query is read. Packed days have no times.
func (s *Refusals) planRefusals(ctx context.Context, q querier, of *refusalSelection) (*refusalParts, error) {
	if !of.All || hasTime(of.By) || of.values != nil {
		return s.refusalSource(of, nil), nil
	}
	there, err := refusedDays(ctx, q)
	maps.DeleteFunc(there, func(_ int64, has bool) bool { return !has })
	return s.refusalSource(of, slices.Sorted(maps.Keys(there))), err
}

// readDays adds the packed days.
func (r *refusalParts) readDays(ctx context.Context, q querier, g *refusedGroups) error {
	hours, whole, cut := map[int64]refusedHours{}, []int64(nil), []int64(nil)
	for _, d := range r.days {
		hours[d.day] = d
		if r.column == sumsByPair && d.until-d.from == hoursOfDay {
			whole = append(whole, d.day)
		} else {
			cut = append(cut, d.day)
		}
	}
	for column, days := range map[string][]int64{"by_pair": whole, "by_all": cut} {
		if len(days) == 0 {
			continue
		}
		rows, err := q.QueryContext(ctx, "SELECT day, "+column+" FROM refusals_days WHERE "+isOn("day", days...))
		err = eachRow(rows, err, func(row scanner) error {
			var day int64
			var packed sql.RawBytes
			if err := row.Scan(&day, &packed); err != nil {
				return err
			}
			return g.addDay(packed, hours[day].from, hours[day].until)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// mostWindow is the longest time in days that newestSums reads at once before it reads all that is left.
const mostWindow = 128

// newestSums returns the sums by the groups of a query. Sums by time begin with the newest: it reads no more days than
// needed.
func (s *Refusals) newestSums(ctx context.Context, tx *sql.Tx, q *refusal.Query, most int) (
	list []refusal.Sum, err error,
) {
	if !hasTime(q.By) {
		return s.refusalSums(ctx, tx, &refusalSelection{Query: q}, most)
	}
	window := *q
	end := q.Until
	if end.IsZero() {
		end = s.clock.now()
	}
	first := end.UTC().Add(-1).Truncate(24 * time.Hour)
	for days := 1; len(list) < most && err == nil; days *= 2 {
		isLast := days > mostWindow || !first.After(q.From)
		if window.From = first; isLast {
			window.From = q.From
		}
		var sums []refusal.Sum
		sums, err = s.refusalSums(ctx, tx, &refusalSelection{Query: &window}, most-len(list))
		list = append(list, sums...)
		if isLast {
			break
		}
		window.Until, first = first, first.AddDate(0, 0, -2*days)
	}
	return list, err
}
