package store

import (
	"encoding/binary"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"weir/internal/llm"
	"weir/internal/promptcache"
	"weir/internal/report"
)

// timeRange bounds the arrival of requests, the end exclusively; zero means no bound.
type timeRange struct{ since, until time.Time }

// isPart reports whether there is a bound.
func (r timeRange) isPart() bool { return !r.since.IsZero() || !r.until.IsZero() }

func (r timeRange) has(at time.Time) bool {
	return (r.since.IsZero() || !at.Before(r.since)) && (r.until.IsZero() || at.Before(r.until))
}

func isPartOfDay(at time.Time) bool { return !at.Equal(at.Truncate(24 * time.Hour)) }

// clockSlack is how much the time in a request's id may differ from its arrival: the id has the time of a node's own
// clock.
const clockSlack = 15 * time.Minute

// places returns the bounds of the rows of a day, from a request on.
func (r timeRange) places(day int64, upto string) (from, to rowPlace) {
	from, to = placeAt(day, upto), rowPlace{day: day + 1}
	if !r.since.IsZero() && dayOf(r.since) == day {
		if p := placeOfRequest(day, firstID(r.since.Add(-clockSlack))); p.compare(from) > 0 {
			from = p
		}
	}
	if !r.until.IsZero() && dayOf(r.until) == day {
		to = placeOfRequest(day, firstID(r.until.Add(clockSlack)))
	}
	return from, to
}

// firstID returns the lowest UUIDv7 of a time.
func firstID(at time.Time) (id uuid.UUID) {
	binary.BigEndian.PutUint64(id[:], uint64(at.UnixMilli())<<16)
	return id
}

// byMinute reports whether a report needs times that rollups do not have.
func (r timeRange) byMinute(by []report.Dimension) bool {
	isHour := func(at time.Time) bool { return at.Equal(at.Truncate(time.Hour)) }
	return slices.Contains(by, report.ByMinute) || !isHour(r.since) || !isHour(r.until)
}

// checkMinutes returns an error if a report by minute is about an older time than rows are surely stored for.
func (r timeRange) checkMinutes(by []report.Dimension, now time.Time) error {
	if !r.byMinute(by) || !r.since.Before(now.Add(-report.MinutesFor)) {
		return nil
	}
	return llm.Invalid("from", "Usage by minute needs from, a time within the last 48 hours. Use one, or group by "+
		"hour and use whole hours.")
}

// periods returns the first and the last period of a table between two days. Scale is how many of its period numbers a
// day covers.
func (f *usesFilter) periods(scale int64) (first, last int64) {
	first, last = f.from*scale, (f.to+1)*scale-1
	if scale > 1 && !f.since.IsZero() {
		first = max(first, hourOf(f.since))
	}
	if scale > 1 && !f.until.IsZero() {
		last = min(last, hourOf(f.until.Add(-1)))
	}
	return first, last
}

// measuresOf returns the measures of a rollup that a measure of reports adds up.
func measuresOf(m report.Measure) (list []int) {
	switch m {
	case report.MeasureCost:
		return []int{measureCost, measureMargin}
	case report.MeasureRequests:
		return []int{measureRequests}
	case report.MeasureTokens:
		return []int{measureTokens}
	case report.MeasureAttempts:
		return []int{measureAttempts}
	case report.MeasureErrors:
		return []int{measureErrors}
	case report.MeasureMissed:
		return []int{measureMissed}
	case report.MeasureMissCost:
		for i := range promptcache.NumCauses {
			list = append(list, measureMissCost+i)
		}
		return list
	case report.MeasureHits:
		return []int{measureCached}
	case report.MeasureSaved:
		return []int{measureSaved}
	}
	for _, c := range m.Classes() {
		list = append(list, measureUsage+int(c))
	}
	return list
}

// of returns the sum of some measures.
func (s *sums) of(measures []int) (n int64) {
	for _, m := range measures {
		n += s[m]
	}
	return n
}

// rank returns the SQL expression of the sum of some measures of rows r.
func rank(measures []int) string {
	columns, names := measureColumns(), make([]string, len(measures))
	for i, m := range measures {
		names[i] = "r." + columns[m]
	}
	return "sum(" + strings.Join(names, " + ") + ")"
}

// column returns the expression of a dimension in which values without a name of their own are report.Other.
func (s *separate) column(column string) (text string, args []any) {
	for _, v := range s.values {
		if v != nil {
			args = append(args, *v)
		}
	}
	named := "1 = 0"
	if len(args) > 0 {
		named = among(column, len(args))
	}
	return "CASE WHEN " + named + " THEN " + column + " ELSE '" + report.Other + "' END", args
}

// value returns the value of a dimension, or report.Other.
func (s *separate) value(i int, value string, ok bool) (string, bool) {
	if s == nil || i != s.at {
		return value, ok
	}
	for _, v := range s.values {
		if (v != nil) == ok && (!ok || *v == value) {
			return value, ok
		}
	}
	return report.Other, true
}
