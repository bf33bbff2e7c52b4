package store

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"

	"weir/internal/llm"
	"weir/internal/report"
)

const (
	// mostSpeedDays bounds the days of a report of times to first token that reads rows, and mostHourDays those of one
	// that reads hours.
	mostSpeedDays = 2
	mostHourDays  = int(hoursFor / (24 * time.Hour))
	// fewAttempts is how many attempts of an account are read more quickly from its rows than from the packed hours of
	// all accounts.
	fewAttempts = 2000
)

// usesSpeeds counts times to first token by dimensions. The sums of its groups are measures of speedColumns.
type usesSpeeds struct{ *usesRows }

// pageOfSpeeds counts times to first token by the groups: from their rollup, by hour from packed hours, or from rows if
// these do not have the groups.
func (m *moment) pageOfSpeeds(ctx context.Context, rows *usesRows, limit, offset int) (
	page report.UsesPage, err error,
) {
	u := usesSpeeds{rows}
	u.speeds = true
	isReadable, byHours := packedPeriod.areSpeedsReadable, u.isByHours() || u.isPart()
	switch days := u.daysFor(byHours); {
	case days > 0:
		err = u.checkDays(ctx, m.tx, days)
	case !u.all:
		isReadable = func(packedPeriod) bool { return false }
	}
	if err == nil && byHours && !u.all {
		var few bool
		if few, err = u.areFew(ctx, m.tx); few {
			isReadable = func(packedPeriod) bool { return false }
		}
	}
	if err == nil && u.needsRows() {
		err = u.readByRow(ctx, m)
	} else if err == nil {
		err = m.readPeriods(ctx, rows, isReadable, func(p *usesPlan) error {
			return u.readRest(ctx, m, p)
		})
	}
	return u.sorted(limit, offset), err
}

// needsRows reports whether only rows have what the report needs.
func (u usesSpeeds) needsRows() bool {
	return u.byMinute || u.user != "" || len(u.tags) > 0 ||
		slices.ContainsFunc(u.by, func(d report.Dimension) bool { return d == report.ByUser || d.Tag() != "" })
}

// daysFor returns the most days of the report; 0 for no bound.
func (u usesSpeeds) daysFor(byHours bool) int {
	switch {
	case u.needsRows():
		return mostSpeedDays
	case byHours:
		return mostHourDays
	}
	return 0
}

// checkDays returns an error if the report has more days.
func (u usesSpeeds) checkDays(ctx context.Context, tx *sql.Tx, most int) error {
	days, err := daysOf(ctx, tx, tableSpeed, "period", u.from, u.to)
	if err == nil && len(days) > most {
		err = llm.Invalidf("start_date", "Times to first token of end users, tags and minutes are reported for at "+
			"most %d days, those of keys and hours for at most %d. Request fewer days, or group by account, provider, "+
			"model or day.", mostSpeedDays, mostHourDays)
	}
	return err
}

// areFew reports whether the account has few attempts on the requested days.
func (u usesSpeeds) areFew(ctx context.Context, tx *sql.Tx) (few bool, err error) {
	on, err := periodsOf(ctx, tx, tableUses, u.from, u.to)
	if err == nil {
		err = tx.QueryRowContext(ctx, "SELECT coalesce(sum(attempts), 0) <= ? FROM rollup_uses r WHERE account = ?"+
			" AND "+on, fewAttempts, u.account).Scan(&few)
	}
	return few, err
}

// readRest counts the days that are not packed from their rollup, and the hours from rows.
func (u usesSpeeds) readRest(ctx context.Context, m *moment, p *usesPlan) error {
	err := u.readSpeeds(ctx, m.tx, p.days)
	for rest := p.hours; len(rest) > 0 && err == nil; {
		day := rest[0] / 100
		n := len(rest)
		if i := slices.IndexFunc(rest, func(hour int64) bool { return hour/100 != day }); i >= 0 {
			n = i
		}
		hours := rest[:n]
		rest = rest[n:]
		_, to := hourPlaces(slices.Max(hours))
		from, _ := hourPlaces(slices.Min(hours))
		err = u.readSpeedRows(ctx, m, from, to, func(at time.Time) bool { return slices.Contains(hours, hourOf(at)) })
	}
	return err
}

// readByRow counts the times of the requested rows.
func (u usesSpeeds) readByRow(ctx context.Context, m *moment) error {
	days, err := daysOf(ctx, m.tx, tableSpeed, "period", u.from, u.to)
	for _, day := range days {
		if err == nil {
			from, to := u.places(day, "")
			err = u.readSpeedRows(ctx, m, from, to, u.timeRange.has)
		}
	}
	return err
}

// readSpeedRows counts the times of the rows between two places that arrived at a requested time.
func (u usesSpeeds) readSpeedRows(ctx context.Context, m *moment, from, to rowPlace,
	isRequested func(time.Time) bool,
) error {
	query := rowsQuery{account: u.account, from: from, to: to, least: stateKnown, limit: settledPiece}
	return m.settled.walk(ctx, query, func(r *settledRow) error {
		if !isRequested(r.arrived) {
			return nil
		}
		if u.rows++; u.rows > maxUsesRows {
			return errUsesRows(maxUsesRows, "attempts")
		}
		if !r.hasSpeed {
			return nil
		}
		b := u.bucketOf(r)
		return u.add(&b, &r.attribution, speedSums(r.first))
	})
}

// readSpeeds reads days of the rollup by the columns of the groups.
func (u usesSpeeds) readSpeeds(ctx context.Context, tx *sql.Tx, days []int64) error {
	if len(days) == 0 {
		return nil
	}
	names, needed := []string{"0", "''", "''"}, []bool{
		u.has(report.ByDay) || u.has(report.ByMonth), u.has(report.ByAccount) || u.account != "", u.byModel(),
	}
	groups := []string{"r.period / 1000000"} // GROUP BY needs a column
	for i, column := range []string{"r.period", "r.account", "r.model"} {
		if needed[i] {
			names[i], groups = column, append(groups, column)
		}
	}
	f := *u.usesFilter
	f.provider = "" // group filters by it
	where, args := f.among()
	rows, err := tx.QueryContext(ctx, "SELECT "+strings.Join(names, ", ")+", "+columnsBy("sum", speedColumns())+
		" FROM "+tableSpeed+" r WHERE "+isOn("r.period", days...)+" AND "+where+" GROUP BY "+
		strings.Join(groups, ", "), args...)
	return eachRow(rows, err, func(row scanner) error {
		var b bucket
		var s sums
		dest := append([]any{&b.period, &b.account, &b.model}, s.dest()[:report.NumSpeeds]...)
		if err := row.Scan(dest...); err != nil {
			return err
		}
		b.provider, _, _ = strings.Cut(b.model, "/")
		return u.add(&b, &attributed{}, &s)
	})
}
