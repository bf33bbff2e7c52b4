package store

import (
	"context"
	"log/slog"
	"testing"
	"time"
)

// TestClockFollowsDatabase checks that the clock follows the database's, except for differences that are usual between
// machines with NTP or within the uncertainty of slow answers.
func TestClockFollowsDatabase(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	start := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	machine, ahead, slow := start, time.Duration(0), time.Duration(0)
	c := &clock{machine: func() time.Time { return machine }, log: slog.New(slog.DiscardHandler)}
	c.ask = func(context.Context, querier) (int64, error) {
		machine = machine.Add(slow)
		return micros(machine.Add(ahead)), nil
	}
	for i, step := range []struct {
		ahead, slow, want time.Duration
	}{
		{0, 0, 0},
		{900 * time.Millisecond, 0, 0}, // as clocks differ
		{-900 * time.Millisecond, 0, 0},
		{400 * day, 0, 400 * day},
		{400*day + 900*time.Millisecond, 0, 400 * day}, // and it stays, so that durations are true
		{400*day - 900*time.Millisecond, 0, 400 * day},
		{400*day + 2*time.Second, 0, 400*day + 2*time.Second},
		{-time.Minute, 3 * time.Minute, 0}, // an answer that took minutes shows no more
		{-40 * day, 0, -40 * day},
		{-40*day - 30*time.Second, time.Minute, -40 * day},
		{-time.Second / 2, 0, 0}, // the machine was set
	} {
		ahead, slow = step.ahead, step.slow
		us, err := c.read(t.Context(), nil)
		if want := machine.Add(ahead); err != nil || !fromMicros(us).Equal(want) {
			t.Errorf("step %d: read %s, %v; want %s", i, fromMicros(us), err, want)
		}
		if got := c.now().Sub(machine); got != step.want {
			t.Errorf("step %d: the database is %s ahead and answers in %s: got a correction of %s, want %s", i, step.ahead, step.slow, got, step.want)
		}
	}
}
