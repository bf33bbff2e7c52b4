package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"weir/internal/report"
)

// pageOfAll returns usage over all accounts: it reads packed months, days and hours from their rows, and others from
// the rollups.
func (m *moment) pageOfAll(ctx context.Context, u *usesRows, limit, offset int) (page report.UsesPage, err error) {
	switch err := m.readOfAll(ctx, u); {
	case errors.Is(err, errManyGroups), errors.Is(err, errLongGroups):
		return u.usesGroups.page(ctx, m.tx, limit, offset)
	case err != nil:
		return page, err
	}
	return u.sorted(limit, offset), nil
}

func (m *moment) readOfAll(ctx context.Context, u *usesRows) error {
	return m.readPeriods(ctx, u, packedPeriod.isReadable, func(p *usesPlan) error { return m.readRollups(ctx, u, p) })
}

// readPeriods reads packed periods from their rows if they are readable, and calls rest for the others.
func (m *moment) readPeriods(ctx context.Context, u *usesRows, isReadable func(packedPeriod) bool,
	rest func(*usesPlan) error,
) error {
	there, err := m.periods(ctx)
	if err != nil {
		return err
	}
	read := func(isReadable func(int64) bool) error {
		p, err := usesPlanner{u, isReadable}.plan(ctx, m.tx)
		if err == nil {
			err = u.addPeriods(ctx, m.tx, p.packed)
		}
		if err == nil {
			err = rest(p)
		}
		return err
	}
	err = read(func(period int64) bool {
		p, ok := there[period]
		return ok && isReadable(p)
	})
	if errors.Is(err, errPacked) {
		m.reports.log.Warn("a report takes longer, because it adds up the sums of each account; they are packed again "+
			"within a day", "err", err)
		clear(u.groups)
		clear(u.byText)
		u.text = 0
		err = read(func(int64) bool { return false })
	}
	return err
}

// usesPlan says where a report reads each period.
type usesPlan struct {
	packed      []int64 // months, days and hours from their packed rows
	days, hours []int64 // from rollups, or from rows
}

// usesPlanner plans a report. isReadable reports whether a period has a packed row.
type usesPlanner struct {
	*usesRows
	isReadable func(period int64) bool
}

// plan divides the requested time into whole months and days, and into hours if the report needs them or its bounds
// cut a day.
func (u usesPlanner) plan(ctx context.Context, tx *sql.Tx) (*usesPlan, error) {
	p := &usesPlan{}
	first, last := u.periods(100)
	if u.isByHours() {
		return p, p.addHours(ctx, tx, first, last, u.isReadable)
	}
	days, err := daysOf(ctx, tx, tableUses, "period", u.from, u.to)
	for _, day := range days {
		switch period := u.wholePeriod(day); {
		case err != nil:
			return nil, err
		case u.cuts(day):
			err = p.addHours(ctx, tx, max(first, day*100), min(last, day*100+99), u.isReadable)
		case slices.Contains(p.packed, period): // a month that also contains another day
		case u.isReadable(period):
			p.packed = append(p.packed, period)
		default:
			p.days = append(p.days, day)
		}
	}
	return p, err
}

// addHours adds the hours with usage between two.
func (p *usesPlan) addHours(ctx context.Context, tx *sql.Tx, first, last int64, isReadable func(int64) bool) error {
	hours, err := daysOf(ctx, tx, tableHours, "period", first, last)
	for _, hour := range hours {
		if isReadable(hour) {
			p.packed = append(p.packed, hour)
		} else {
			p.hours = append(p.hours, hour)
		}
	}
	return err
}

// wholePeriod returns the day's month if it can be read as a whole, else the day.
func (u usesPlanner) wholePeriod(day int64) int64 {
	month := day / 100
	if !u.has(report.ByDay) && u.isReadable(month) && u.isWhole(month) {
		return month
	}
	return day
}

