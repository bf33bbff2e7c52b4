package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"weir/internal/budget"
)

// tablePacked stores the sums of rollup_day over all accounts, in one row for each past day and month, and
// tablePackedHours those of rollup_hour for each past hour of the last days.
const (
	tablePacked      = "rollup_packed"
	tablePackedHours = "packed_hours"
	// tablePackedSpeeds stores the times to first token of the same periods.
	tablePackedSpeeds = "packed_speeds"
)

// packedTable returns the table of a period's row.
func packedTable(period int64) string {
	if period > lastDay {
		return tablePackedHours
	}
	return tablePacked
}

// mostPacked bounds the sums of a row. Reports over a period with more sums read the rollups.
const mostPacked = 100_000

// PackRollups writes the missing and outdated rows of past days and months. It stops at the last day that Attribute
// has started, so that a node with a slow clock also detects that it adds to a day that may be packed. It adds up the
// last days each time, and the other periods every 24 hours, because a node of an earlier version may have added to
// them.
func (s *Attribution) PackRollups(ctx context.Context) error {
	last, err := s.lastAttributed(ctx)
	if err != nil {
		return fmt.Errorf("pack sums: %w", err)
	}
	days, err := daysOf(ctx, s.read, tableDays, "period", firstDay, min(s.lastOver(), last))
	if err != nil {
		return fmt.Errorf("pack sums: %w", err)
	}
	now := s.clock.now().UTC()
	var months []int64 // past ones
	for i := range days {
		if month := days[i] / 100; month < min(dayOf(now.Add(-attributeAfter)), last+1)/100 &&
			!slices.Contains(months, month) {
			months = append(months, month)
		}
	}
	isChecked := s.packs.next(now)
	var all []error                                   // an error does not stop the other periods
	for _, periods := range [][]int64{days, months} { // in this order, because a changed day changes its month
		there, err := packedPeriods(ctx, s.read)
		if err != nil {
			return errors.Join(append(all, fmt.Errorf("pack sums: %w", err))...)
		}
		for i, period := range periods {
			p, ok := there[period]
			if ok && p.isUpToDate() && !isChecked(period) && (period <= lastMonth || i >= checkedDays) {
				continue
			}
			if err := s.pack(ctx, period); err != nil {
				all = append(all, fmt.Errorf("pack sums of %s: %w", periodText(period), err))
			}
		}
	}
	return errors.Join(all...)
}

// lastAttributed returns the last day that counts all attempts settled from now on as late: see summedUpto.
func (s *Attribution) lastAttributed(ctx context.Context) (int64, error) {
	var day int64
	var upto string
	err := s.read.QueryRowContext(ctx, "SELECT day, upto FROM attributed_days ORDER BY day DESC"+
		" LIMIT 1").Scan(&day, &upto)
	if isNone(err) {
		return firstDay, nil
	}
	if upto < everyRequest {
		day--
	}
	return day, err
}

// packedPeriod describes the packed row of an hour, a day or a month.
type packedPeriod struct {
	// As in the table, but a month's version is the sum of its days' versions. A node of an earlier version does not
	// pack speeds, so they have a version of their own.
	version, packed, speedsPacked int64
	hasSums, hasSpeeds            bool
}

func (p packedPeriod) isUpToDate() bool { return p.packed == p.version && p.speedsPacked == p.version }

// isReadable and areSpeedsReadable report whether reports may read the row's sums and its times to first token.
func (p packedPeriod) isReadable() bool        { return p.packed == p.version && p.hasSums }
func (p packedPeriod) areSpeedsReadable() bool { return p.speedsPacked == p.version && p.hasSpeeds }

func packedPeriods(ctx context.Context, q querier) (map[int64]packedPeriod, error) {
	// SQLite reads all of a value to compare it with NULL, but not for its length.
	const columns = "SELECT p.period, p.version, p.packed, coalesce(s.packed, -1), length(p.by_both) IS NOT NULL," +
		" length(s.speeds) IS NOT NULL FROM "
	const speeds = " p LEFT JOIN " + tablePackedSpeeds + " s ON s.period = p.period"
	rows, err := q.QueryContext(ctx, columns+tablePacked+speeds+" UNION ALL "+columns+tablePackedHours+speeds+
		" ORDER BY 1") // months first
	there := map[int64]packedPeriod{}
	err = eachRow(rows, err, func(row scanner) error {
		var period int64
		var p packedPeriod
		err := row.Scan(&period, &p.version, &p.packed, &p.speedsPacked, &p.hasSums, &p.hasSpeeds)
		if err != nil {
			return err
		}
		there[period] = p
		if month, ok := there[period/100]; ok && period <= lastDay {
			month.version += p.version
			there[period/100] = month
		}
		return nil
	})
	return there, err
}

// packedRow is a row of packed sums.
type packedRow struct {
	version, packed, speedsPacked  int64
	byModel, byKey, byBoth, speeds []byte
}

func (p *packedRow) equals(o *packedRow) bool {
	return p.packed == o.packed && p.speedsPacked == o.speedsPacked && bytes.Equal(p.byModel, o.byModel) &&
		bytes.Equal(p.byKey, o.byKey) && bytes.Equal(p.byBoth, o.byBoth) && bytes.Equal(p.speeds, o.speeds)
}

