package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"weir/internal/report"
)

const (
	// hoursFor is the age up to which sums of hours over all accounts are stored and read, in whole days.
	hoursFor = 8 * 24 * time.Hour
	// packHoursEvery is how often the hours that have ended are packed. Until then reports read their rollups.
	packHoursEvery = 5 * time.Minute
	// checkedHours is how many of the last hours are added up again each time; each other one is once a day.
	checkedHours = 3
	// mostHourRows bounds the rows of an hour of which the times to first token are counted.
	mostHourRows = 1_000_000
)

// runPackingHours packs hours, and the refused requests of days, until ctx ends.
func (s *DB) runPackingHours(ctx context.Context) {
	every := time.NewTicker(packHoursEvery)
	defer every.Stop()
	for ctx.Err() == nil {
		if err := s.Attribution.PackHours(ctx, false); err != nil && ctx.Err() == nil {
			s.log.Error("usage of all accounts by hour could not be packed; reports read the sums of each account "+
				"meanwhile", "err", err)
		}
		if err := s.Refusals.PackRefusals(ctx); err != nil && ctx.Err() == nil {
			s.log.Error("refused requests of past days could not be packed; reports read each count meanwhile",
				"err", err)
		}
		select {
		case <-ctx.Done():
		case <-every.C:
		}
	}
}

// PackHours writes the missing and outdated rows of the hours that ended at least attributeBehind ago, newest first,
// and deletes old ones. A check adds some hours up again, because a node of an earlier version may have added to them.
func (s *Attribution) PackHours(ctx context.Context, check bool) error {
	now := s.clock.now().UTC()
	first := hourOf(now.Add(-hoursFor).Truncate(24 * time.Hour))
	hours, err := daysOf(ctx, s.read, tableHours, "period", first, hourOf(now.Add(-attributeBehind))-1)
	if err != nil {
		return fmt.Errorf("pack hours: %w", err)
	}
	there, err := packedPeriods(ctx, s.read)
	if err != nil {
		return fmt.Errorf("pack hours: %w", err)
	}
	isChecked := func(int64) bool { return false }
	if check {
		isChecked = s.hours.next(now)
	}
	var all []error // an error does not stop the other hours
	for i, hour := range hours {
		if there[hour].isUpToDate() && hasRow(there, hour) && !isChecked(hour) && (!check || i >= checkedHours) {
			continue
		}
		if err := s.pack(ctx, hour); err != nil {
			all = append(all, fmt.Errorf("pack sums of %s: %w", periodText(hour), err))
		}
	}
	for period := range there {
		if period > lastDay && period < first {
			return errors.Join(append(all, s.dropHours(ctx, first))...)
		}
	}
	return errors.Join(all...)
}

// dropHours deletes the rows of the hours before the hour first.
func (s *Attribution) dropHours(ctx context.Context, first int64) error {
	return s.write(ctx, s.sure, "delete old sums of hours", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "DELETE FROM "+tablePackedHours+" WHERE period < ?", first)
		if err == nil {
			_, err = tx.ExecContext(ctx, "DELETE FROM "+tablePackedSpeeds+" WHERE period > ? AND period < ?",
				int64(lastDay), first)
		}
		return err
	})
}

func hasRow(there map[int64]packedPeriod, period int64) bool {
	_, ok := there[period]
	return ok
}

// hourPlaces returns the bounds of the rows of the requests that arrived in an hour.
func hourPlaces(hour int64) (from, to rowPlace) {
	start := timeOfHour(hour)
	return timeRange{start, start.Add(time.Hour)}.places(hour/100, "")
}

// timeOfHour returns the start of a stored hour.
func timeOfHour(hour int64) time.Time {
	return timeOfDay(hour / 100).Add(time.Duration(hour%100) * time.Hour)
}

// readSpeedsOf counts the times to first token of a period, as measures of speedColumns: of an hour from its rows, by
// account, key and model, of a day or month from rollup_speed, without keys. It returns nil if rows are deleted or
// there are too many.
func readSpeedsOf(ctx context.Context, tx *sql.Tx, period int64, most int) (buckets, error) {
	if period > lastDay {
		return readSpeedsOfHour(ctx, tx, period, most)
	}
	first, last := period, period
	if period <= lastMonth {
		first, last = period*100+1, period*100+99
	}
	rows, err := tx.QueryContext(ctx, "SELECT account, model, "+columnsBy("sum", speedColumns())+" FROM "+tableSpeed+
		" WHERE period BETWEEN ? AND ? GROUP BY account, model LIMIT ?", first, last, most+1)
	all := buckets{}
	err = eachRow(rows, err, func(row scanner) error {
		var b bucket
		var s sums
		if err := row.Scan(append([]any{&b.account, &b.model}, s.dest()[:report.NumSpeeds]...)...); err != nil {
			return err
		}
		b.provider, _, _ = strings.Cut(b.model, "/")
		all.add(b, &s)
		return nil
	})
	if len(all) > most {
		return nil, err
	}
	return all, err
}

func readSpeedsOfHour(ctx context.Context, tx *sql.Tx, hour int64, most int) (buckets, error) {
	deleted, err := daysOf(ctx, tx, tableCheckpoints, "period", hour/100, hour/100)
	if err != nil || len(deleted) > 0 {
		return nil, err
	}
	all, read := buckets{}, 0
	query := rowsQuery{least: stateKnown, limit: exportPiece}
	query.from, query.to = hourPlaces(hour)
	err = walk(ctx, tx, query, func(r *storedRow) error {
		if read++; read > mostHourRows || len(all) > most {
			return errEnough
		}
		if b := bucketOf(&r.Attempt); b.period == hour && hasSpeed(&r.Entry) {
			b.period = 0
			all.add(b, speedSums(r.FirstToken))
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return nil, nil //nolint:nilnil // there are too many
	}
	return all, err
}

// speedSums returns the measures of speedColumns for one time to first token.
func speedSums(first time.Duration) *sums {
	var one report.Speed
	one.Count(first)
	s := &sums{}
	copy(s[:], one[:])
	return s
}
