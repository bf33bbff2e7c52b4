package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"

	"weir/internal/budget"
)

// tablePacked has what rollup_day has of all accounts, in one row for each day and each month that is over.
const tablePacked = "rollup_packed"

// mostPacked bounds the sums of a row. Reports of a period that has more read the rollups.
const mostPacked = 100_000

// PackRollups writes the row of each day and each month that is over and has none, up to the last day that Attribute
// has begun: a node whose clock is behind knows by that, too, that it adds to a day that may be packed. The last days and their months are
// added up again, and all once a day: a node of an earlier version may have added something to them.
func (s *Ledger) PackRollups(ctx context.Context) error {
	last, err := s.lastAttributed(ctx)
	if err != nil {
		return fmt.Errorf("pack sums: %w", err)
	}
	days, err := daysOf(ctx, s.read, tableDays, "period", firstDay, min(s.lastOver(), last))
	if err != nil {
		return fmt.Errorf("pack sums: %w", err)
	}
	there, err := packedPeriods(ctx, s.read)
	if err != nil {
		return fmt.Errorf("pack sums: %w", err)
	}
	now, checked := s.clock.now().UTC(), checkedDays
	if now.Hour() == checkHour {
		checked = len(days)
	}
	var all []error            // of which none keeps other periods from being packed
	months := map[int64]bool{} // and whether they are checked
	for i, day := range days { // the newest first
		if i < checked || !there[day] {
			if err := s.pack(ctx, day); err != nil {
				all = append(all, fmt.Errorf("pack sums of %s: %w", dateText(day), err))
			}
		}
		if month := day / 100; month < min(dayOf(now.Add(-attributeAfter)), last+1)/100 {
			months[month] = months[month] || i < checked
		}
	}
	if there, err = packedPeriods(ctx, s.read); err != nil { // without those of which a day was another one
		return errors.Join(append(all, err)...)
	}
	for _, month := range slices.Sorted(maps.Keys(months)) {
		if there[month] && !months[month] {
			continue
		}
		if err := s.pack(ctx, month); err != nil {
			all = append(all, fmt.Errorf("pack sums of %s: %w", periodText(month), err))
		}
	}
	return errors.Join(all...)
}

// lastAttributed is the last day of which all attempts that are settled from now on are late: see summedUpto.
func (s *Ledger) lastAttributed(ctx context.Context) (int64, error) {
	var day int64
	var upto string
	err := s.read.QueryRowContext(ctx, "SELECT day, upto FROM attributed_days ORDER BY day DESC LIMIT 1").Scan(&day, &upto)
	if isNone(err) {
		return firstDay, nil
	}
	if upto < everyRequest {
		day--
	}
	return day, err
}

// packedPeriods are the days and months that have a row with sums.
func packedPeriods(ctx context.Context, q querier) (map[int64]bool, error) {
	rows, err := q.QueryContext(ctx, "SELECT period FROM "+tablePacked+" WHERE by_both IS NOT NULL")
	there := map[int64]bool{}
	err = each(rows, err, scanOne[int64], func(period *int64) error {
		there[*period] = true
		return nil
	})
	return there, err
}

// packedRow is a row of rollup_packed.
type packedRow struct {
	version                int64
	byModel, byKey, byBoth []byte // nil where they have to be added up
}

func (p *packedRow) equals(o *packedRow) bool {
	return bytes.Equal(p.byModel, o.byModel) && bytes.Equal(p.byKey, o.byKey) && bytes.Equal(p.byBoth, o.byBoth)
}

func readPacked(ctx context.Context, q querier, period int64) (p packedRow, err error) {
	err = q.QueryRowContext(ctx, "SELECT version, by_model, by_key, by_both FROM "+tablePacked+" WHERE period = ?", period).
		Scan(&p.version, &p.byModel, &p.byKey, &p.byBoth)
	return p, err
}

// pack writes the row of a period, unless it is what it would write.
func (s *Ledger) pack(ctx context.Context, period int64) error {
	err := s.write(ctx, s.sure, "pack sums", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO "+tablePacked+" (period, version) VALUES (?, 0) ON CONFLICT (period) DO NOTHING", period)
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
		all, err := readPeriod(ctx, tx, period)
		if err != nil || all == nil {
			return err
		}
		want, err = packedRowOf(all)
		return err
	})
	if err != nil || have.equals(&want) {
		return err
	}
	return s.write(ctx, s.sure, "pack sums", func(tx *sql.Tx) error {
		if period > lastMonth { // the month's row may lack the same as the day's; months first, as in dropPacked
			if _, err := tx.ExecContext(ctx, dropPeriod, period/100); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, "UPDATE "+tablePacked+" SET version = version + 1, by_model = ?, by_key = ?, by_both = ? WHERE period = ? AND version = ?",
			want.byModel, want.byKey, want.byBoth, period, have.version)
		return err
	})
}

// lastMonth is no bound, as months are stored.
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

// ofModel is the bucket of all accounts and keys, and ofKey that of all models.
func (b bucket) ofModel() bucket { return bucket{model: b.model, provider: b.provider} }
func (b bucket) ofKey() bucket   { return bucket{account: b.account, key: b.key} }

// readPeriod adds up what rollup_day has of a day or a month; nil where that is too much for a row.
func readPeriod(ctx context.Context, tx *sql.Tx, period int64) (buckets, error) {
	first, last := period, period
	if period <= lastMonth {
		first, last = budget.DaysOf(period)
	}
	rows, err := tx.QueryContext(ctx, "SELECT 0, account, model, key, provider, "+columnsBy("sum", measureColumns())+" FROM "+tableDays+
		" WHERE period BETWEEN ? AND ? GROUP BY account, model, key, provider LIMIT ?", first, last, mostPacked+1)
	all := buckets{}
	err = each(rows, err, scanRolled, func(r *rolled) error {
		all.add(r.bucket, &r.sums)
		return nil
	})
	if len(all) > mostPacked {
		return nil, err
	}
	return all, err
}

// dropPeriod takes a row back. Whoever is about to write one does so in vain.
const dropPeriod = "INSERT INTO " + tablePacked + " (period, version) VALUES (?, 1) ON CONFLICT (period) DO UPDATE SET version = " +
	tablePacked + ".version + 1, by_model = NULL, by_key = NULL, by_both = NULL"

// dropPacked takes back the rows of days to which something is added, and those of their months.
func dropPacked(ctx context.Context, tx *sql.Tx, days []int64) error {
	periods := map[int64]bool{}
	for _, day := range days {
		periods[day], periods[day/100] = true, true
	}
	for _, period := range slices.Sorted(maps.Keys(periods)) {
		if _, err := tx.ExecContext(ctx, dropPeriod, period); err != nil {
			return fmt.Errorf("packed sums of %s: %w", periodText(period), err)
		}
	}
	return nil
}
