package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
)

// mostRunning bounds the sums of accounts that the reports of a moment read once and use together. Reports over more
// sums add them up in the database.
const mostRunning = 50_000

// mostRunningPeriods is how many days and hours are read so.
const mostRunningPeriods = 6

// moment reads several reports as of one moment, and what they share once.
type moment struct {
	reports *Reports
	tx      *sql.Tx
	packed  map[int64]packedPeriod // nil before the first report over all accounts
	running map[int64][]running    // sums of days and hours that are not packed, over all accounts; nil for too many
	mayRun  int                    // how many more of them may be read
	settled settledRows
}

// running are the sums of an account, key and model in a day or an hour that is not packed.
type running struct {
	bucket
	usual [numUsual]int64 // see usualMeasures
	other *sums           // all sums; nil if only the usual ones are not 0
}

// at calls fn to read reports of an account, or of all accounts if it is empty, in its turn. They are of one moment.
func (s *Reports) at(ctx context.Context, account, doing string, fn func(*moment) error) error {
	return s.report(ctx, account, doing, func(tx *sql.Tx) error {
		kinds := s.kinds.take()
		if !s.engine.manyWriters {
			defer s.kinds.Store(&kinds)
		}
		return fn(&moment{
			reports: s, tx: tx, running: map[int64][]running{}, mayRun: mostRunning, settled: newSettledRows(tx, kinds),
		})
	})
}

// periods returns the packed periods.
func (m *moment) periods(ctx context.Context) (map[int64]packedPeriod, error) {
	if m.packed != nil {
		return m.packed, nil
	}
	there, err := packedPeriods(ctx, m.tx)
	if err == nil {
		m.packed = there
	}
	return there, err
}

// readRunning returns the sums of a day or an hour over all accounts; nil if there are too many.
func (m *moment) readRunning(ctx context.Context, period int64) ([]running, error) {
	if list, there := m.running[period]; there {
		return list, nil
	}
	list, err := readRunning(ctx, m.tx, period, m.mayRun)
	if err != nil {
		return nil, fmt.Errorf("sums of %s: %w", periodText(period), err)
	}
	m.running[period] = list
	m.mayRun -= len(list)
	return list, nil
}

// readRunning reads at most that many sums, and nil if there are more. Most measures are 0: the database tells which
// sums have others, because each value that it returns costs as much as its comparison of all of them.
func readRunning(ctx context.Context, tx *sql.Tx, period int64, most int) (list []running, err error) {
	table := tableDays
	if period > lastDay {
		table = tableHours
	}
	names, others := measureColumns(), make([]string, 0, numMeasures)
	var usual [numUsual]string
	for i, m := range usualMeasures() {
		usual[i] = names[m]
	}
	for _, name := range names {
		if !slices.Contains(usual[:], name) {
			others = append(others, name+" <> 0")
		}
	}
	const buckets = "SELECT account, model, key, provider, "
	hasOthers := "(" + strings.Join(others, " OR ") + ")"
	from := " FROM " + table + " WHERE period = ?"
	rows, err := tx.QueryContext(ctx, buckets+strings.Join(usual[:], ", ")+", CASE WHEN "+hasOthers+
		" THEN 1 ELSE 0 END"+from+" LIMIT ?", period, most+1)
	var r running
	var isOther bool
	dest := []any{&r.account, &r.model, &r.key, &r.provider}
	for i := range r.usual {
		dest = append(dest, &r.usual[i])
	}
	dest = append(dest, &isOther)
	var unusual map[bucket]int
	r.period = period
	err = eachRow(rows, err, func(row scanner) error {
		if err := row.Scan(dest...); err != nil {
			return err
		}
		if isOther {
			if unusual == nil {
				unusual = map[bucket]int{}
			}
			unusual[r.bucket] = len(list)
		}
		list = append(list, r)
		return nil
	})
	if err != nil || len(list) > most {
		return nil, err
	}
	if len(unusual) == 0 {
		return append([]running{}, list...), nil
	}
	rows, err = tx.QueryContext(ctx, "SELECT period, account, model, key, provider, "+strings.Join(names, ", ")+from+
		" AND "+hasOthers, period)
	err = each(rows, err, scanRolled, func(x *rolled) error {
		list[unusual[x.bucket]].other = &x.sums
		return nil
	})
	return list, err
}

// addRunning adds sums to the groups.
func addRunning(u *usesRows, list []running) error {
	for i := range list {
		r := &list[i]
		g, err := u.group(&r.bucket, &attributed{})
		if err != nil {
			return err
		}
		if g != nil {
			r.addTo(&g.sums)
		}
	}
	return nil
}

func (r *running) addTo(s *sums) {
	if r.other != nil {
		s.add(r.other)
		return
	}
	for i, m := range usualMeasures() {
		s[m] += r.usual[i]
	}
}
