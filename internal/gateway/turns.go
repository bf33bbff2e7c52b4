package gateway

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// largeBody is how many bytes of a body are so much work that it takes turns: what is
	// less takes no step longer than about 3 ms, however dense it is.
	largeBody = 64 << 10
	// turnWait is the longest that a request waits for its turn.
	turnWait = 10 * time.Second
)

// turns let accounts work in turn: on so many large things at once as leave a processor for
// what is small. Where more is to be done, the accounts that wait come one after the other,
// however much each has to do. What is small takes a turn, too, while much else that is small
// is under way: more than the processors are for.
type turns struct {
	small atomic.Int64 // steps under way without a turn
	most  int64        // how many of them there may be

	mu    sync.Mutex
	free  int
	by    map[string][]chan struct{} // account id; of its requests that wait, closed for their turn
	order []string                   // the accounts that wait, the next one first
}

// newTurns are the turns of a machine with so many processors.
func newTurns(processors int) *turns {
	return &turns{most: int64(processors), free: max(1, processors-1), by: map[string][]chan struct{}{}}
}

// begin begins a step on so many bytes without a turn, which is to be left; false where it is
// large, or there are too many.
func (t *turns) begin(size int) bool {
	if size >= largeBody {
		return false
	}
	if t.small.Add(1) <= t.most {
		return true
	}
	t.small.Add(-1)
	return false
}

// leave ends a small step.
func (t *turns) leave() { t.small.Add(-1) }

// take waits for a turn, which is to be ended; false where ctx has ended or turnWait is over.
func (t *turns) take(ctx context.Context, account string) bool {
	t.mu.Lock()
	if t.free > 0 {
		t.free--
		t.mu.Unlock()
		return true
	}
	own := make(chan struct{})
	if t.by[account] = append(t.by[account], own); len(t.by[account]) == 1 {
		t.order = append(t.order, account)
	}
	t.mu.Unlock()
	timer := time.NewTimer(turnWait)
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
