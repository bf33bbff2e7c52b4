package webhook

import (
	"math/rand/v2"
	"time"
)

const (
	tryFor = 15 * time.Second // one try, from the dial to the end of the answer
	// GiveUpAfter is how long a delivery is tried, from when it was due first.
	GiveUpAfter = 72 * time.Hour
	// DisableAfter is how long every try at an endpoint may fail until it is
	// disabled.
	DisableAfter = 5 * 24 * time.Hour
	// longestRest bounds what a receiver may ask for with Retry-After.
	longestRest = 12 * time.Hour
	jitterPart  = 10 // at most a tenth is added to a pause
)

// pauses are those after the first failed tries; the last one is that after all
// others too.
func pauses() []time.Duration {
	return []time.Duration{
		5 * time.Second, 25 * time.Second, 2 * time.Minute, 10 * time.Minute, time.Hour, 3 * time.Hour, 8 * time.Hour,
		12 * time.Hour,
	}
}

// pause is how long to wait after so many failed tries, at least 1; told is what the
// receiver asked for, 0 for nothing. It reports false where the delivery is given
// up: age is how long ago it was due first.
func pause(failed int, age, told time.Duration) (time.Duration, bool) {
	all := pauses()
	d := max(all[min(failed, len(all))-1], min(told, longestRest))
	if age+d > GiveUpAfter {
		return 0, false
	}
	return d + rand.N(d/jitterPart+1), true
}
