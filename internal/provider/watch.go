package provider

import (
	"errors"
	"sync"
	"time"
)

// errGivenUp is why an exchange was aborted that nobody wants any more.
var errGivenUp = errors.New("given up by our side")

// expiry is why an exchange was aborted whose timer ran out.
type expiry Kind

// Error names the timer.
func (e expiry) Error() string { return Kind(e).String() }

// watch ends an exchange before its time: it holds the timers, and how to
// abort what is under way. There is one time.Timer for all of
// them, and it is not touched for every chunk: it fires at the earliest moment
// at which something can have expired, looks, and is set anew. Only the time
// that somebody waits for the provider counts as waiting; a client that reads
// slowly does not make its provider idle.
type watch struct {
	mu      sync.Mutex
	kill    func() // ends what is under way at once; nil while nothing is
	cause   error  // why the exchange was aborted; nil where it was not
	timer   *time.Timer
	stopped bool
	onLate  func() bool   // called once, where the first byte is late; nil to abort the exchange then
	late    bool          // it was, and the exchange goes on
	kind    Kind          // what the expiry of the present wait is
	limit   time.Duration // how long a wait may be
	since   time.Time     // when the present wait began; zero while nobody waits
	end     time.Time     // when the whole exchange has to be over
}

// start begins the exchange with the wait for its first byte.
func (w *watch) start(t *Timeouts) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.since = time.Now()
	w.end = w.since.Add(t.Total)
	w.kind, w.limit = KindFirstByteTimeout, t.FirstByte
	w.timer = time.AfterFunc(min(t.FirstByte, t.Total), w.look)
}

// attach names what ends the work that is now begun. It is false where the
// exchange was aborted already.
func (w *watch) attach(kill func()) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kill = kill
	return w.cause == nil
}

// detach says that the work is over. It is false where it was aborted first.
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

// reason is why the exchange was aborted; nil where it was not.
func (w *watch) reason() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cause
}

// look aborts the exchange when a timer has expired, and comes back otherwise.
func (w *watch) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
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
	w.timer.Reset(min(next, w.end.Sub(now)))
}

// keepLate has f called, once, where the first byte does not come in time. Where f returns
// true the exchange is not aborted, and may take its total time.
func (w *watch) keepLate(f func() bool) {
	w.mu.Lock()
	w.onLate = f
	w.mu.Unlock()
}

// headCame ends what keepLate began. It reports whether the first byte was late.
func (w *watch) headCame() (late bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.onLate = nil
	return w.late
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
