package gateway

import (
	"context"
	"errors"
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"weir/internal/telemetry"
)

const (
	// lookEvery is how often the machine's condition is looked at.
	lookEvery = 100 * time.Millisecond
	// lateLimit is the wait for a processor, of nine in ten goroutines, from
	// which the process cannot keep up. Below half of it, it does.
	lateLimit = 10 * time.Millisecond
	// strainUp is what a look adds that finds the process late by the limit, at
	// most maxUp where it is later; strainDown what one takes off that finds it
	// well. From the worst it is back within four seconds.
	strainUp   = 0.05
	maxUp      = 0.2
	strainDown = 0.05
	maxStrain  = 1.9
	// floorPerCPU is how many requests in flight, for each processor, are never
	// too many: all of them together are less work than lateLimit, so that it is
	// something else that the process waits for, and no refusal would help.
	floorPerCPU = 128
	// fewWaits is how many waits say nothing.
	fewWaits = 20
	// sayEvery is how often the log tells of requests that are refused.
	sayEvery = 10 * time.Second
)

// errShed is a refusal of which the log tells only in sum.
var errShed = errors.New("gateway: shed")

// strain is how much too much there is to do: 0 nothing, up to 1 the share of
// batch requests that is refused, and what is above 1 the share of the other
// streams.
// It rises quickly and falls slowly, and rests between half the limit and the
// limit, so that it does not swing.
type strain struct {
	level float64
	floor int64 // requests in flight below which none is refused for it
}

func (s *strain) adjust(late time.Duration) {
	switch {
	case late > lateLimit:
		s.level += min(strainUp*float64(late)/float64(lateLimit), maxUp)
	case late < lateLimit/2:
		s.level -= strainDown
	}
	s.level = min(max(s.level, 0), maxStrain)
}

// share is the part of such requests that is refused, 0 to 1.
func (s *strain) share(p telemetry.Priority) float64 {
	if p == telemetry.Batch {
		return min(s.level, 1)
	}
	return max(s.level-1, 0)
}

// memoryLevel says who may still take memory.
type memoryLevel uint8

const (
	memoryAmple memoryLevel = iota
	memoryTight             // no batch requests and no new streams
	memoryFull              // no requests
)

// The shares of GOMEMLIMIT at which the levels begin.
const (
	tightMemory = 0.85
	fullMemory  = 0.95
)

func levelOf(share float64) memoryLevel {
	switch {
	case share >= fullMemory:
		return memoryFull
	case share >= tightMemory:
		return memoryTight
	}
	return memoryAmple
}

// condition is how the machine fares.
type condition struct {
	late   time.Duration // what nine in ten goroutines at most waited for a processor
	memory float64       // what is used, as a share of GOMEMLIMIT; 0 without one
}

// machine reads the condition off the Go runtime
// (https://pkg.go.dev/runtime/metrics).
type machine struct {
	samples []metrics.Sample
	seen    []uint64 // the counts of the last look
}

// What machine reads, in the order of its samples.
const (
	sampleWaits = iota
	sampleTotal
	sampleReleased
	sampleFree
	sampleObjects
	sampleLive
)

func newMachine() *machine {
	m := &machine{}
	for _, name := range []string{
		"/sched/latencies:seconds", "/memory/classes/total:bytes", "/memory/classes/heap/released:bytes",
		"/memory/classes/heap/free:bytes", "/memory/classes/heap/objects:bytes", "/gc/heap/live:bytes",
	} {
		m.samples = append(m.samples, metrics.Sample{Name: name})
	}
	return m
}

func (m *machine) look() condition {
	metrics.Read(m.samples)
	size := func(i int) float64 { return float64(m.samples[i].Value.Uint64()) }
	waits := m.samples[sampleWaits].Value.Float64Histogram()
	c := condition{late: m.late(waits)}
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		garbage := max(0, size(sampleObjects)-size(sampleLive))
		c.memory = (size(sampleTotal) - size(sampleReleased) - size(sampleFree) - garbage) / float64(limit)
	}
	return c
}

// late is the ninth decile of the waits since the last look; 0 for too few.
func (m *machine) late(h *metrics.Float64Histogram) time.Duration {
	if m.seen == nil {
		m.seen = make([]uint64, len(h.Counts))
	}
	var all uint64
	for i, n := range h.Counts {
		m.seen[i], all = n-m.seen[i], all+n-m.seen[i]
	}
	late, left := time.Duration(0), all-all*9/10
	for i := len(m.seen) - 1; i >= 0 && all >= fewWaits; i-- {
		if m.seen[i] >= left {
			late = time.Duration(max(0, h.Buckets[i]) * float64(time.Second)) // the first bucket begins at -Inf
			break
		}
		left -= m.seen[i]
	}
	copy(m.seen, h.Counts)
	return late
}

// Watch looks after the machine until ctx ends: where it cannot keep up,
// requests are refused.
func (s *Server) Watch(ctx context.Context) {
	every := time.NewTicker(lookEvery)
	defer every.Stop()
	m := newMachine()
	var told telling
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-every.C:
			c := m.look()
			s.admission.adjust(c)
			if n, say := told.look(s.metrics.AllShed(), now); say {
				s.log.Warn("requests are refused: the gateway is overloaded", "refused", n, "in_flight",
					s.InFlight(), "late", c.late, "memory", c.memory)
			}
		}
	}
}

// telling decides when the log tells of refused requests: of the first at once,
// and then of their number, now and then.
type telling struct {
	last uint64
	at   time.Time
}

func (t *telling) look(shed uint64, now time.Time) (n uint64, say bool) {
	if shed == t.last || now.Sub(t.at) < sayEvery {
		return 0, false
	}
	n, t.last, t.at = shed-t.last, shed, now
	return n, true
}

// floor is how many requests in flight are never too many for this process.
func floor() int64 { return floorPerCPU * int64(runtime.GOMAXPROCS(0)) }
