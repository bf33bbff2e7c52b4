package capacity

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"weir/internal/telemetry"
)

const (
	// lookEvery is how often the machine's condition is measured.
	lookEvery = 100 * time.Millisecond
	// lateLimit is the scheduling delay, at the 90th percentile of goroutines, that counts as overload. Below half of
	// it, the process counts as healthy.
	lateLimit = 10 * time.Millisecond
	// strainUp is added when a measurement equals the limit, and up to maxUp when it exceeds it; strainDown is
	// subtracted when the process is healthy. Recovery from the worst level takes less than four seconds.
	strainUp   = 0.05
	maxUp      = 0.2
	strainDown = 0.05
	maxStrain  = 1.9
	// floorPerCPU is how many requests in flight per processor never cause an overload: together they are less work
	// than lateLimit, so the process waits for something else, and refusals would not help.
	floorPerCPU = 128
	// fewWaits is the least number of samples for a measurement.
	fewWaits = 20
	// sayEvery is the shortest time between two log lines about refused requests.
	sayEvery = 10 * time.Second
)

// strain measures overload. 0 is none; up to 1 it is the share of batch requests that are refused; the excess over 1 is
// the share of other streams that are refused. It rises quickly, falls slowly, and stays unchanged between half the
// limit and the limit, so that it does not oscillate.
type strain struct {
	level float64
	floor int64 // requests in flight below which no request is refused
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

// share returns the share of requests of the priority that are refused, from 0 to 1.
func (s *strain) share(p telemetry.Priority) float64 {
	if p == telemetry.Batch {
		return min(s.level, 1)
	}
	return max(s.level-1, 0)
}

// memoryLevel says which requests may still take memory.
type memoryLevel uint8

const (
	memoryAmple memoryLevel = iota
	memoryTight             // no batch requests and no new streams
	memoryFull              // no requests
)

// The levels begin at these shares of GOMEMLIMIT.
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

// condition is the machine's measured state.
type condition struct {
	late   time.Duration // 90th percentile of the time that goroutines waited for a processor
	memory float64       // memory in use, as a share of GOMEMLIMIT; 0 without a limit
}

// machine measures the condition by the Go runtime's metrics (https://pkg.go.dev/runtime/metrics).
type machine struct {
	samples []metrics.Sample
	seen    []uint64 // counts of the last measurement
}

// Indexes of machine's samples.
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

// late returns the 90th percentile of the waits since the last measurement; 0 if there are too few.
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

// summary decides when refused requests are logged: the first at once, and their number at most every sayEvery after
// that.
type summary struct {
	last uint64
	at   time.Time
}

func (t *summary) due(shed uint64, now time.Time) (n uint64, due bool) {
	if shed == t.last || now.Sub(t.at) < sayEvery {
		return 0, false
	}
	n, t.last, t.at = shed-t.last, shed, now
	return n, true
}

// floor returns how many requests in flight never overload this process.
func floor() int64 { return floorPerCPU * int64(runtime.GOMAXPROCS(0)) }
