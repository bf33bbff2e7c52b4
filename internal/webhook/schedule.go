package webhook

import (
	"math/rand/v2"
	"time"
)

const (
	tryFor = 15 * time.Second // from the dial to the end of the answer
	// GiveUpAfter is how long a delivery is tried, from when it was first due.
	GiveUpAfter = 72 * time.Hour
	// DisableAfter is how long all tries at an endpoint must fail before it is disabled.
	DisableAfter = 5 * 24 * time.Hour
	// longestRest bounds the pause that a receiver can request with Retry-After.
	longestRest = 12 * time.Hour
	jitterPart  = 10 // a pause grows at random by up to a tenth
)

// pauses returns the pauses after the first failed tries. The last one applies to all further tries.
func pauses() []time.Duration {
	return []time.Duration{
		5 * time.Second, 25 * time.Second, 2 * time.Minute, 10 * time.Minute, time.Hour, 3 * time.Hour, 8 * time.Hour,
		12 * time.Hour,
	}
}

// pause returns the pause after that many failed tries, at least 1. Told is the receiver's Retry-After; 0 for none. Age
// is the time since the delivery was first due. It returns false if the delivery is given up.
func pause(failed int, age, told time.Duration) (time.Duration, bool) {
	all := pauses()
	d := max(all[min(failed, len(all))-1], min(told, longestRest))
	if age+d > GiveUpAfter {
		return 0, false
	}
	return d + rand.N(d/jitterPart+1), true
}
