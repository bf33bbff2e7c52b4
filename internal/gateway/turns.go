package gateway

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// largeBody is how many bytes of a body are so much work that it takes turns: what is
	// less takes no step longer than about 1 ms, however dense it is.
	largeBody = 32 << 10
	// largeRead is likewise how many bytes of what is kept are, which the database reads.
	largeRead = 64 << 10
	// elementWork is how many bytes of a body are as much work to read as one element of it is
	// to build and to write again: an object, an array, or what a comma is before.
	elementWork = 64
	// turnWait is the longest that a request waits for its turn, and departureWait the longest
	// that one waits whose client has left.
	turnWait      = 10 * time.Second
	departureWait = time.Minute
	// departureTime is how long it has its turn then at most.
	departureTime = 250 * time.Millisecond
	// departuresPerCPU is how many requests whose clients have left end at a time, for each
	// processor: all of them together are a few milliseconds of work.
	departuresPerCPU = 8
)

// treeWork is how much work a body is to decode and to translate, in bytes.
func treeWork(body []byte) int {
	if len(body) >= largeBody {
		return len(body)
	}
	elements := 0
	for _, mark := range []byte(",{[") {
		elements += bytes.Count(body, []byte{mark})
	}
	return len(body) + elementWork*elements
}

// processor is the time of the machine's processors. What is small takes none of it in turns,
// but while much else that is small is under way: more than the processors are for. What is
// large, what is small then, and what a client has left each have turns of their own.
type processor struct {
	underWay atomic.Int64 // small steps without a turn
	most     int64        // how many of them there may be

	small, large, departures *turns
}

// newProcessor is that of a machine with so many processors: large steps leave one to the small.
func newProcessor(processors int) *processor {
	return &processor{
		most: int64(processors), small: newTurns(1, turnWait), large: newTurns(max(1, processors-1), turnWait),
		departures: newTurns(departuresPerCPU*processors, departureWait),
	}
}

// begin begins a step of so many bytes of work. It needs a turn of those that are returned;
// where these are nil it needs none, and is to be left.
func (p *processor) begin(work int) *turns {
	if work >= largeBody {
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

// turns let accounts work in turn, so many steps at once. Where more is to be done, the accounts
// that wait come one after the other, however much each has to do.
type turns struct {
	wait time.Duration // the longest for one

	mu    sync.Mutex
	free  int
	by    map[string][]chan struct{} // account id; of its requests that wait, closed for their turn
	order []string                   // the accounts that wait, the next one first
}

func newTurns(atOnce int, wait time.Duration) *turns {
	return &turns{wait: wait, free: atOnce, by: map[string][]chan struct{}{}}
}

// take waits for a turn, which is to be ended; false where ctx or the longest wait has ended.
// What has begun comes before what has not, of the same account: it holds more.
func (t *turns) take(ctx context.Context, account string, begun bool) bool {
	t.mu.Lock()
	if t.free > 0 {
		t.free--
		t.mu.Unlock()
		return true
	}
	own := make(chan struct{})
	waiting, last := t.by[account], len(t.by[account])
	if begun {
		last = 0
	}
	if t.by[account] = slices.Insert(waiting, last, own); len(waiting) == 0 {
		t.order = append(t.order, account)
	}
	t.mu.Unlock()
	timer := time.NewTimer(t.wait)
	defer timer.Stop()
	select {
	case <-own:
		return true
	case <-ctx.Done():
	case <-timer.C:
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.forget(account, own) { // the turn came at the same moment
		t.pass()
	}
	return false
}

// end ends a turn.
func (t *turns) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pass()
}

// pass gives a turn to the first request of the account that is next.
func (t *turns) pass() {
	if len(t.order) == 0 {
		t.free++
		return
	}
	account := t.order[0]
	t.order = t.order[1:]
	next := t.by[account][0]
	if t.by[account] = t.by[account][1:]; len(t.by[account]) > 0 {
		t.order = append(t.order, account)
	} else {
		delete(t.by, account)
	}
	close(next)
}

// forget takes a request away that waits, and reports whether it did.
func (t *turns) forget(account string, own chan struct{}) bool {
	i := slices.Index(t.by[account], own)
	if i < 0 {
		return false
	}
	if t.by[account] = slices.Delete(t.by[account], i, i+1); len(t.by[account]) == 0 {
		delete(t.by, account)
		t.order = slices.DeleteFunc(t.order, func(other string) bool { return other == account })
	}
	return true
}
