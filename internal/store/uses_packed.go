package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"weir/internal/report"
)

// pageOfAll returns usage over all accounts: it reads packed months and days from their rows, and others from the
// rollup.
func (s *Reports) pageOfAll(ctx context.Context, tx *sql.Tx, u *usesRows, limit, offset int) (
	page report.UsesPage, err error,
) {
	switch err := s.readOfAll(ctx, tx, u); {
	case errors.Is(err, errManyGroups), errors.Is(err, errLongGroups):
		return u.usesGroups.page(ctx, tx, limit, offset)
	case err != nil:
		return page, err
	}
	return u.sorted(limit, offset), nil
}

func (s *Reports) readOfAll(ctx context.Context, tx *sql.Tx, u *usesRows) error {
	days, err := daysOf(ctx, tx, u.table, "period", u.from, u.to)
	if err != nil {
		return err
	}
	there, err := packedPeriods(ctx, tx)
	if err != nil {
		return err
	}
	err = u.readDays(ctx, tx, days, there)
	if errors.Is(err, errPacked) {
		s.log.Warn("a report over all accounts takes longer, because it adds up the sums of each account;"+
			" they are packed "+
			"again within a day", "err", err)
		clear(u.groups)
		u.text = 0
		err = u.readDays(ctx, tx, days, nil)
	}
	return err
}

// readDays reads days: packed ones from their own rows or their month's, others from the rollup.
func (u *usesRows) readDays(ctx context.Context, tx *sql.Tx, days []int64, there map[int64]packedPeriod) error {
	var packed, others []int64
	for _, day := range days {
		period := day
		if month := day / 100; !u.has(report.ByDay) && there[month].isReadable() && u.isWhole(month) {
			period = month
		}
		switch {
		case len(packed) > 0 && packed[len(packed)-1] == period: // a month that also contains the day after
		case there[period].isReadable():
			packed = append(packed, period)
		default:
			others = append(others, day)
		}
	}
	if err := u.addPeriods(ctx, tx, packed); err != nil || len(others) == 0 {
		return err
	}
	u.on = isOn("r.period", others...)
	text, args := u.query(measureColumns())
	rows, err := tx.QueryContext(ctx, text, args...)
	return each(rows, err, u.scanGroup, func(g *rowGroup) error {
		have, err := u.groupOf(g.values)
		if err == nil {
			have.add(&g.sums)
		}
		return err
	})
}

// isWhole reports whether all days of a month are requested.
func (u *usesRows) isWhole(month int64) bool {
	first := month*100 + 1
	return u.from <= first && dayOf(timeOfDay(first).AddDate(0, 1, -1)) <= u.to
}

// addPeriods adds the packed sums of periods.
func (u *usesRows) addPeriods(ctx context.Context, tx *sql.Tx, periods []int64) error {
	column := "by_model"
	if u.key != "" || u.has(report.ByKey) || u.has(report.ByAccount) {
		column = "by_key"
		if u.byModel() {
			column = "by_both"
		}
	}
	rows, err := tx.QueryContext(ctx, "SELECT period, "+column+" FROM "+tablePacked+" WHERE "+
		isOn("period", periods...))
	return eachRow(rows, err, func(row scanner) error {
		var on accountOn
		var packed sql.RawBytes
		var period int64
		if err := row.Scan(&period, &packed); err != nil {
			return err
		}
		if on.day = period; period <= lastMonth {
			on.day = period*100 + 1
		}
		sums, err := unpackSums(packed)
		if err == nil {
			err = u.addPacked(on, sums)
		}
		if errors.Is(err, errPacked) {
			err = fmt.Errorf("%s: %w", periodText(period), err)
		}
		return err
	})
}
