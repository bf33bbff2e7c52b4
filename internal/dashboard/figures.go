package dashboard

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"weir/internal/llm"
)

// none fills an empty cell of a table.
const none = "–"

// amount formats an amount for a quick look: cents from a dollar up, four significant digits below. Tables show
// amounts with all digits.
func amount(m llm.Money) string {
	switch {
	case m < 0:
		return "-" + amount(-m)
	case m >= llm.USD:
		return dollars(rounded(m, llm.USD/100))
	}
	unit := llm.Money(1)
	for unit*10_000 <= m {
		unit *= 10
	}
	return dollars(rounded(m, unit))
}

// rounded returns the nearest multiple of the unit, half up; the amount must not be negative.
func rounded(m, unit llm.Money) llm.Money {
	rest := m % unit
	if m -= rest; rest >= unit-rest {
		m += unit
	}
	return m
}

// compact formats a count for a quick look, with three digits from a hundred thousand up.
func compact(n int64) string {
	if n < 100_000 {
		return number(n)
	}
	value, unit := float64(n)/1e3, " k"
	for _, next := range []string{" M", " G", " T"} {
		if value < 999.5 {
			break
		}
		value, unit = value/1e3, next
	}
	places := 0
	switch {
	case value < 9.995:
		places = 2
	case value < 99.95:
		places = 1
	}
	return strconv.FormatFloat(value, 'f', places, 64) + unit
}

// took formats a duration, in milliseconds below ten seconds.
func took(d time.Duration) string {
	switch {
	case d < 50*time.Microsecond:
		return "0 ms"
	case d < 10*time.Millisecond:
		return strconv.FormatFloat(d.Seconds()*1e3, 'f', 1, 64) + " ms"
	case d < time.Second:
		return strconv.FormatInt(d.Round(time.Millisecond).Milliseconds(), 10) + " ms"
	case d < time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'f', 2, 64) + " s"
	}
	d = d.Round(time.Second)
	return fmt.Sprintf("%d min %d s", d/time.Minute, d%time.Minute/time.Second)
}

// orNone formats a duration, or returns none for 0.
func orNone(d time.Duration) string {
	if d <= 0 {
		return none
	}
	return took(d)
}

// percent returns a share in whole percent, from 0 to 100. It returns 0 only for nothing and 100 only for all.
func percent(part, whole int64) int {
	switch {
	case whole <= 0 || part <= 0:
		return 0
	case part >= whole:
		return 100
	}
	return min(max(int(float64(part)/float64(whole)*100+0.5), 1), 99)
}

// percentText formats a share, with "<" and ">" for nearly nothing and nearly all.
func percentText(part, whole int64) string {
	switch share := float64(part) / float64(whole); {
	case part > 0 && share < 0.01:
		return "< 1 %"
	case part < whole && share > 0.99:
		return "> 99 %"
	}
	return fmt.Sprintf("%d %%", percent(part, whole))
}

// modelName splits a model's name at the places where a line may break.
func modelName(name string) []string { return strings.SplitAfter(name, "/") }

// clock formats a time of day to the second.
func clock(t time.Time) string { return t.UTC().Format("15:04:05") }
