package store

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"weir/internal/llm"
	"weir/internal/report"
)

// mostSpeedDays bounds the days of a report of times to first token that reads rows.
const mostSpeedDays = 2

// usesSpeeds counts times to first token by dimensions.
type usesSpeeds struct{ *usesRows }

// page counts times to first token by the groups: from their rollup, or from rows if it does not have the groups.
func (u usesSpeeds) page(ctx context.Context, tx *sql.Tx, limit, offset int) (page report.UsesPage, err error) {
	if u.needsRows() {
		err = u.readSpeedRows(ctx, tx)
	} else {
		err = u.readSpeeds(ctx, tx)
	}
	return u.sorted(limit, offset), err
}

// needsRows reports whether the rollup of times to first token lacks what the report needs.
func (u usesSpeeds) needsRows() bool {
	return u.byHour() || u.key != "" || u.user != "" || len(u.tags) > 0 ||
		slices.ContainsFunc(u.by, func(d report.Dimension) bool {
			return d == report.ByKey || d == report.ByUser || d.Tag() != ""
		})
}

func (u usesSpeeds) readSpeedRows(ctx context.Context, tx *sql.Tx) error {
	days, err := daysOf(ctx, tx, tableSpeed, "period", u.from, u.to)
	if err != nil {
		return err
	}
	if len(days) > mostSpeedDays {
		return llm.Invalidf("start_date", "Times to first token of keys, end users, tags and hours are reported for "+
			"at most %d days. Request fewer days, or group by account, provider, model or day.", mostSpeedDays)
	}
	for _, day := range days {
		query := rowsQuery{account: u.account, least: stateKnown, limit: exportPiece}
		query.from, query.to = u.places(day, "")
		if err := walk(ctx, tx, query, u.addSpeed); err != nil {
			return err
		}
	}
	return nil
}

// addSpeed counts the time to first token of an attempt, if it is a complete answer with one.
func (u usesSpeeds) addSpeed(r *storedRow) error {
	if !u.timeRange.has(r.Arrived) {
		return nil
	}
	if u.rows++; u.rows > maxUsesRows {
		return errUsesRows(maxUsesRows, "attempts")
	}
	if !hasSpeed(&r.Entry) {
		return nil
	}
	b, a := u.bucketOf(&r.Attempt), attributedOf(&r.Attribution)
	speed, err := u.speedOf(&b, &a)
	if speed != nil {
		speed.Count(r.FirstToken)
	}
	return err
}

// speedOf returns the times of a bucket's group; nil if a filter excludes it.
func (u usesSpeeds) speedOf(b *bucket, a *attributed) (*report.Speed, error) {
	g, err := u.group(b, a)
	if g == nil {
		return nil, err
	}
	if g.speed == nil {
		g.speed = &report.Speed{}
	}
	return g.speed, nil
}

// readSpeeds reads the rollup by the columns of the groups.
func (u usesSpeeds) readSpeeds(ctx context.Context, tx *sql.Tx) error {
	on, err := periodsOf(ctx, tx, tableSpeed, u.from, u.to)
	if err != nil {
		return err
	}
	names, needed := []string{"0", "''", "''"}, []bool{
		u.has(report.ByDay) || u.has(report.ByMonth), u.has(report.ByAccount), u.byModel(),
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
		" FROM "+tableSpeed+" r WHERE "+on+" AND "+where+" GROUP BY "+strings.Join(groups, ", "), args...)
	return eachRow(rows, err, func(row scanner) error {
		var b bucket
		var read report.Speed
		dest := []any{&b.period, &b.account, &b.model}
		for i := range read {
			dest = append(dest, &read[i])
		}
		if err := row.Scan(dest...); err != nil {
			return err
		}
		b.provider, _, _ = strings.Cut(b.model, "/")
		speed, err := u.speedOf(&b, &attributed{})
		if speed != nil {
			speed.Add(&read)
		}
		return err
	})
}
