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

// tablePacked stores the sums of rollup_day over all accounts, in one row for each past day and month.
const tablePacked = "rollup_packed"

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

// packedPeriod describes the packed row of a day or a month.
type packedPeriod struct {
	version, packed int64 // as in the table, but a month's version is the sum of its days' versions
	hasSums         bool
}

func (p packedPeriod) isUpToDate() bool { return p.packed == p.version }

// isReadable reports whether reports may read the row.
func (p packedPeriod) isReadable() bool { return p.isUpToDate() && p.hasSums }

func packedPeriods(ctx context.Context, q querier) (map[int64]packedPeriod, error) {
	rows, err := q.QueryContext(ctx, "SELECT period, version, packed, by_both IS NOT NULL FROM "+tablePacked+
		" ORDER BY period") // months first
	there := map[int64]packedPeriod{}
	err = eachRow(rows, err, func(row scanner) error {
		var period int64
		var p packedPeriod
		if err := row.Scan(&period, &p.version, &p.packed, &p.hasSums); err != nil {
			return err
		}
		there[period] = p
		if month, ok := there[period/100]; ok {
			month.version += p.version
			there[period/100] = month
		}
		return nil
	})
	return there, err
}

// packedRow is a row of rollup_packed.
type packedRow struct {
	version, packed        int64
	byModel, byKey, byBoth []byte
}

func (p *packedRow) equals(o *packedRow) bool {
	return bytes.Equal(p.byModel, o.byModel) && bytes.Equal(p.byKey, o.byKey) && bytes.Equal(p.byBoth, o.byBoth)
}

func readPacked(ctx context.Context, q querier, period int64) (p packedRow, err error) {
	err = q.QueryRowContext(ctx, "SELECT version, packed, by_model, by_key, by_both FROM "+tablePacked+
		" WHERE period = ?", period).
		Scan(&p.version, &p.packed, &p.byModel, &p.byKey, &p.byBoth)
	return p, err
}

// pack writes the row of a period, unless it is up to date and unchanged.
func (s *Attribution) pack(ctx context.Context, period int64) error {
	err := s.write(ctx, s.sure, "pack sums", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO "+tablePacked+" (period, version, packed) VALUES (?, 0, -1)"+
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
		all, err := readPeriod(ctx, tx, period, s.mostPacked)
		if err != nil {
			return err
		}
		if all != nil {
			if want, err = packedRowOf(all); err != nil {
				return err
			}
		}
		there, err := packedPeriods(ctx, tx)
		want.version, want.packed = have.version, there[period].version
		return err
	})
	if err != nil {
		return err
	}
	if have.packed == want.packed && have.equals(&want) {
		return nil
	}
	if period > lastMonth { // a node may have added to the day without a new version: its month may lack that too
		want.version++
		want.packed++
	}
	return s.write(ctx, s.sure, "pack sums", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE "+tablePacked+
			" SET version = ?, packed = ?, by_model = ?, by_key = ?, by_both = ?"+
			" WHERE period = ? AND version = ? AND packed = ?", // otherwise another node was faster
			want.version, want.packed, want.byModel, want.byKey, want.byBoth, period, have.version, have.packed)
		return err
	})
}

// lastMonth is the highest stored month; days are greater numbers.
const lastMonth = lastDay / 100

func packedRowOf(all buckets) (p packedRow, err error) {
	if p.byModel, err = packSums(all.folded(bucket.ofModel)); err != nil {
		return p, err
	}
	if p.byKey, err = packSums(all.folded(bucket.ofKey)); err == nil {
		p.byBoth, err = packSums(all)
	}
	return p, err
}

// ofModel returns the bucket of all accounts and keys, and ofKey that of all models.
func (b bucket) ofModel() bucket { return bucket{model: b.model, provider: b.provider} }
func (b bucket) ofKey() bucket   { return bucket{account: b.account, key: b.key} }

// readPeriod adds up a day or a month of rollup_day; nil if it has too many sums.
func readPeriod(ctx context.Context, tx *sql.Tx, period int64, most int) (buckets, error) {
	first, last := period, period
	if period <= lastMonth {
		first, last = budget.DaysOf(period)
	}
	rows, err := tx.QueryContext(ctx, "SELECT 0, account, model, key, provider, "+columnsBy("sum", measureColumns())+
		" FROM "+tableDays+
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

// dropPacked empties the rows of days that get additions, and increases their versions, which outdates the rows of
// their months. A concurrent write of one of these rows has no effect.
func dropPacked(ctx context.Context, tx *sql.Tx, days []int64) error {
	slices.Sort(days)
	for _, day := range slices.Compact(days) {
		_, err := tx.ExecContext(ctx, "INSERT INTO "+tablePacked+" AS p (period, version, packed) VALUES (?, 1, -1)"+
			" ON CONFLICT (period) DO UPDATE"+
			" SET version = p.version + 1, by_model = NULL, by_key = NULL, by_both = NULL", day)
		if err != nil {
			return fmt.Errorf("packed sums of %s: %w", dateText(day), err)
		}
	}
	return nil
}
