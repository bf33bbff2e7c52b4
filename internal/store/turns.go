package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"weir/internal/llm"
)

const (
	// reportsAtOnce is how many reports are read at once, each on a connection of its own pool:
	// those of read are for what requests need.
	reportsAtOnce = 2
	// mostWaiting is how many reports of one account wait for their turn, and turnWait for how long.
	mostWaiting = 16
	turnWait    = 10 * time.Second
)

// turns let accounts read reports in turn: reportsAtOnce in all, and of each account one, so that
// one that asks for much waits for itself.
type turns struct {
	mu      sync.Mutex
	reading map[string]bool            // account id; empty for what is of all accounts
	by      map[string][]chan struct{} // of its reads that wait, closed for their turn
	order   []string                   // the accounts that wait, the next one first
}

func newTurns() *turns {
	return &turns{reading: map[string]bool{}, by: map[string][]chan struct{}{}}
}

// errBusy refuses a report of an account that has asked for too many.
func errBusy() error {
	return &llm.Error{
		Code: llm.CodeRateLimited, RetryAfter: time.Second,
		Message: "Too many reports and lists of this account are being read. Wait until they are done, and ask for " +
			"fewer at a time.",
	}
}

// take waits for the account's turn, which is to be ended. The error is errBusy where too many
// wait or the turn does not come in time, and the cause of ctx where somebody has left.
func (t *turns) take(ctx context.Context, account string) error {
	t.mu.Lock()
	if len(t.by[account]) == mostWaiting {
		t.mu.Unlock()
		return errBusy()
	}
	own := make(chan struct{})
	if t.by[account] = append(t.by[account], own); len(t.by[account]) == 1 {
		t.order = append(t.order, account)
	}
	t.pass()
	t.mu.Unlock()
	wait, cancel := context.WithTimeout(ctx, turnWait)
	defer cancel()
	select {
	case <-own:
		return nil
	case <-wait.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.by[account], own); i >= 0 {
		t.remove(account, i)
	} else { // the turn came at the same moment
		t.end(account)
	}
	if errors.Is(wait.Err(), context.DeadlineExceeded) {
		return errBusy()
	}
	return context.Cause(ctx)
}

// leave ends a turn.
func (t *turns) leave(account string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end(account)
}

func (t *turns) end(account string) {
	delete(t.reading, account)
	t.pass()
}

// pass gives what turns there are to the accounts that come next and read nothing.
func (t *turns) pass() {
	for len(t.reading) < reportsAtOnce {
		i := slices.IndexFunc(t.order, func(account string) bool { return !t.reading[account] })
		if i < 0 {
			return
		}
		account := t.order[i]
		t.order = append(slices.Delete(t.order, i, i+1), account)
		t.reading[account] = true
		close(t.by[account][0])
		t.remove(account, 0)
	}
}

// remove takes a read out of those that wait.
func (t *turns) remove(account string, i int) {
	if t.by[account] = slices.Delete(t.by[account], i, i+1); len(t.by[account]) == 0 {
		delete(t.by, account)
		t.order = slices.DeleteFunc(t.order, func(other string) bool { return other == account })
	}
}

// report runs fn in the account's turn, in a transaction that sees the database as of one moment
// and changes nothing. An empty account is all accounts. Doing names the operation in errors.
func (s *conn) report(ctx context.Context, account, doing string, fn func(tx *sql.Tx) error) error {
	if err := s.turns.take(ctx, account); err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	defer s.turns.leave(account)
	return s.moment(ctx, s.reports, doing, fn)
}

// reportList is report of the rows of one query.
func reportList[T any](ctx context.Context, s *conn, account, doing string, scan func(scanner) (T, error),
	query string, args ...any,
) (list []T, err error) {
	err = s.report(ctx, account, doing, func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, query, args...)
		list, err = collect(rows, err, scan)
		return err
	})
	return list, err
}