func readPacked(ctx context.Context, q querier, period int64) (p packedRow, err error) {
	err = q.QueryRowContext(ctx, "SELECT p.version, p.packed, coalesce(s.packed, -1), p.by_model, p.by_key, p.by_both,"+
		" s.speeds FROM "+packedTable(period)+" p LEFT JOIN "+tablePackedSpeeds+" s ON s.period = p.period"+
		" WHERE p.period = ?", period).
		Scan(&p.version, &p.packed, &p.speedsPacked, &p.byModel, &p.byKey, &p.byBoth, &p.speeds)
	return p, err
}

// pack writes the row of a period, unless it is up to date and unchanged.
func (s *Attribution) pack(ctx context.Context, period int64) error {
	table := packedTable(period)
	err := s.write(ctx, s.sure, "pack sums", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO "+table+" (period, version, packed) VALUES (?, 0, -1)"+
			" ON CONFLICT (period) DO NOTHING", period)
		return err
	})
	if err != nil {
		return err
	}
	var have, want packedRow
	err = s.moment(ctx, s.reports, "add up", func(tx *sql.Tx) error {
		if have, err = readPacked(ctx, tx, period); err != nil {
			return err
		}
		if want, err = s.addUp(ctx, tx, period); err != nil {
			return err
		}
		there, err := packedPeriods(ctx, tx)
		want.version, want.packed, want.speedsPacked = have.version, there[period].version, there[period].version
		return err
	})
	if err != nil || have.equals(&want) {
		return err
	}
	if period > lastMonth { // a node may have added to the day without a new version: its month may lack that too
		want.version++
		want.packed++
		want.speedsPacked++
	}
	return s.write(ctx, s.sure, "pack sums", func(tx *sql.Tx) error {
		n, err := affected(tx.ExecContext(ctx, "UPDATE "+table+" SET version = ?, packed = ?, by_model = ?,"+
			" by_key = ?, by_both = ? WHERE period = ? AND version = ? AND packed = ?", // else another node was faster
			want.version, want.packed, want.byModel, want.byKey, want.byBoth, period, have.version, have.packed))
		if err != nil || n == 0 {
			return err
		}
		_, err = tx.ExecContext(ctx, "INSERT INTO "+tablePackedSpeeds+" (period, packed, speeds) VALUES (?, ?, ?)"+
			" ON CONFLICT (period) DO UPDATE SET packed = excluded.packed, speeds = excluded.speeds",
			period, want.speedsPacked, want.speeds)
		return err
	})
}

// addUp returns the sums of a period. Those of too many groups are nil.
func (s *Attribution) addUp(ctx context.Context, tx *sql.Tx, period int64) (p packedRow, err error) {
	all, err := readPeriod(ctx, tx, period, s.mostPacked)
	if err != nil {
		return p, err
	}
	if all != nil {
		if p, err = packedRowOf(all); err != nil {
			return p, err
		}
	}
	speeds, err := readSpeedsOf(ctx, tx, period, s.mostPacked)
	if err == nil && speeds != nil {
		p.speeds, err = packSums(speeds, speedColumns())
	}
	return p, err
}

// lastMonth is the highest stored month; days are greater numbers.
const lastMonth = lastDay / 100

func packedRowOf(all buckets) (p packedRow, err error) {
	names := measureColumns()
	if p.byModel, err = packSums(all.folded(bucket.ofModel), names); err != nil {
		return p, err
	}
	if p.byKey, err = packSums(all.folded(bucket.ofKey), names); err == nil {
		p.byBoth, err = packSums(all, names)
	}
	return p, err
}

// ofModel returns the bucket of all accounts and keys, and ofKey that of all models.
func (b bucket) ofModel() bucket { return bucket{model: b.model, provider: b.provider} }
func (b bucket) ofKey() bucket   { return bucket{account: b.account, key: b.key} }

// readPeriod adds up an hour of rollup_hour, or a day or a month of rollup_day; nil if it has too many sums.
func readPeriod(ctx context.Context, tx *sql.Tx, period int64, most int) (buckets, error) {
	first, last, table := period, period, tableDays
	switch {
	case period <= lastMonth:
		first, last = budget.DaysOf(period)
	case period > lastDay:
		table = tableHours
	}
	rows, err := tx.QueryContext(ctx, "SELECT 0, account, model, key, provider, "+columnsBy("sum", measureColumns())+
		" FROM "+table+
		" WHERE period BETWEEN ? AND ? GROUP BY account, model, key, provider LIMIT ?", first, last, most+1)
	all := buckets{}
	err = each(rows, err, scanRolled, func(r *rolled) error {
		all.add(r.bucket, &r.sums)
		return nil
	})
	if len(all) > most {
		return nil, err
	}
	return all, err
}

// dropPacked empties the rows of days, or of hours, that get additions, and increases their versions, which outdates
// the rows of their months. A concurrent write of one of these rows has no effect. A transaction calls it once, so that
// all transactions lock the rows in one order.
func dropPacked(ctx context.Context, tx *sql.Tx, periods []int64) error {
	slices.Sort(periods)
	for _, period := range slices.Compact(periods) {
		_, err := tx.ExecContext(ctx, "INSERT INTO "+packedTable(period)+" AS p (period, version, packed)"+
			" VALUES (?, 1, -1) ON CONFLICT (period) DO UPDATE SET version = p.version + 1,"+
			" by_model = NULL, by_key = NULL, by_both = NULL", period)
		if err != nil {
			return fmt.Errorf("packed sums of %s: %w", periodText(period), err)
		}
	}
	return nil
}
