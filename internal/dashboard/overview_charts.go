package dashboard

import (
	"fmt"
	"strings"
	"time"

	"weir/internal/llm"
	"weir/internal/report"
)

// healthCharts returns charts of failures and times to first token, if there are any.
func healthCharts(x *spentSums) (all []Chart) {
	if x.whole.Total.Errors > 0 {
		all = append(all, failureChart(x))
	}
	if x.whole.Total.Speed.Answers() > 0 {
		all = append(all, speedChart(x))
	}
	return all
}

// spendChart draws the spend by day or hour, stacked by the most expensive models.
func spendChart(x *spentSums) Chart {
	total, when := &x.whole.Total, x.when()
	unit := unitNames[when.unit]
	c := Chart{
		Title: "Spend by " + unit, Summary: fmt.Sprintf("%s, total %s", when.text(), amount(total.Cost)),
		Legend: x.names(), Columns: append([]string{titled(unit), "Spend", "Requests"}, x.names()...),
	}
	b := bars{
		label: fmt.Sprintf("Spend by %s, %s: total %s", unit, when.text(), amount(total.Cost)),
		unit:  func(n int64) string { return amount(llm.Money(n)) },
	}
	for i := range x.whole.Days {
		d, values := &x.whole.Days[i], x.day(i)
		short, long := when.labels(x.start(i))
		b.stack = append(b.stack, stack{
			name: short, values: values,
			title: fmt.Sprintf("%s: %s, %s", short, amount(d.Cost), many(d.Requests, "request")),
		})
		c.Rows = append(c.Rows, spendRow(long, d, values))
	}
	c.Picture = b.picture()
	return c
}

func spendRow(name string, d *report.DaySum, values []int64) []string {
	row := []string{name, none, none}
	if d.Attempts > 0 {
		row[1], row[2] = spendingOf(d.Cost, d.Uncertain, d.Unpriced).String(), number(d.Requests)
	}
	for _, v := range values {
		text := none
		if v > 0 {
			text = dollars(llm.Money(v))
		}
		row = append(row, text)
	}
	return row
}

// mostByDay bounds the days that are drawn separately; longer ranges are drawn by week.
const mostByDay = 45

// step is the sum of an hour, a day or a week, with its names.
type step struct {
	short, long string
	report.Sum
}

// steps returns the hours, the days, or weeks from the first day on, and their name.
func (x *spentSums) steps() (all []step, name string) {
	when := x.when()
	name, length := titled(unitNames[when.unit]), 1
	if len(x.whole.Days) > mostByDay {
		name, length = "Week from", 7
	}
	for i := range x.whole.Days {
		if i%length == 0 {
			short, long := when.labels(x.start(i))
			all = append(all, step{short: short, long: long})
		}
		all[i/length].Add(&x.whole.Days[i].Sum)
	}
	return all, name
}

// failureChart draws the share of failed attempts over time.
func failureChart(x *spentSums) Chart {
	total := &x.whole.Total
	steps, name := x.steps()
	c := Chart{
		Title: "Failed attempts", Columns: []string{name, "Failed", "Attempts", "Share"},
		Summary: fmt.Sprintf("%s, total %s of %s", x.when().text(), number(total.Errors), number(total.Attempts)),
	}
	b := bars{label: c.Title + ", " + c.Summary, unit: number}
	for i := range steps {
		d := &steps[i]
		failed := max(d.Errors, 0)
		b.stack = append(b.stack, stack{
			name: d.short, values: []int64{failed},
			title: fmt.Sprintf("%s: %s of %s failed", d.short, number(failed), many(d.Attempts, "attempt")),
		})
		row := []string{d.long, none, none, none}
		if d.Attempts > 0 {
			row = []string{row[0], number(failed), number(d.Attempts), percentText(failed, d.Attempts)}
		}
		c.Rows = append(c.Rows, row)
	}
	c.Picture = b.picture()
	return c
}

// speedChart draws the time to first token: the median and the 95th percentile.
func speedChart(x *spentSums) Chart {
	steps, name := x.steps()
	var points []speedPoint
	for i := range steps {
		points = append(points, speedPoint{steps[i].short, steps[i].long, steps[i].Speed})
	}
	return speedLines(name, x.when().text(), points)
}

// speedPoint holds the times to first token of a step of a chart.
type speedPoint struct {
	short, long string // the step's name
	speed       report.Speed
}

func speedLines(step, of string, points []speedPoint) Chart {
	var total report.Speed
	for i := range points {
		total.Add(&points[i].speed)
	}
	c := Chart{
		Title: "Time to first token", Legend: []string{"Median", "95 % within"},
		Columns: []string{step, "Median", "95 % within", "Answers"},
		Summary: fmt.Sprintf("%s, median %s, 95 %% within %s", of, speedText(total.Median()), withinText(total.P95())),
	}
	l := lines{
		label: c.Title + ", " + c.Summary, series: len(c.Legend),
		unit: func(n int64) string { return took(time.Duration(n)) },
	}
	for i := range points {
		x := &points[i]
		p := point{name: x.short, title: x.short + ": no answer"}
		row := []string{x.long, none, none, none}
		if n := x.speed.Answers(); n > 0 {
			p.values = []int64{int64(x.speed.Median()), int64(x.speed.P95())}
			row = []string{x.long, speedText(x.speed.Median()), speedText(x.speed.P95()), number(n)}
			p.title = fmt.Sprintf("%s: median %s, 95 %% within %s", p.name, row[1], row[2])
		}
		l.points = append(l.points, p)
		c.Rows = append(c.Rows, row)
	}
	c.Picture = l.picture()
	return c
}

// withinText formats a time for words such as "95 % within".
func withinText(d time.Duration) string { return strings.TrimPrefix(speedText(d), "< ") }

// speedText formats a time of report.Speed. Times below its first bound are not known exactly.
func speedText(d time.Duration) string {
	if first := report.SpeedBound(0); d > 0 && d < first {
		return "< " + took(first)
	}
	return orNone(d)
}
