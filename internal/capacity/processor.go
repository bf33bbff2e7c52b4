package capacity

import (
	"bytes"
	"sync/atomic"
	"time"

	"weir/internal/fairqueue"
)

const (
	// LargeBody is the size of bodies, in bytes, that need a turn: smaller ones take no step longer than about 1 ms,
	// however dense they are.
	LargeBody = 32 << 10
	// largeRead is the size of stored data, in bytes, that needs a turn to be read from the database.
	largeRead = 64 << 10
	// elementWork is how many bytes of a body cost as much to read as one element costs to build and to write again. An
	// element is an object, an array, or a value after a comma.
	elementWork = 64
	// turnWait bounds the wait of a request for its turn, and departureWait the wait after its client has left.
	turnWait      = 10 * time.Second
	departureWait = time.Minute
	// departuresPerCPU is how many requests may end at a time, for each processor, after their clients have left:
	// together they are a few milliseconds of work.
	departuresPerCPU = 8
)

// TreeWork returns the work of decoding and translating a body, in bytes.
func TreeWork(body []byte) int {
	if len(body) >= LargeBody {
		return len(body)
	}
	elements := 0
	for _, mark := range []byte(",{[") {
		elements += bytes.Count(body, []byte{mark})
	}
	return len(body) + elementWork*elements
}

// processor shares the time of the machine's processors. Small steps need no turn unless more of them run than there
// are processors. Large steps, small steps beyond that number, and departures of clients each have a queue of their
// own.
type processor struct {
	underWay atomic.Int64 // small steps without a turn
	most     int64        // maximum of underWay

	small, large, departures *fairqueue.Queue
}

// newProcessor returns a processor for so many CPUs: large steps leave one of them to small steps.
func newProcessor(processors int) *processor {
	return &processor{
		most:       int64(processors),
		small:      fairqueue.New(fairqueue.Options{AtOnce: 1, Wait: turnWait}),
		large:      fairqueue.New(fairqueue.Options{AtOnce: max(1, processors-1), Wait: turnWait}),
		departures: fairqueue.New(fairqueue.Options{AtOnce: departuresPerCPU * processors, Wait: departureWait}),
	}
}

// begin begins a step of work bytes. It returns the queue that the step must enter; nil means that it needs no turn and
// must call leave.
func (p *processor) begin(work int) *fairqueue.Queue {
	if work >= LargeBody {
		return p.large
	}
	if p.underWay.Add(1) <= p.most {
		return nil
	}
	p.underWay.Add(-1)
	return p.small
}

// leave ends a step without a turn.
func (p *processor) leave() { p.underWay.Add(-1) }
