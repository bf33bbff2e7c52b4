package store

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"
)

// clockTolerance is the largest difference between the machine's clock and the database's that is not corrected.
// Clocks that are synchronized with NTP differ by less, and everything stored here lasts longer.
const clockTolerance = time.Second

// clock is the clock that all nodes share. Every time in the database is written and compared by it. It is the
// database's clock, or the machine's if the database has none of its own.
type clock struct {
	machine func() time.Time
	ask     func(ctx context.Context, q querier) (int64, error) // nil if the machine's clock is the shared one
	// nanoseconds that the database's clock is ahead of the machine's; 0 within the tolerance
	ahead atomic.Int64
	log   *slog.Logger
}

func newClock(o *Options, e *engine) *clock {
	c := &clock{machine: o.Machine, ask: e.now, log: o.Log}
	if o.Clock != nil {
		c.machine, c.ask = o.Clock, nil
	}
	if c.machine == nil {
		c.machine = time.Now
	}
	return c
}

// now returns the time without a query: the machine's, corrected by the last answer of the database. It is at most
// clockTolerance off.
func (c *clock) now() time.Time { return c.machine().Add(time.Duration(c.ahead.Load())) }

// read returns the database's time, in microseconds.
func (c *clock) read(ctx context.Context, q querier) (int64, error) {
	if c.ask == nil {
		return micros(c.machine()), nil
	}
	before := c.machine()
	us, err := c.ask(ctx, q)
	if err != nil {
		return 0, err
	}
	c.compare(before, c.machine(), fromMicros(us))
	return us, nil
}

// compare sets the correction of now if the database's time differs too much from the machine's times before and
// after the query.
func (c *clock) compare(before, after, said time.Time) {
	old := time.Duration(c.ahead.Load())
	fits := func(ahead time.Duration) bool {
		return !said.Before(before.Add(ahead-clockTolerance)) && !said.After(after.Add(ahead+clockTolerance))
	}
	switch {
	case fits(0):
		if old != 0 && c.ahead.CompareAndSwap(int64(old), 0) {
			c.log.Info("this machine's clock agrees with the database's again")
		}
	case !fits(old):
		ahead := said.Sub(before.Add(after.Sub(before) / 2)).Round(time.Millisecond)
		if c.ahead.CompareAndSwap(int64(old), int64(ahead)) {
			c.log.Warn("this machine's clock differs from the database's, which is used: synchronize both with NTP",
				"database_ahead", ahead)
		}
	}
}

// Now returns the time of the clock that all nodes share, without a query; it is at most a second off. Every time
// that is written to the database, or compared with a time in it, is by this clock.
func (s *DB) Now() time.Time { return s.clock.now() }

// ClockOffset returns how far the database's clock is ahead of this machine's; 0 if they differ by less than a
// second.
func (s *DB) ClockOffset() time.Duration { return time.Duration(s.clock.ahead.Load()) }

// Time returns the time of the clock that all nodes share, read from the database.
func (s *conn) Time(ctx context.Context) (time.Time, error) {
	us, err := s.clock.read(ctx, s.read)
	if err != nil {
		return time.Time{}, fmt.Errorf("read time: %w", err)
	}
	return fromMicros(us), nil
}
