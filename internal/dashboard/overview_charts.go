package dashboard

import (
	"fmt"
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

// spendChart draws the spend by day, stacked by the most expensive models.
func spendChart(x *spentSums) Chart {
	total := &x.whole.Total
	c := Chart{
		Title: "Spend by day", Summary: fmt.Sprintf("%s, total %s", x.span, amount(total.Cost)),
		Legend: x.names(), Columns: append([]string{"Day", "Spend", "Requests"}, x.names()...),
	}
	b := bars{
		label: fmt.Sprintf("Spend by day, %s: total %s", x.span, amount(total.Cost)),
		unit:  func(n int64) string { return amount(llm.Money(n)) },
	}
	for i := range x.whole.Days {
		d, date := &x.whole.Days[i], x.span.from.AddDate(0, 0, i)
		values := x.day(i)
		b.stack = append(b.stack, stack{
			name: date.Format("2 Jan"), values: values,
			title: fmt.Sprintf("%s: %s, %s", date.Format("2 Jan"), amount(d.Cost), many(d.Requests, "request")),
		})
		c.Rows = append(c.Rows, spendRow(day(date), d, values))
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

// steps returns the days, or weeks from the first day on, and their name.
func (x *spentSums) steps() (all []report.DaySum, name string) {
	if len(x.whole.Days) <= mostByDay {
		return x.whole.Days, "Day"
	}
	for i := range x.whole.Days {
		if d := &x.whole.Days[i]; i%7 == 0 {
			all = append(all, *d)
		} else {
			all[i/7].Add(&d.Sum)
		}
	}
	return all, "Week from"
}

// failureChart draws the share of failed attempts over time.
func failureChart(x *spentSums) Chart {
	total := &x.whole.Total
	steps, name := x.steps()
	c := Chart{
		Title: "Failed attempts", Columns: []string{name, "Failed", "Attempts", "Share"},
		Summary: fmt.Sprintf("%s, total %s of %s", x.span, number(total.Errors), number(total.Attempts)),
	}
	b := bars{label: c.Title + ", " + c.Summary, unit: number}
	for i := range steps {
		d := &steps[i]
		date, _ := time.Parse(time.DateOnly, d.Date) // cannot fail: the date is from a report
		failed := max(d.Errors, 0)
		b.stack = append(b.stack, stack{
			name: date.Format("2 Jan"), values: []int64{failed},
			title: fmt.Sprintf("%s: %s of %s failed",
				date.Format("2 Jan"), number(failed), many(d.Attempts, "attempt")),
		})
		row := []string{day(date), none, none, none}
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
		date, _ := time.Parse(time.DateOnly, steps[i].Date) // cannot fail: the date is from a report
		points = append(points, speedPoint{date.Format("2 Jan"), day(date), steps[i].Speed})
	}
	return speedLines(name, x.span.String(), points)
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
		Summary: fmt.Sprintf("%s, median %s, 95 %% within %s", of, speedText(total.Median()), speedText(total.P95())),
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

// speedText formats a time of report.Speed. Times below its first bound are not known exactly.
func speedText(d time.Duration) string {
	if first := report.SpeedBound(0); d > 0 && d < first {
		return "< " + took(first)
	}
	return orNone(d)
}
