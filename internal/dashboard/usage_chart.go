package dashboard

import (
	"fmt"
	"slices"
	"time"

	"weir/internal/report"
)

// apartInChart is the number of groups with a series of their own.
const apartInChart = maxSeries - 1

// usageSeries holds the amounts of a chart: those of each start, by series.
type usageSeries struct {
	starts []time.Time
	names  []string // empty for a single series
	values [][]int64
	sums   []report.Use   // of each start
	at     map[string]int // indexes of starts, by the value of their dimension
}

func newUsageSeries(r *usageRange, now time.Time) *usageSeries {
	s := &usageSeries{starts: r.starts(now), at: map[string]int{}}
	for i, start := range s.starts {
		s.at[r.groupText(start)] = i
	}
	s.values, s.sums = make([][]int64, len(s.starts)), make([]report.Use, len(s.starts))
	return s
}

// add adds an amount to a series at a start.
func (s *usageSeries) add(start string, name string, n int64) {
	i, there := s.at[start]
	if !there || n <= 0 {
		return
	}
	series := slices.Index(s.names, name)
	if series < 0 {
		series = len(s.names)
		s.names = append(s.names, name)
	}
	for len(s.values[i]) <= series {
		s.values[i] = append(s.values[i], 0)
	}
	s.values[i][series] += n
}

// of returns the amount of a series at a start.
func (s *usageSeries) of(i, series int) int64 {
	if series < len(s.values[i]) {
		return s.values[i][series]
	}
	return 0
}

// sort orders the series: the largest first, and report.Other last.
func (s *usageSeries) sort() {
	sums, order := make([]int64, len(s.names)), make([]int, len(s.names))
	for series := range s.names {
		order[series] = series
		for i := range s.values {
			sums[series] += s.of(i, series)
		}
	}
	isOther := func(series int) bool { return s.names[series] == report.Other }
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case isOther(a):
			return 1
		case isOther(b) || sums[a] > sums[b]:
			return -1
		case sums[a] < sums[b]:
			return 1
		}
		return 0
	})
	names, values := make([]string, len(order)), make([][]int64, len(s.values))
	for to, from := range order {
		names[to] = s.names[from]
		for i := range s.values {
			values[i] = append(values[i], s.of(i, from))
		}
	}
	s.names, s.values = names, values
}

// unitNames are the units of charts, for their titles.
var unitNames = map[report.Dimension]string{
	report.ByMinute: "minute", report.ByHour: "hour", report.ByDay: "day", report.ByMonth: "month",
}

// usageChart draws the amounts as stacked bars.
func usageChart(m *metric, r *usageRange, s *usageSeries) Chart {
	s.sort()
	unit := unitNames[r.unit]
	c := Chart{Title: m.Label + " by " + unit, Columns: []string{titled(unit), m.Label}}
	if len(s.names) > 1 || len(s.names) == 1 && s.names[0] != "" {
		c.Legend = s.names
		c.Columns = append(c.Columns, s.names...)
	}
	var total int64
	b := bars{unit: m.short}
	for i, start := range s.starts {
		short, long := r.labels(start)
		x := stack{name: short, values: s.values[i]}
		sum := x.sum()
		total += sum
		x.title = short + ": " + m.short(sum)
		b.stack = append(b.stack, x)
		row := []string{long, none}
		if x := &s.sums[i]; m.measure == report.MeasureCost && x.Attempts > 0 {
			row[1] = spendingOf(x.Cost, x.Uncertain, x.Unpriced).String()
		} else if sum > 0 {
			row[1] = m.whole(sum)
		}
		for series := range c.Legend {
			cell := none
			if n := s.of(i, series); n > 0 {
				cell = m.whole(n)
			}
			row = append(row, cell)
		}
		c.Rows = append(c.Rows, row)
	}
	c.Summary = fmt.Sprintf("%s, total %s", r.text(), m.short(total))
	b.label = c.Title + ", " + c.Summary
	c.Picture = b.picture()
	return c
}

// speedsChart draws the times to first token of a page by the unit.
func speedsChart(r *usageRange, now time.Time, page *report.UsesPage) Chart {
	var points []speedPoint
	at := map[string]int{}
	for i, start := range r.starts(now) {
		short, long := r.labels(start)
		at[r.groupText(start)] = i
		points = append(points, speedPoint{short: short, long: long})
	}
	for i := range page.Uses {
		if u := &page.Uses[i]; u.Group[0] != nil {
			if n, there := at[*u.Group[0]]; there {
				points[n].speed.Add(&u.Speed)
			}
		}
	}
	return speedLines(titled(unitNames[r.unit]), r.text(), points)
}

// titled returns a text with a first capital.
func titled(text string) string { return string(text[0]-'a'+'A') + text[1:] }
