package main

import (
	"math"
	"testing"
	"time"
)

func TestHistogramQuantiles(t *testing.T) {
	t.Parallel()
	var h histogram
	for us := int64(1); us <= 10_000; us++ {
		h.add(us * 1000)
	}
	for _, c := range []struct {
		q    float64
		want time.Duration
	}{
		{0, time.Microsecond},
		{0.5, 5000 * time.Microsecond},
		{0.99, 9900 * time.Microsecond},
		{1, 10_000 * time.Microsecond},
	} {
		got := h.quantile(c.q)
		if off := math.Abs(float64(got-c.want)) / float64(c.want); off > 1.0/200 {
			t.Errorf("quantile(%v): got %v, want %v within 0.5 %%", c.q, got, c.want)
		}
	}
}

func TestHistogramBuckets(t *testing.T) {
	t.Parallel()
	last := -1
	for _, v := range []uint64{0, 1, 127, 128, 255, 256, 257, 258, 1 << 20, 1<<40 + 5, math.MaxInt64} {
		i := bucket(v)
		if i < last || i >= len(histogram{}.counts) {
			t.Errorf("bucket(%d): got %d, want from %d to %d", v, i, last, len(histogram{}.counts)-1)
		}
		last = i
		if got := middle(i); math.Abs(float64(got)-float64(v)) > float64(v)/200 {
			t.Errorf("middle(bucket(%d)): got %d, want it within 0.5 %%", v, got)
		}
	}
}

func TestHistogramOfNothing(t *testing.T) {
	t.Parallel()
	var h histogram
	if got := h.spread(); got != (spread{}) {
		t.Errorf("spread of an empty histogram: got %+v, want zeros", got)
	}
	h.add(-5)
	if got := h.quantile(0.5); got != 0 {
		t.Errorf("median of -5: got %v, want 0", got)
	}
}
