package dashboard

import (
	"net/url"
	"time"

	"weir/internal/report"
)

// usageRange is the time that a page of usage covers, and the unit of its chart.
type usageRange struct {
	name string // of one of usageRanges; empty for chosen dates
	span
	since time.Time // zero if whole days are covered
	unit  report.Dimension
}

// usageRanges lists ranges that end now.
var usageRanges = []struct{ name, label string }{
	{"1h", "1 hour"},
	{"24h", "24 hours"},
	{"7d", "7 days"},
	{"30d", "30 days"},
	{"90d", "90 days"},
	{"12m", "12 months"},
}

// usualRange is the name of the default range.
const usualRange = "30d"

// Bounds of the days that are drawn by hour and by day.
const mostByHour, mostBars = 3, 92

func rangeOfDays(name string, of span) usageRange {
	r := usageRange{name: name, span: of, unit: report.ByDay}
	switch {
	case of.days() <= mostByHour:
		r.unit = report.ByHour
	case of.days() > mostBars:
		r.unit = report.ByMonth
	}
	return r
}

// namedRange returns the range of that name, and whether there is one.
func namedRange(name string, now time.Time) (r usageRange, there bool) {
	now = now.UTC()
	switch name {
	case "1h":
		since := now.Truncate(time.Minute).Add(-59 * time.Minute)
		return usageRange{name, span{today(since), today(now)}, since, report.ByMinute}, true
	case "24h":
		since := now.Truncate(time.Hour).Add(-23 * time.Hour)
		return usageRange{name, span{today(since), today(now)}, since, report.ByHour}, true
	case "7d":
		return rangeOfDays(name, lastDays(now, 7)), true
	case usualRange:
		return rangeOfDays(name, lastDays(now, usualDays)), true
	case "90d":
		return rangeOfDays(name, lastDays(now, 90)), true
	case "12m":
		return rangeOfDays(name, span{firstOfMonth(now).AddDate(0, -11, 0), today(now)}), true
	}
	return r, false
}

// rangeOf reads a range from a form: its name, or dates. Dates that are not those of the name count.
func rangeOf(f *form, now time.Time) usageRange {
	dates, name := datesOf(f, now), f.values.Get("range")
	chosen := f.values.Get("start_date") != "" || f.values.Get("end_date") != ""
	if name == "" && !chosen {
		name = usualRange
	}
	r, there := namedRange(name, now)
	switch {
	case there && (!chosen || r.span == dates):
		return r
	case name != "" && !there:
		f.mistake("range", "The range is not in the list. Choose one from the list.")
	}
	return rangeOfDays("", dates)
}

// set adds the parameters of the range to those of the page.
func (r *usageRange) set(q url.Values) {
	if r.name != "" {
		q.Set("range", r.name)
		return
	}
	q.Set("start_date", r.first())
	q.Set("end_date", r.last())
}

// ask adds the parameters of the range to those of the API.
func (r *usageRange) ask(q url.Values) {
	if !r.since.IsZero() {
		q.Set("from", rfc3339(r.since))
		return
	}
	q.Set("start_date", r.first())
	q.Set("end_date", r.last())
}

// restrict restricts a query to the range.
func (r *usageRange) restrict(q *report.UsesQuery) {
	q.From, q.To, q.Since, q.Until = r.first(), r.last(), r.since, time.Time{}
}

// restrictBefore restricts a query to the same length of time before. The part of the current unit counts as whole.
func (r *usageRange) restrictBefore(q *report.UsesQuery) {
	switch r.name {
	case "1h":
		q.From, q.To, q.Since, q.Until = "", "", r.since.Add(-time.Hour), r.since
	case "24h":
		q.From, q.To, q.Since, q.Until = "", "", r.since.Add(-oneDay), r.since
	default:
		q.From, q.To = r.before().first(), r.before().last()
	}
}

// length describes the length of the range, such as "30 days".
func (r *usageRange) length() string {
	switch r.name {
	case "1h":
		return "hour"
	case "24h":
		return "24 hours"
	}
	return r.span.length()
}

// text describes the range.
func (r *usageRange) text() string {
	if r.since.IsZero() {
		return r.String()
	}
	return "since " + moment(r.since)
}

// starts returns the start of each unit in the range, up to now.
func (r *usageRange) starts(now time.Time) (all []time.Time) {
	at, end := r.from, r.to.AddDate(0, 0, 1)
	if !r.since.IsZero() {
		at = r.since
	}
	if now = now.UTC(); r.unit != report.ByDay && r.unit != report.ByMonth && end.After(now) {
		end = now
	}
	for at.Before(end) {
		all = append(all, at)
		switch r.unit {
		case report.ByMinute:
			at = at.Add(time.Minute)
		case report.ByHour:
			at = at.Add(time.Hour)
		case report.ByMonth:
			at = firstOfMonth(at).AddDate(0, 1, 0)
		default:
			at = at.AddDate(0, 0, 1)
		}
	}
	return all
}

// groupText returns the value of the unit's dimension for a start.
func (r *usageRange) groupText(start time.Time) string {
	switch r.unit {
	case report.ByMonth:
		return start.Format(monthLayout)
	case report.ByDay:
		return start.Format(time.DateOnly)
	}
	return rfc3339(start)
}

// labels returns the short and the long text of a start.
func (r *usageRange) labels(start time.Time) (short, long string) {
	switch r.unit {
	case report.ByMonth:
		return start.Format("Jan 06"), start.Format("January 2006")
	case report.ByDay:
		return start.Format("2 Jan"), day(start)
	}
	return start.Format("15:04"), moment(start)
}
