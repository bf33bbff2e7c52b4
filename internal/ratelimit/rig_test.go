package ratelimit_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/ratelimit"
	"weir/internal/ratelimit/redistest"
)

// clock is a clock that a test moves.
type clock struct {
	mu   sync.Mutex
	now  time.Time
	tell func(time.Time) // notifies others; nil for none

	moved func()
}

func newClock() *clock { return &clock{now: time.Date(2026, 11, 5, 12, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	if c.tell != nil {
		c.tell(c.now)
	}
	if c.moved != nil {
		c.moved()
	}
}

// asker is the interface of the suite: a Limiter, or a deliberately broken one.
type asker interface {
	Reserve(ctx context.Context, r *ratelimit.Reservation, c ratelimit.Caller, tokens int64) error
}

// rig is a limiter with a clock of its own.
type rig struct {
	asker
	limiter *ratelimit.Limiter
	clock   *clock
}

// maker makes rigs of one kind, each without state of earlier ones.
type maker func(p ratelimit.Policy) rig

// makers returns all kinds. The suite runs over each.
func makers(t *testing.T) map[string]maker {
	return map[string]maker{"memory": inMemory(t), "valkey": onValkey(t)}
}

func inMemory(t *testing.T) maker {
	return func(p ratelimit.Policy) rig {
		c := newClock()
		l := newLimiter(t, ratelimit.Options{Policy: p, Now: c.Now})
		return rig{l, l, c}
	}
}

// onValkey makes limiters on one real server, which reads the time from the clock of the last one.
func onValkey(t *testing.T, changes ...string) maker {
	server := redistest.Start(t)
	var last *ratelimit.Limiter
	return func(p ratelimit.Policy) rig {
		if last != nil {
			_ = last.Close()
		}
		server.Do("FLUSHALL")
		r := onServer(t, server, p, changes...)
		last = r.limiter
		return r
	}
}

// onServer makes a node on a server that reads its time from the node's clock.
func onServer(t *testing.T, server *redistest.Server, p ratelimit.Policy, changes ...string) rig {
	c := newClock()
	c.tell = func(now time.Time) {
		server.Do(fmt.Sprintf("MSET weir:{limits}:now:s %d weir:{limits}:now:us %d", now.Unix(), now.Nanosecond()/1000))
	}
	c.advance(0)
	l := newLimiter(t, ratelimit.Options{Policy: p, Valkey: server.URL(), Timeout: patience, Now: c.Now})
	l.UseServerTime(changes...)
	c.moved = l.Renew // in time, as Run does it
	return rig{l, l, c}
}

// patience is the longest duration of a call in tests that do not test it.
const patience = time.Minute

func newLimiter(t testing.TB, o ratelimit.Options) *ratelimit.Limiter {
	t.Helper()
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	l, err := ratelimit.New(o)
	must.Do(t, err)
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// ask asks once, and returns whether it was admitted, or when to ask again.
func ask(t testing.TB, a asker, r *ratelimit.Reservation, c ratelimit.Caller, tokens int64) (ok bool, wait time.Duration) {
	t.Helper()
	err := a.Reserve(context.Background(), r, c, tokens)
	if err == nil {
		return true, 0
	}
	e := llm.AsError(err)
	if e.Code != llm.CodeRateLimited || e.RetryAfter <= 0 {
		t.Fatalf("got %v with RetryAfter %v, want RATE_LIMITED with a time", err, e.RetryAfter)
	}
	return false, e.RetryAfter
}
