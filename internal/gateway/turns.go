package gateway

import (
	"context"
	"slices"
	"sync"
	"time"

	"weir/internal/telemetry"
)

const (
	// largeBody is how many bytes of a body are so much work that it takes turns: what is
	// less takes no step longer than about 3 ms, however dense it is.
	largeBody = 64 << 10
	// turnWait is the longest that a request waits for its turn.
	turnWait = 10 * time.Second
)

// turns let accounts work in turn: each on one thing at a time, and all together on so many
// as leave a processor for what is small. Who has had its turn comes after all that wait.
type turns struct {
	mu    sync.Mutex
	free  int
	by    map[string][]chan struct{} // account id; of those that work or wait, closed for their turn
	order []string                   // accounts that wait and have no turn
}

func newTurns(atOnce int) *turns {
	return &turns{free: max(1, atOnce), by: map[string][]chan struct{}{}}
}

// take waits for the account's turn, which is to be ended; false where ctx has ended or
// turnWait is over.
func (t *turns) take(ctx context.Context, account string) bool {
	own := make(chan struct{})
	t.mu.Lock()
	if t.by[account] = append(t.by[account], own); len(t.by[account]) == 1 {
		t.order = append(t.order, account)
	}
	t.next()
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
	select {
	case <-own: // the turn came at the same moment
		t.pass(account)
	default:
		i := slices.Index(t.by[account], own)
		t.by[account] = slices.Delete(t.by[account], i, i+1)
		t.forget(account)
	}
	return false
}

// end ends the account's turn.
func (t *turns) end(account string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pass(account)
}

func (t *turns) pass(account string) {
	t.free++
	t.by[account] = t.by[account][1:]
	if !t.forget(account) {
		t.order = append(t.order, account)
	}
	t.next()
}

// forget reports whether nobody of the account is left.
func (t *turns) forget(account string) bool {
	if len(t.by[account]) > 0 {
		return false
	}
	delete(t.by, account)
	t.order = slices.DeleteFunc(t.order, func(other string) bool { return other == account })
	return true
}

// next gives turns to those who have waited longest.
func (t *turns) next() {
	for ; t.free > 0 && len(t.order) > 0; t.free-- {
		close(t.by[t.order[0]][0])
		t.order = t.order[1:]
	}
}

// inTurn does work on the body, in a turn of the account where that is large. What a client
// has left behind is not begun.
func (c *call) inTurn(work func() error) error {
	if len(c.body) < largeBody {
		return work()
	}
	ctx := c.r.Context()
	if !c.server.turns.take(ctx, c.account) {
		if ctx.Err() != nil {
			return errGone
		}
		return c.shed(telemetry.CPU)
	}
	defer c.server.turns.end(c.account)
	if err := c.left(); err != nil {
		return err
	}
	return work()
}
