package main

import (
	"slices"
	"time"
)

// durations stores each measured duration: a window has at most some millions.
type durations []time.Duration

// spread is a summary of durations, in microseconds.
type spread struct {
	Count int64   `json:"count"`
	P50   float64 `json:"p50_us"`
	P99   float64 `json:"p99_us"`
	Max   float64 `json:"max_us"`
}

func (d durations) spread() spread {
	if len(d) == 0 {
		return spread{}
	}
	slices.Sort(d)
	at := func(percent int) float64 { return micros(d[(len(d)-1)*percent/100]) }
	return spread{Count: int64(len(d)), P50: at(50), P99: at(99), Max: at(100)}
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
