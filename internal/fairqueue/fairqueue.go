// Package fairqueue lets accounts run work in turn: a fixed number of steps runs at once, and when more wait, their
// accounts are served round-robin, however much work each of them has.
package fairqueue

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

var (
	// ErrFull is returned to an account that already waits with as many steps as it may.
	ErrFull = errors.New("fairqueue: too many steps of the account are waiting")
	// ErrLate is returned to a step that did not get its turn within Options.Wait.
	ErrLate = errors.New("fairqueue: no turn within the longest wait")
)

// Options configures a Queue. All fields except PerAccount and MostWaiting are required.
type Options struct {
	AtOnce      int           // steps that run at once
	PerAccount  int           // steps of one account that run at once; 0 means AtOnce
	MostWaiting int           // steps of one account that wait; 0 means no bound
	Wait        time.Duration // longest wait for a turn
}

// Queue hands out turns. Its methods may be called concurrently.
type Queue struct {
	options Options

	mu      sync.Mutex
	free    int                        // turns that nobody has
	running map[string]int             // turns by account
	waiting map[string][]chan struct{} // waiting steps by account, each closed when it gets its turn
	order   []string                   // accounts that wait, the next one first
}

// New returns a queue without any steps.
func New(o Options) *Queue {
	if o.PerAccount == 0 {
		o.PerAccount = o.AtOnce
	}
	return &Queue{options: o, free: o.AtOnce, running: map[string]int{}, waiting: map[string][]chan struct{}{}}
}

// Enter waits for a turn of the account. The caller must call Leave after a nil error. The error is ErrFull, ErrLate or
// the cause of ctx. A step with first set comes before the other waiting steps of its account.
func (q *Queue) Enter(ctx context.Context, account string, first bool) error {
	q.mu.Lock()
	waiting := q.waiting[account]
	switch {
	case len(waiting) == 0 && q.mayRun(account):
		q.run(account)
		q.mu.Unlock()
		return nil
	case q.options.MostWaiting > 0 && len(waiting) >= q.options.MostWaiting:
		q.mu.Unlock()
		return ErrFull
	case len(waiting) == 0:
		q.order = append(q.order, account)
	}
	turn, at := make(chan struct{}), len(waiting)
	if first {
		at = 0
	}
	q.waiting[account] = slices.Insert(waiting, at, turn)
	q.mu.Unlock()
	return q.await(ctx, account, turn)
}

// await waits until turn is closed, and removes the step if ctx or the longest wait ends before.
func (q *Queue) await(ctx context.Context, account string, turn chan struct{}) error {
	late := time.NewTimer(q.options.Wait)
	defer late.Stop()
	err := ErrLate
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-late.C:
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if at := slices.Index(q.waiting[account], turn); at >= 0 {
		q.remove(account, at)
	} else { // the step got its turn at the same moment
		q.end(account)
	}
	return err
}

// Leave ends a turn of the account.
func (q *Queue) Leave(account string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.end(account)
}

func (q *Queue) mayRun(account string) bool {
	return q.free > 0 && q.running[account] < q.options.PerAccount
}

// run counts a turn of the account.
func (q *Queue) run(account string) {
	q.free--
	q.running[account]++
}

// end frees a turn of the account and passes free turns on.
func (q *Queue) end(account string) {
	q.free++
	if q.running[account]--; q.running[account] == 0 {
		delete(q.running, account)
	}
	for {
		at := slices.IndexFunc(q.order, q.mayRun)
		if at < 0 {
			return
		}
		next := q.order[at]
		q.order = append(slices.Delete(q.order, at, at+1), next) // served accounts go to the end
		q.run(next)
		close(q.waiting[next][0])
		q.remove(next, 0)
	}
}

// remove removes a waiting step of the account.
func (q *Queue) remove(account string, at int) {
	if q.waiting[account] = slices.Delete(q.waiting[account], at, at+1); len(q.waiting[account]) == 0 {
		delete(q.waiting, account)
		q.order = slices.DeleteFunc(q.order, func(other string) bool { return other == account })
	}
}

// Waiting returns how many steps of the account wait.
func (q *Queue) Waiting(account string) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting[account])
}

// Idle reports whether no step runs or waits.
func (q *Queue) Idle() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.free == q.options.AtOnce && len(q.running) == 0 && len(q.waiting) == 0 && len(q.order) == 0
}
