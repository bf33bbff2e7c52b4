package route

import (
	"sync"
	"time"
)

const (
	// retryShare of a provider's recent requests may be retries, but always
	// retryLeast of them: together they stay within a tenth.
	retryShare = 0.08
	retryLeast = 3
	// retryRecent is how far back requests are recent, in buckets of a second.
	retryRecent = 30
)

// retryBudget keeps retries from making an outage worse: it counts what went
// to one provider lately.
type retryBudget struct {
	mu      sync.Mutex
	buckets [retryRecent]bucket
	total   bucket // the sum of all
	second  int64  // of the newest bucket, Unix
}

type bucket struct{ requests, retries int }

// request counts one that is not a retry.
func (b *retryBudget) request(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forget(now.Unix())
	b.buckets[b.second%retryRecent].requests++
	b.total.requests++
}

// retry counts a retry, if there is room for it.
func (b *retryBudget) retry(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forget(now.Unix())
	if b.total.retries >= max(retryLeast, int(retryShare*float64(b.total.requests))) {
		return false
	}
	b.buckets[b.second%retryRecent].retries++
	b.total.retries++
	return true
}

// forget empties the buckets of seconds that are no longer recent. A clock
// that goes back changes nothing.
func (b *retryBudget) forget(second int64) {
	if second-b.second > retryRecent {
		b.buckets, b.total = [retryRecent]bucket{}, bucket{}
		b.second = second
	}
	for b.second < second {
		b.second++
		old := &b.buckets[b.second%retryRecent]
		b.total.requests -= old.requests
		b.total.retries -= old.retries
		*old = bucket{}
	}
}
