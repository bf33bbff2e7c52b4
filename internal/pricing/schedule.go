package pricing

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// window is a recurring period, in UTC: a part of the day, on some days.
type window struct {
	// From and To are times of day, both or none; none means the whole day. To is exclusive; a To before From is on the
	// next day.
	From *clock `json:"from"`
	To   *clock `json:"to"`
	// Days are the weekdays of its start; none means all.
	Days weekdays `json:"days"`
	// Except lists the dates on which it does not begin.
	Except []day `json:"except"`
}

// stretch returns the window's first second of the day, and the second after its last one.
func (w *window) stretch() (from, to int64) {
	if w.From == nil || w.To == nil {
		return 0, secondsPerDay
	}
	from, to = int64(*w.From), int64(*w.To)
	if to < from { // past midnight
		to += secondsPerDay
	}
	return from, to
}

// holds reports whether that second is in the window.
func (w *window) holds(sec int64) bool {
	from, to := w.stretch()
	today := sec - secondOfDay(sec)
	for _, midnight := range []int64{today - secondsPerDay, today} {
		if sec >= midnight+from && sec < midnight+to && w.begins(midnight) {
			return true
		}
	}
	return false
}

// begins reports whether the window begins on the day of that midnight.
func (w *window) begins(midnight int64) bool {
	weekday := time.Unix(midnight, 0).UTC().Weekday()
	return (w.Days == 0 || w.Days&(1<<weekday) != 0) && !slices.Contains(w.Except, day(midnight))
}

// edges calls edge with each second near sec at which the window may begin or end, from the day before to the day
// after, on every weekday.
func (w *window) edges(sec int64, edge func(int64)) {
	from, to := w.stretch()
	today := sec - secondOfDay(sec)
	for _, midnight := range []int64{today - secondsPerDay, today, today + secondsPerDay} {
		edge(midnight + from)
		edge(midnight + to)
	}
}

// weekdays is a bit set of time.Weekday; 0 for none named.
type weekdays uint8

// weekdayNames returns the names in the data, in the order of time.Weekday.
func weekdayNames() []string { return []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"} }

// UnmarshalJSON reads a list of names, each once.
func (d *weekdays) UnmarshalJSON(b []byte) error {
	var names []string
	if err := json.Unmarshal(b, &names); err != nil {
		return err
	}
	*d = 0
	for _, name := range names {
		i := slices.Index(weekdayNames(), name)
		if i < 0 || *d&(1<<i) != 0 {
			return fmt.Errorf("weekday %q is unknown or appears twice", name)
		}
		*d |= 1 << i
	}
	if *d == 0 {
		return errors.New("the list of weekdays is empty")
	}
	return nil
}

const secondsPerDay = 24 * 60 * 60

// secondOfDay returns the seconds since midnight UTC, also before 1970.
func secondOfDay(sec int64) int64 {
	return (sec%secondsPerDay + secondsPerDay) % secondsPerDay
}

// day is the first second of a UTC date, in Unix time.
type day int64

// UnmarshalText reads YYYY-MM-DD.
func (d *day) UnmarshalText(b []byte) error {
	t, err := time.Parse(time.DateOnly, string(b))
	if err != nil {
		return fmt.Errorf("date %q: %w", b, err)
	}
	*d = day(t.Unix())
	return nil
}

// clock is a second of the UTC day.
type clock int64

// UnmarshalText reads HH:MM:SS or HH:MM.
func (c *clock) UnmarshalText(b []byte) error {
	form := time.TimeOnly
	if len(b) == len("15:04") {
		form = "15:04"
	}
	t, err := time.Parse(form, string(b))
	if err != nil {
		return fmt.Errorf("time of day %q: %w", b, err)
	}
	*c = clock(t.Hour()*3600 + t.Minute()*60 + t.Second())
	return nil
}
