package provider

import (
	"context"
	"sync"
	"time"
)

// expiry is the cause with which a timer of ours cancels an exchange.
type expiry Kind

// Error names the timer.
func (e expiry) Error() string { return Kind(e).String() }

// watch holds the timers of one exchange. There is one time.Timer for all of
// them, and it is not touched for every chunk: it fires at the earliest moment
// at which something can have expired, looks, and is set anew. Only the time
// that somebody waits for the provider counts as waiting; a client that reads
// slowly does not make its provider idle.
type watch struct {
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	timer   *time.Timer
	stopped bool
	kind    Kind          // what the expiry of the present wait is
	limit   time.Duration // how long a wait may be
	since   time.Time     // when the present wait began; zero while nobody waits
	end     time.Time     // when the whole exchange has to be over
}

// start begins the exchange with the wait for its first byte.
func (w *watch) start(t *Timeouts, cancel context.CancelCauseFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cancel = cancel
	w.since = time.Now()
	w.end = w.since.Add(t.Total)
	w.kind, w.limit = KindFirstByteTimeout, t.FirstByte
	w.timer = time.AfterFunc(min(t.FirstByte, t.Total), w.look)
}

// look cancels the exchange when a timer has expired, and comes back otherwise.
func (w *watch) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return
	}
	now := time.Now()
	if !now.Before(w.end) {
		w.cancel(expiry(KindTotalTimeout))
		return
	}
	next := w.limit
	if !w.since.IsZero() {
		if next = w.since.Add(w.limit).Sub(now); next <= 0 {
			w.cancel(expiry(w.kind))
			return
		}
	}
	w.timer.Reset(min(next, w.end.Sub(now)))
}

// wait begins a wait, unless one is under way.
func (w *watch) wait() {
	w.mu.Lock()
	if w.since.IsZero() {
		w.since = time.Now()
	}
	w.mu.Unlock()
}

// rest ends a wait.
func (w *watch) rest() {
	w.mu.Lock()
	w.since = time.Time{}
	w.mu.Unlock()
}

// limitWaits sets how long a wait may be from now on, and what its expiry is.
func (w *watch) limitWaits(kind Kind, limit time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kind, w.limit = kind, limit
	if !w.stopped {
		w.timer.Reset(max(0, min(limit, time.Until(w.end))))
	}
}

// endWithin brings the end of the whole exchange nearer.
func (w *watch) endWithin(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if end := time.Now().Add(d); end.Before(w.end) {
		w.end = end
		w.timer.Reset(d)
	}
}

// stop ends all timing.
func (w *watch) stop() {
	w.mu.Lock()
	w.stopped = true
	w.timer.Stop()
	w.mu.Unlock()
}
