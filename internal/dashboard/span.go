package dashboard

import (
	"fmt"
	"net/url"
	"strconv"
	"time"

	"weir/internal/llm"
	"weir/internal/report"
)

const oneDay = 24 * time.Hour

// span is a range of UTC dates, both inclusive.
type span struct{ from, to time.Time }

func (p span) first() string { return p.from.Format(time.DateOnly) }
func (p span) last() string  { return p.to.Format(time.DateOnly) }
func (p span) days() int     { return int(p.to.Sub(p.from)/oneDay) + 1 }

// length describes the number of days, such as "30 days".
func (p span) length() string {
	if p.days() == 1 {
		return "day"
	}
	return many(int64(p.days()), "day")
}

// before returns the range of the same number of days before.
func (p span) before() span { return span{p.from.AddDate(0, 0, -p.days()), p.from.AddDate(0, 0, -1)} }

// String formats the range for people.
func (p span) String() string {
	if p.from.Equal(p.to) {
		return day(p.from)
	}
	if p.from.Year() == p.to.Year() {
		return p.from.Format("2 Jan") + " to " + day(p.to)
	}
	return day(p.from) + " to " + day(p.to)
}

// usualDays is the default number of days on pages.
const usualDays = 30

func today(now time.Time) time.Time { return now.UTC().Truncate(oneDay) }

// lastDays returns the last n days, up to today.
func lastDays(now time.Time, n int) span {
	to := today(now)
	return span{to.AddDate(0, 0, 1-n), to}
}

const monthLayout = "2006-01"

// monthOf returns a month, up to today.
func monthOf(now, first time.Time) span {
	last := first.AddDate(0, 1, -1)
	if t := today(now); t.Before(last) {
		last = t
	}
	return span{first, last}
}

// chosenSpan returns the requested range of an overview: days=7, 30 or 90, or month=2026-11.
func chosenSpan(now time.Time, q url.Values) (span, error) {
	if text := q.Get("month"); text != "" {
		first, err := time.Parse(monthLayout, text)
		if err != nil || first.After(today(now)) || first.Year() < 2000 {
			return span{}, llm.Invalidf("month", "month is %.20q. Use a month such as %q, not a future one.", text,
				now.UTC().Format(monthLayout))
		}
		return monthOf(now, first), nil
	}
	switch text := q.Get("days"); text {
	case "":
		return lastDays(now, usualDays), nil
	case "7", "30", "90":
		n, err := strconv.Atoi(text)
		return lastDays(now, n), err
	default:
		return span{}, llm.Invalidf("days", "days is %.20q. Use 7, 30 or 90, or choose a month.", text)
	}
}

// spanLinks returns links to the ranges of an overview, on the page at that path.
func spanLinks(now time.Time, path string, chosen span) []Link {
	var links []Link
	for _, n := range []int{7, usualDays, 90} {
		links = append(links, Link{
			Label: many(int64(n), "day"), Href: path + "?days=" + strconv.Itoa(n), Current: chosen == lastDays(now, n),
		})
	}
	t := now.UTC()
	for i := range 3 {
		first := time.Date(t.Year(), t.Month()-time.Month(i), 1, 0, 0, 0, 0, time.UTC)
		links = append(links, Link{
			Label: first.Format("January"), Href: path + "?month=" + first.Format(monthLayout),
			Current: chosen == monthOf(now, first),
		})
	}
	// On some days a month is as long as one of the other ranges: mark only one link as current.
	seen := false
	for i := range links {
		links[i].Current = links[i].Current && !seen
		seen = seen || links[i].Current
	}
	return links
}

// datesOf reads a range from a form, with the names of GET /v1/uses: dates, or timestamps, which mean their UTC date.
// Without a start it has the usual number of days. It adds mistakes to the form and then returns the usual range.
func datesOf(f *form, now time.Time) span {
	usual := lastDays(now, usualDays)
	to := f.date("end_date", usual.to)
	from := f.date("start_date", to.AddDate(0, 0, 1-usualDays))
	if f.bad() {
		return usual
	}
	chosen := span{from, to}
	if from.After(to) {
		f.mistake("start_date", "The first day is after the last day. Choose an earlier first day.")
		return usual
	}
	if chosen.days() > report.MaxDays {
		f.mistake("start_date", fmt.Sprintf("The range has %s days. Choose at most %s.", number(int64(chosen.days())),
			number(report.MaxDays)))
		return usual
	}
	return chosen
}

// date returns the date of a field, or the usual one if the field is empty.
func (f *form) date(name string, usual time.Time) time.Time {
	text := f.values.Get(name)
	if text == "" {
		return usual
	}
	if t, err := time.Parse(time.DateOnly, text); err == nil && t.Year() > 0 {
		return t
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t.UTC().Truncate(oneDay)
	}
	f.mistake(name, "This is not a date. Enter one such as "+usual.Format(time.DateOnly)+".")
	return usual
}

// bound returns the date of a field, or zero if it is empty.
func (f *form) bound(name string) time.Time {
	if f.values.Get(name) == "" {
		return time.Time{}
	}
	return f.date(name, time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC))
}

// dateText formats a bound for queries; empty for none.
func dateText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.DateOnly)
}
