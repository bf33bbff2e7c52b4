package ratelimit

import (
	"math"
	"slices"
	"sync"
	"time"
)

// span is how many seconds after the beginning of a bucket everything in it is
// at least 60 seconds old.
const span = 61

// bucket is what was given in one second.
type bucket struct {
	second, requests, tokens int64
}

// window is what a level has given of its limits. Seconds count from when the
// limiter was made.
type window struct {
	mu       sync.Mutex
	dead     bool // it was forgotten: look for another
	inFlight int64
	requests int64    // the sum of the buckets
	tokens   int64    // likewise
	buckets  []bucket // oldest first, none empty of time: at most span

	shared usage         // what all nodes together have given, as it was last told
	told   time.Duration // when

	full   time.Duration // until when all requests of a minute are used, as it was last told
	fullOf int64         // of so many
}

// advance drops what is older than 60 seconds.
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

// add counts what is given now, and returns in which second. A clock that was
// read before another's and comes after it counts as that.
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

// takeBack uncounts what was given in a second, if that is in the window.
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

// wait is how long it is until so many fewer are in the window: 0 where none
// need be.
func (w *window) wait(now time.Duration, over int64, of limited) time.Duration {
	if over <= 0 {
		return 0
	}
	for i := range w.buckets {
		if over -= w.buckets[i].countOf(of); over <= 0 {
			return w.buckets[i].leaves() - now
		}
	}
	return busyRetry // nobody asks for more than the limit
}

// leaves is when a bucket is out of the window.
func (b *bucket) leaves() time.Duration { return time.Duration(b.second+span) * time.Second }

// usage is what the window holds.
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

// view is what is known of the window and of its like at other nodes.
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

// idle says whether nobody would miss the window.
func (w *window) idle(now time.Duration) bool {
	w.advance(now)
	return w.inFlight == 0 && len(w.buckets) == 0 && w.full <= now
}
