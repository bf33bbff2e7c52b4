package main

import (
	"math/bits"
	"time"
)

const (
	// stepBits is the precision: 2^stepBits steps for each power of two, so a
	// quantile is off by at most 1/256 of itself.
	stepBits = 7
	steps    = 1 << stepBits
)

// histogram counts durations in buckets whose width grows with their value, as
// an HDR histogram does. It never allocates.
type histogram struct {
	counts [(64 - stepBits + 1) * steps]int64
	total  int64
	max    int64
}

// add counts one duration in nanoseconds; a negative one counts as 0.
func (h *histogram) add(ns int64) {
	ns = max(ns, 0)
	h.counts[bucket(uint64(ns))]++
	h.total++
	h.max = max(h.max, ns)
}

func bucket(v uint64) int {
	shift := max(bits.Len64(v)-stepBits-1, 0)
	return shift*steps + int(v>>shift)
}

// middle is the value in the middle of a bucket.
func middle(i int) int64 {
	if i < 2*steps {
		return int64(i)
	}
	shift := i/steps - 1
	low := int64(i-shift*steps) << shift
	return low + int64(1)<<shift/2
}

// quantile is the duration below which a share of q, 0 to 1, of all lie; 0 for
// an empty histogram.
func (h *histogram) quantile(q float64) time.Duration {
	rank := int64(q * float64(h.total))
	for i, n := range h.counts {
		if rank < n {
			return time.Duration(min(middle(i), h.max))
		}
		rank -= n
	}
	return time.Duration(h.max)
}

// spread is what is told of a histogram, in microseconds.
type spread struct {
	Count int64   `json:"count"`
	P50   float64 `json:"p50_us"`
	P99   float64 `json:"p99_us"`
	Max   float64 `json:"max_us"`
}

func (h *histogram) spread() spread {
	return spread{Count: h.total, P50: micros(h.quantile(0.50)), P99: micros(h.quantile(0.99)), Max: micros(time.Duration(h.max))}
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
