package provider

import (
	"errors"
	"sync"
	"time"
)

// errGivenUp is the cause when the gateway aborts an exchange that is no longer needed.
var errGivenUp = errors.New("cancelled by the gateway")

// expiry is the cause when a timer has expired.
type expiry Kind

// Error names the timer.
func (e expiry) Error() string { return Kind(e).String() }

// watch holds the timers of an exchange and aborts it early. One time.Timer serves all timers of all exchanges that use
// its memory, and is set neither for every chunk nor for every exchange: it fires at or before the earliest time at
// which a timer can have expired, checks, and is set again. Only the time that a read waits for the provider counts: a
// client that reads slowly does not make its provider idle.
type watch struct {
	mu      sync.Mutex
	kill    func() // aborts the current operation at once; nil if there is none
	cause   error  // why the exchange was aborted; nil if it was not
	timer   *time.Timer
	fires   time.Time // when timer fires; zero if it is not set
	stopped bool
	onLate  func() bool   // called once if the first byte is late; nil aborts the exchange then
	late    bool          // the first byte was late, and the exchange continues
	kind    Kind          // kind of the current wait's expiry
	limit   time.Duration // longest duration of a wait
	began   time.Time
	since   time.Time // start of the current wait; zero without one
	end     time.Time // end of the whole exchange
}

// start starts an exchange with the wait for its first byte. A look for an earlier exchange of the same memory may
// still come: it finds the times of this one.
func (w *watch) start(t *Timeouts) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kill, w.cause, w.onLate, w.late, w.stopped = nil, nil, nil, false, false
	w.began = time.Now()
	w.since, w.end = w.began, w.began.Add(t.Total)
	w.kind, w.limit = KindFirstByteTimeout, t.FirstByte
	w.lookWithin(w.began, min(t.FirstByte, t.Total))
}

// longestLook bounds how long the timer is set for, because it keeps the memory of an exchange that has ended.
const longestLook = 30 * time.Second

// lookWithin makes the timer fire at most d after now, if it does not.
func (w *watch) lookWithin(now time.Time, d time.Duration) {
	d = max(0, min(d, longestLook))
	at := now.Add(d)
	switch {
	case w.timer == nil:
		w.timer = time.AfterFunc(d, w.look)
	case w.fires.IsZero() || at.Before(w.fires):
		w.timer.Reset(d)
	default:
		return
	}
	w.fires = at
}

// attach sets the function that aborts the operation that begins now. It returns false if the exchange was aborted
// already.
func (w *watch) attach(kill func()) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kill = kill
	return w.cause == nil
}

// detach marks the operation as finished. It returns false if it was aborted first.
func (w *watch) detach() bool { return w.attach(nil) }

// abort ends the exchange at once; only the first cause counts.
func (w *watch) abort(cause error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.abortLocked(cause)
}

func (w *watch) abortLocked(cause error) {
	if w.cause != nil {
		return
	}
	w.cause = cause
	if w.kill != nil {
		w.kill()
	}
}

// reason returns why the exchange was aborted; nil if it was not.
func (w *watch) reason() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cause
}

// look aborts the exchange if a timer has expired, and otherwise sets the timer again.
func (w *watch) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fires = time.Time{}
	if w.stopped {
		return
	}
	now := time.Now()
	if !now.Before(w.end) {
		w.abortLocked(expiry(KindTotalTimeout))
		return
	}
	next := w.limit
	if !w.since.IsZero() {
		if next = w.since.Add(w.limit).Sub(now); next <= 0 {
			if w.onLate == nil || !w.onLate() {
				w.abortLocked(expiry(w.kind))
				return
			}
			w.onLate, w.late = nil, true
			w.kind, w.limit = KindTotalTimeout, w.end.Sub(now)
			next = w.limit
		}
	}
	w.lookWithin(now, min(next, w.end.Sub(now)))
}

// keepLate sets a function that is called once if the first byte does not arrive in time. If it returns true, the
// exchange continues up to its total timeout.
func (w *watch) keepLate(f func() bool) {
	w.mu.Lock()
	w.onLate = f
	w.mu.Unlock()
}

// headCame ends the effect of keepLate. It reports whether the first byte was late.
func (w *watch) headCame() (late bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.onLate = nil
	return w.late
}

// wait begins a wait, unless one has begun.
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

// limitWaits sets the longest duration of waits from now on, and the kind of their expiry.
func (w *watch) limitWaits(kind Kind, limit time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.kind, w.limit = kind, limit; w.stopped {
		return
	}
	if earliest := w.began.Add(limit); !w.fires.IsZero() && !w.fires.After(earliest) && !w.fires.After(w.end) {
		return // without looking at the clock
	}
	now := time.Now()
	w.lookWithin(now, min(limit, w.end.Sub(now)))
}

// endWithin sets an earlier end of the whole exchange.
func (w *watch) endWithin(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if end := now.Add(d); end.Before(w.end) {
		w.end = end
		w.lookWithin(now, d)
	}
}

// stop ends all timers.
func (w *watch) stop() {
	w.mu.Lock()
	w.stopped = true
	w.mu.Unlock()
}

// unset stops the timer, too: it would keep the memory of an exchange that no other one uses.
func (w *watch) unset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped, w.fires = true, time.Time{}
	w.timer.Stop()
}
