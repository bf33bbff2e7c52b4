package dashboard

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"weir/internal/llm"
)

// day is a date as people write it.
func day(t time.Time) string { return t.UTC().Format("2 Jan 2006") }

// moment is a time to the minute.
func moment(t time.Time) string { return t.UTC().Format("2 Jan 2006, 15:04 UTC") }

// rfc3339 is a time as HTML's <time> has it.
func rfc3339(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// between is how long ago a moment is, or how far ahead, in one unit; a date when it
// is more than a month.
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

// number is a whole number with its thousands apart.
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

// dollars is an amount with all its digits, at least two of them cents.
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
