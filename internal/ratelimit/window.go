package ratelimit

import (
	"math"
	"slices"
	"sync"
	"time"
)

// span is how many seconds after the start of a bucket all its events are at least 60 seconds old.
const span = 61

// bucket holds the counts of one second.
type bucket struct {
	second, requests, tokens int64
}

// window holds the counts of a level. Seconds count from the creation of the limiter.
type window struct {
	mu       sync.Mutex
	dead     bool // it was removed: find another
	inFlight int64
	requests int64    // sum of the buckets
	tokens   int64    // sum of the buckets
	buckets  []bucket // oldest first, at most span

	shared usage         // counts of all nodes, from Valkey's last answer
	told   time.Duration // time of that answer

	full   time.Duration // until when all requests of a minute are used, by the last refusal
	fullOf int64         // the limit of that refusal
}

// advance removes events older than 60 seconds.
func (w *window) advance(now time.Duration) {
	oldest, n := second(now)-span+1, 0
	for n < len(w.buckets) && w.buckets[n].second < oldest {
		w.requests -= w.buckets[n].requests
		w.tokens -= w.buckets[n].tokens
		n++
	}
	if n > 0 {
		w.buckets = slices.Delete(w.buckets, 0, n)
	}
}

func second(at time.Duration) int64 { return int64(at / time.Second) }

// add counts an event, and returns its second. If a concurrent caller has already added a later bucket, it counts
// there.
func (w *window) add(now time.Duration, requests, tokens int64) int64 {
	at, last := second(now), len(w.buckets)-1
	if last < 0 || w.buckets[last].second < at {
		w.buckets = append(w.buckets, bucket{second: at})
		last++
	}
	b := &w.buckets[last]
	b.requests += requests
	b.tokens = plus(b.tokens, tokens)
	w.requests += requests
	w.tokens = plus(w.tokens, tokens)
	return b.second
}

// plus adds counts, which are never negative, and saturates.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// takeBack subtracts counts of a second, if that is in the window.
func (w *window) takeBack(at, requests, tokens int64) {
	i, found := slices.BinarySearchFunc(w.buckets, at, func(b bucket, at int64) int { return int(b.second - at) })
	if !found {
		return
	}
	b := &w.buckets[i]
	requests, tokens = min(requests, b.requests), min(tokens, b.tokens)
	b.requests -= requests
	b.tokens -= tokens
	w.requests -= requests
	w.tokens -= tokens
}

func (b *bucket) countOf(what limited) int64 {
	if what == theTokens {
		return b.tokens
	}
	return b.requests
}

// wait returns how long it takes until over events have left the window; 0 if over is not positive.
func (w *window) wait(now time.Duration, over int64, of limited) time.Duration {
	if over <= 0 {
		return 0
	}
	for i := range w.buckets {
		if over -= w.buckets[i].countOf(of); over <= 0 {
			return w.buckets[i].leaves() - now
		}
	}
	return busyRetry // no request takes more than the limit
}

// leaves returns when a bucket leaves the window.
func (b *bucket) leaves() time.Duration { return time.Duration(b.second+span) * time.Second }

// usage returns the counts of the window.
func (w *window) usage(now time.Duration) usage {
	u := usage{requests: w.requests, tokens: w.tokens}
	for i := len(w.buckets) - 1; i >= 0 && (u.resetRequests == 0 || u.resetTokens == 0); i-- {
		b := &w.buckets[i]
		if b.requests > 0 && u.resetRequests == 0 {
			u.resetRequests = int64(b.leaves() - now)
		}
		if b.tokens > 0 && u.resetTokens == 0 {
			u.resetTokens = int64(b.leaves() - now)
		}
	}
	return u
}

// view returns the counts of the window, or Valkey's last answer where that is higher.
func (w *window) view(now time.Duration) usage {
	u, age := w.usage(now), int64(now-w.told)
	if s := &w.shared; s.requests > u.requests && s.resetRequests > age {
		u.requests, u.resetRequests = s.requests, s.resetRequests-age
	}
	if s := &w.shared; s.tokens > u.tokens && s.resetTokens > age {
		u.tokens, u.resetTokens = s.tokens, s.resetTokens-age
	}
	return u
}

// idle reports whether the window can be removed.
func (w *window) idle(now time.Duration) bool {
	w.advance(now)
	return w.inFlight == 0 && len(w.buckets) == 0 && w.full <= now
}
