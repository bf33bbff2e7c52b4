package store

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"
)

// clockTolerance is how far the machine's clock may be from the database's before the
// times that nodes share are corrected: more than clocks that are set by NTP differ,
// and less than anything that is kept here lasts.
const clockTolerance = time.Second

// clock is the clock by which everything in the database is written and compared. All
// nodes share it: it is the database's, or the machine's where the database has none
// of its own.
type clock struct {
	machine func() time.Time
	ask     func(ctx context.Context, q querier) (int64, error) // nil: the machine's is the one
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

// now is the time without asking the database: the machine's, corrected by what the
// database said last. It is at most clockTolerance off.
func (c *clock) now() time.Time { return c.machine().Add(time.Duration(c.ahead.Load())) }

// read asks the database for the time, in microseconds.
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

// compare corrects now, where the database said a time that is too far from what the
// machine's clock showed before and after it was asked.
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

// Now is the time by the clock that all nodes share, without asking the database for
// it: at most a second off. Everything that is written to the database or compared
// with what is there goes by it.
func (s *DB) Now() time.Time { return s.clock.now() }

// ClockOffset is how far the database's clock is ahead of this machine's; 0 where
// they agree to a second.
func (s *DB) ClockOffset() time.Duration { return time.Duration(s.clock.ahead.Load()) }

// Time is that by the clock that all nodes share, as the database says now.
func (s *conn) Time(ctx context.Context) (time.Time, error) {
	us, err := s.clock.read(ctx, s.read)
	if err != nil {
		return time.Time{}, fmt.Errorf("read time: %w", err)
	}
	return fromMicros(us), nil
}
