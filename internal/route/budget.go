package route

import (
	"sync"
	"time"
)

const (
	// retryShare is the share of a provider's recent requests that may be retries, but retryLeast are always allowed:
	// together they stay within a tenth.
	retryShare = 0.08
	retryLeast = 3
	// retryRecent is how long requests count as recent, in buckets of one second.
	retryRecent = 30
)

// retryBudget limits the retries at one provider so that they do not make an outage worse.
type retryBudget struct {
	mu      sync.Mutex
	buckets [retryRecent]bucket
	total   bucket // sum of all buckets
	second  int64  // of the newest bucket, Unix time
}

type bucket struct{ requests, retries int }

// request counts a request that is not a retry.
func (b *retryBudget) request(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forget(now.Unix())
	b.buckets[b.second%retryRecent].requests++
	b.total.requests++
}

// retry counts a retry if the budget has room for it, and reports whether it has.
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

// forget empties the buckets of seconds that are no longer recent. A clock that is set back changes nothing.
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
