package route

import (
	"sync"
	"time"
)

const (
	// A circuit opens after tripRow consecutive failures, or after tripShare failures among the last tripOf outcomes
	// within tripWithin.
	tripRow    = 5
	tripOf     = 20
	tripShare  = tripOf / 2
	tripWithin = 30 * time.Second

	firstOpen   = 30 * time.Second // doubled each time a probe fails
	longestOpen = 5 * time.Minute
	// maxDoublings prevents an overflow of the shift.
	maxDoublings = 10

	// latencyWeight is the weight of the newest time to first token in the moving average.
	latencyWeight = 0.2
)

// circuit records the health of a target or a key. While it is open, requests avoid the target, except that after a
// while one request at a time probes it.
type circuit struct {
	mu       sync.Mutex
	row      int             // failures since the last success
	outcomes [tripOf]outcome // ring buffer
	next     int             // next index in outcomes
	openFor  time.Duration   // 0 while closed
	until    time.Time       // time of the next probe; for a key, the end of its rest
	probing  bool            // a request is probing the target
	latency  time.Duration   // moving average of the time to first token; 0 if unknown
	lastErr  string          // reason of the last failure, safe to show
	lastAt   time.Time       // time of the last failure
	used     time.Time       // time of the last outcome
	asked    bool            // the target has answered or failed before
	held     held
}

type outcome struct {
	at     time.Time
	failed bool
}

// usable reports whether the circuit lets requests through. It does not reserve the probe.
func (c *circuit) usable(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !now.Before(c.until) && !c.probing
}

// admit reports whether a request may pass. After a circuit has been open for its time, it admits one request, the
// probe; the result decides whether the circuit closes.
func (c *circuit) admit(now time.Time) (ok, probe bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Before(c.until) || c.probing {
		return false, false
	}
	c.probing = c.openFor > 0
	return true, c.probing
}

// ends returns the time of the next probe.
func (c *circuit) ends() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.until
}

// rests returns the end of a key's rest; nil if the key does not rest.
func (c *circuit) rests(now time.Time) *time.Time {
	until := c.ends().UTC()
	if !now.Before(until) {
		return nil
	}
	return &until
}

// isDown reports whether the circuit is open, or the key rests, and the last tripRow outcomes were all failures.
func (c *circuit) isDown(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.row >= tripRow && now.Before(c.until)
}

// succeeded records an answer, and reports whether the target had been unavailable.
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

// failed records count failures, and reports whether they made the target unavailable, which is whether the fifth in a
// row was among them.
func (c *circuit) failed(now time.Time, why string, count int) (unavailable bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.row
	c.row += count
	c.lastErr, c.lastAt = why, now
	c.note(now, true)
	switch {
	case c.openFor > 0 && !now.Before(c.until): // the probe, or the first request sent in its place
		c.probing = false
		c.open(now, min(2*c.openFor, longestOpen))
	case c.openFor == 0 && (c.row >= tripRow || c.often(now)):
		c.open(now, firstOpen)
	}
	return before < tripRow && c.row >= tripRow
}

// rest lets a key rest for the time that its provider reported. Without one (told is 0), the time starts at first and
// doubles with each refusal in a row.
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

// answered records an answer that shows nothing about the target's health.
func (c *circuit) answered() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = true
}

// isUnused reports whether the target has neither answered nor failed yet.
func (c *circuit) isUnused() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.asked
}

// undecided ends a probe without a result.
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