// isByHours reports whether the report needs hours of all days.
func (u *usesRows) isByHours() bool {
	return u.has(report.ByHour) || u.speeds && (u.key != "" || u.has(report.ByKey))
}

// cuts reports whether only a part of a day is requested.
func (f *usesFilter) cuts(day int64) bool {
	isIn := func(at time.Time) bool { return !at.IsZero() && isPartOfDay(at) && dayOf(at) == day }
	return isIn(f.since) || isIn(f.until)
}

// isWhole reports whether all days of a month are requested.
func (f *usesFilter) isWhole(month int64) bool {
	first := month*100 + 1
	last := dayOf(timeOfDay(first).AddDate(0, 1, -1))
	return f.from <= first && last <= f.to && !f.cuts(first) && !f.cuts(last)
}

// readRollups adds the days and hours that are not packed. A few are read by account, key and model, for all reports of
// the moment; the database adds up others.
func (m *moment) readRollups(ctx context.Context, u *usesRows, p *usesPlan) error {
	rest := *p
	switch n := len(p.days) + len(p.hours); {
	case n > mostNamed:
		return errManyGroups
	case n <= mostRunningPeriods:
		rest = usesPlan{}
		for _, period := range slices.Concat(p.days, p.hours) {
			list, err := m.readRunning(ctx, period)
			if err == nil {
				err = addRunning(u, list)
			}
			if err != nil {
				return err
			}
			switch {
			case list != nil:
			case period > lastDay:
				rest.hours = append(rest.hours, period)
			default:
				rest.days = append(rest.days, period)
			}
		}
	}
	err := readRollup(ctx, m.tx, u, u.daily, 1, rest.days)
	if err == nil {
		err = readRollup(ctx, m.tx, u, tableHours, 100, rest.hours)
	}
	return err
}

func readRollup(ctx context.Context, tx *sql.Tx, u *usesRows, table string, scale int64, periods []int64) error {
	if len(periods) == 0 {
		return nil
	}
	g := *u.usesGroups
	g.table, g.scale, g.on = table, scale, isOn("r.period", periods...)
	text, args := g.query(measureColumns())
	rows, err := tx.QueryContext(ctx, text, args...)
	return each(rows, err, g.scanGroup, func(read *rowGroup) error {
		have, err := u.groupOf(read.values)
		if err == nil {
			have.add(&read.sums)
		}
		return err
	})
}

// addPeriods adds the packed sums of periods.
func (u *usesRows) addPeriods(ctx context.Context, tx *sql.Tx, periods []int64) error {
	isHour := func(period int64) bool { return period > lastDay }
	err := u.addPackedRows(ctx, tx, tablePacked, slices.DeleteFunc(slices.Clone(periods), isHour))
	if err == nil {
		err = u.addPackedRows(ctx, tx, tablePackedHours,
			slices.DeleteFunc(periods, func(period int64) bool { return !isHour(period) }))
	}
	return err
}

// packedColumn returns the column with the smallest sums that suffice, and the names of its measures.
func (u *usesRows) packedColumn() (column string, names []string) {
	switch names = measureColumns(); {
	case u.speeds:
		return "speeds", speedColumns()
	case u.key == "" && !u.has(report.ByKey) && !u.has(report.ByAccount):
		return "by_model", names
	case u.byModel():
		return "by_both", names
	}
	return "by_key", names
}

func (u *usesRows) addPackedRows(ctx context.Context, tx *sql.Tx, table string, periods []int64) error {
	if len(periods) == 0 {
		return nil
	}
	column, names := u.packedColumn()
	if u.speeds {
		table = tablePackedSpeeds
	}
	rows, err := tx.QueryContext(ctx, "SELECT period, "+column+" FROM "+table+" WHERE "+isOn("period", periods...))
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
		sums, err := unpackSums(packed, names)
		if err == nil {
			sums.isPeriod = true
			err = u.addPacked(on, sums)
		}
		if errors.Is(err, errPacked) {
			err = fmt.Errorf("%s: %w", periodText(period), err)
		}
		return err
	})
}
