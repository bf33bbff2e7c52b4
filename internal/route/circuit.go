package route

import (
	"sync"
	"time"
)

const (
	// tripRow consecutive failures open a circuit, or tripShare of the last
	// tripOf outcomes within tripWithin.
	tripRow    = 5
	tripOf     = 20
	tripShare  = tripOf / 2
	tripWithin = 30 * time.Second

	firstOpen   = 30 * time.Second // doubled each time a probe fails
	longestOpen = 5 * time.Minute
	// maxDoublings keeps a shift from overflowing.
	maxDoublings = 10

	// latencyWeight is how much the newest time to first token counts in the
	// moving average.
	latencyWeight = 0.2
)

// circuit is how a target, or a key, has fared. While it is open nobody should
// ask, except that after a while one request at a time probes.
type circuit struct {
	mu       sync.Mutex
	row      int             // failures since the last success
	outcomes [tripOf]outcome // a ring
	next     int             // where in it
	openFor  time.Duration   // 0 while closed
	until    time.Time       // when it may be probed; for a key, when its rest ends
	probing  bool            // somebody asks just now whether it works again
	latency  time.Duration   // moving average of the time to the first token; 0 unknown
	lastErr  string          // of the last failure, fit to be shown
	lastAt   time.Time       // when that was
	used     time.Time       // when it last got an outcome
	asked    bool            // somebody had an answer of it
	held     held
}

type outcome struct {
	at     time.Time
	failed bool
}

// usable reports whether the circuit lets requests through, without taking the
// probe.
func (c *circuit) usable(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !now.Before(c.until) && !c.probing
}

// admit reports whether a request may go through. A circuit that has been open
// for long enough lets one through, the probe, whose outcome decides.
func (c *circuit) admit(now time.Time) (ok, probe bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Before(c.until) || c.probing {
		return false, false
	}
	c.probing = c.openFor > 0
	return true, c.probing
}

// ends is when the circuit may be asked again.
func (c *circuit) ends() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.until
}

// rests is until when a key rests; nil while it does not.
func (c *circuit) rests(now time.Time) *time.Time {
	until := c.ends().UTC()
	if !now.Before(until) {
		return nil
	}
	return &until
}

// isDown reports whether the circuit is open, or the key rests, and the last answers were all failures.
func (c *circuit) isDown(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.row >= tripRow && now.Before(c.until)
}

// succeeded takes note of an answer, and reports whether the target had been
// unavailable.
func (c *circuit) succeeded(now time.Time, firstToken time.Duration) (recovered bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	recovered = c.row >= tripRow
	if c.openFor > 0 {
		c.outcomes = [tripOf]outcome{}
	}
	c.row, c.openFor, c.until, c.probing, c.held = 0, 0, time.Time{}, false, held{}
	c.note(now, false)
	switch {
	case firstToken <= 0:
	case c.latency == 0:
		c.latency = firstToken
	default:
		c.latency += time.Duration(latencyWeight * float64(firstToken-c.latency))
	}
	return recovered
}

// failed takes note of a failure, the last of so many that count now, and reports
// whether it made the target unavailable: whether the fifth in a row was among them.
func (c *circuit) failed(now time.Time, why string, count int) (unavailable bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.row
	c.row += count
	c.lastErr, c.lastAt = why, now
	c.note(now, true)
	switch {
	case c.openFor > 0 && !now.Before(c.until): // the probe, or whoever was the first to ask in its place
		c.probing = false
		c.open(now, min(2*c.openFor, longestOpen))
	case c.openFor == 0 && (c.row >= tripRow || c.often(now)):
		c.open(now, firstOpen)
	}
	return before < tripRow && c.row >= tripRow
}

// rest lets a key rest: for so long as its provider says, else for a time that
// doubles with each refusal in a row, from first on.
func (c *circuit) rest(now time.Time, told, first time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.row++
	d := told
	if d == 0 {
		d = min(first<<min(c.row-1, maxDoublings), longestOpen)
	}
	if end := now.Add(d); end.After(c.until) {
		c.until = end
	}
}

// answered takes note of an answer that says nothing about the target's health.
func (c *circuit) answered() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = true
}

// isUnused reports whether nobody had an answer of the target yet.
func (c *circuit) isUnused() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.asked
}

// undecided ends a request that says nothing about the target.
func (c *circuit) undecided() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.probing = false
}

func (c *circuit) open(now time.Time, d time.Duration) {
	c.openFor, c.until = d, now.Add(d)
}

func (c *circuit) note(now time.Time, failed bool) {
	c.outcomes[c.next] = outcome{now, failed}
	c.next = (c.next + 1) % tripOf
	c.used, c.asked = now, true
}

// often reports whether too many of the last outcomes were failures.
func (c *circuit) often(now time.Time) bool {
	failed := 0
	for _, o := range c.outcomes {
		if o.at.IsZero() || now.Sub(o.at) > tripWithin {
			return false
		}
		if o.failed {
			failed++
		}
	}
	return failed >= tripShare
}
