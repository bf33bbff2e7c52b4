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
	// largeBody is the size of bodies, in bytes, that need a turn: smaller ones take no step longer than about 1 ms,
	// however dense they are.
	largeBody = 32 << 10
	// largeRead is the size of stored data, in bytes, that needs a turn to be read from the database.
	largeRead = 64 << 10
	// elementWork is how many bytes of a body cost as much to read as one element costs to build and to write again. An
	// element is an object, an array, or a value after a comma.
	elementWork = 64
	// turnWait bounds the wait of a request for its turn, and departureWait the wait after its client has left.
	turnWait      = 10 * time.Second
	departureWait = time.Minute
	// departureTime bounds how long such a request keeps its turn.
	departureTime = 250 * time.Millisecond
	// departuresPerCPU is how many requests may end at a time, for each processor, after their clients have left:
	// together they are a few milliseconds of work.
	departuresPerCPU = 8
)

// treeWork returns the work of decoding and translating a body, in bytes.
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

// processor shares the time of the machine's processors. Small steps need no turn unless more of them run than there
// are processors. Large steps, small steps beyond that number, and departures of clients each have turns of their own.
type processor struct {
	underWay atomic.Int64 // small steps without a turn
	most     int64        // maximum of underWay

	small, large, departures *turns
}

// newProcessor returns a processor for so many CPUs: large steps leave one of them to small steps.
func newProcessor(processors int) *processor {
	return &processor{
		most: int64(processors), small: newTurns(1, turnWait), large: newTurns(max(1, processors-1), turnWait),
		departures: newTurns(departuresPerCPU*processors, departureWait),
	}
}

// begin begins a step of work bytes. It returns the turns that the step must take one of; nil means that it needs none
// and must call leave.
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

// turns lets a fixed number of steps run at once. When more wait, their accounts are served round-robin, however much
// work each has.
type turns struct {
	wait time.Duration // longest wait for a turn

	mu    sync.Mutex
	free  int
	by    map[string][]chan struct{} // waiting requests by account id, each closed when it gets its turn
	order []string                   // waiting accounts, the next one first
}

func newTurns(atOnce int, wait time.Duration) *turns {
	return &turns{wait: wait, free: atOnce, by: map[string][]chan struct{}{}}
}

// take waits for a turn, which the caller must end. It returns false when ctx has ended or the wait was too long.
// Within an account, requests that have begun come first, because they hold more memory.
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

// pass passes a turn to the first request of the next account.
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

// forget removes a waiting request, and reports whether it was waiting.
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
