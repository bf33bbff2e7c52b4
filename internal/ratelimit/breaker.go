package ratelimit

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// breaker decides whether Valkey is called. It opens at the first call that fails or times out, so that later
// requests do not wait, and closes when a probe succeeds in time.
type breaker struct {
	log     *slog.Logger
	outages atomic.Int64
	opened  atomic.Bool
	// unsure is the end, in the limiter's time, of the window after an outage. Within it this node also checks its
	// own memory, because Valkey's data may be empty.
	unsure atomic.Int64

	mu    sync.Mutex
	cause error
}

func (b *breaker) state(now time.Duration) (open, unsure bool) {
	return b.opened.Load(), now < time.Duration(b.unsure.Load())
}

// trip opens the breaker.
func (b *breaker) trip(cause error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.opened.Load() {
		return
	}
	b.cause = cause
	b.opened.Store(true)
	b.outages.Add(1)
	b.log.Warn("Valkey cannot be reached; this node enforces its share of the rate limits in memory", "err", cause)
}

// close ends an outage.
func (b *breaker) close(now time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unsure.Store(int64(now + span*time.Second))
	b.cause = nil
	b.opened.Store(false)
	b.log.Info("Valkey can be reached again; rate limits are shared")
}

func (b *breaker) problem() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.cause
}
