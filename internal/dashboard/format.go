package dashboard

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"weir/internal/llm"
)

// day formats a date for people.
func day(t time.Time) string { return t.UTC().Format("2 Jan 2006") }

// moment formats a time to the minute.
func moment(t time.Time) string { return t.UTC().Format("2 Jan 2006, 15:04 UTC") }

// rfc3339 formats a time for HTML's <time>.
func rfc3339(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// between formats the distance between two times in one unit, or the date if it is more than a month.
func between(now, t time.Time) string {
	d, form := now.Sub(t), "%s ago"
	if d < 0 {
		d, form = -d, "in %s"
	}
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf(form, many(int64(d/time.Minute), "minute"))
	case d < 24*time.Hour:
		return fmt.Sprintf(form, many(int64(d/time.Hour), "hour"))
	case d < 31*24*time.Hour:
		return fmt.Sprintf(form, many(int64(d/(24*time.Hour)), "day"))
	}
	return day(t)
}

func many(n int64, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return number(n) + " " + unit + "s"
}

// number formats a whole number with separators of thousands.
func number(n int64) string {
	s := strconv.FormatInt(n, 10)
	if n < 0 {
		return "-" + grouped(s[1:])
	}
	return grouped(s)
}

func grouped(digits string) string {
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// dollars formats an amount with all its digits, at least two decimals.
func dollars(m llm.Money) string {
	text, negative := strings.CutPrefix(m.String(), "-")
	whole, cents, _ := strings.Cut(text, ".")
	for len(cents) < 2 {
		cents += "0"
	}
	text = "$" + grouped(whole) + "." + cents
	if negative {
		return "-" + text
	}
	return text
}

// dollarsTo formats an amount like dollars, with at least that many decimals. The amounts of a table's column get as
// many as the longest of them needs, so that their decimal points are below each other.
func dollarsTo(places int, m llm.Money) string {
	return padded(places, dollars(m))
}

// padded adds zeros to a formatted amount. A text without decimals stays as it is.
func padded(places int, text string) string {
	if n := decimals(text); n > 0 && n < places {
		return text + strings.Repeat("0", places-n)
	}
	return text
}

// decimals returns the number of decimals of a formatted amount; 0 for another text.
func decimals(text string) int {
	_, fraction, _ := strings.Cut(text, ".")
	return len(fraction)
}

// placesOf returns the most decimals that an amount of the rows needs.
func placesOf[T any](rows []T, of func(*T) llm.Money) (most int) {
	for i := range rows {
		most = max(most, decimals(dollars(of(&rows[i]))))
	}
	return most
}
