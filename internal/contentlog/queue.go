package contentlog

import (
	"slices"
	"sync"
	"sync/atomic"
)

// queue holds the captures of all accounts: it bounds their memory, and returns those that have ended in turn, one of
// each account.
//
// An account may hold as much memory as is free for others. So one account alone gets a half, and a flood of one leaves
// memory to the next. Waiting captures are bounded by their memory.
type queue struct {
	room  atomic.Int64  // bytes of memory of all accounts
	added chan struct{} // has a value after a capture was added

	mu       sync.Mutex
	accounts map[string]*share // accounts with captures
	order    []*share          // accounts with waiting captures, the next one first
}

// share is an account's part of the queue.
type share struct {
	account  string
	room     atomic.Int64 // bytes
	captures int          // running and waiting; guarded by the queue's lock, as the others
	waiting  []*Capture
}

func newQueue() *queue {
	return &queue{added: make(chan struct{}, 1), accounts: map[string]*share{}}
}

// enter returns the share of an account for another capture. It must be left.
func (q *queue) enter(account string) *share {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.accounts[account]
	if s == nil {
		s = &share{account: account}
		q.accounts[account] = s
	}
	s.captures++
	return s
}

// leave returns n bytes of a capture's memory, which has ended.
func (q *queue) leave(s *share, n int64) {
	q.give(s, n)
	q.mu.Lock()
	defer q.mu.Unlock()
	if s.captures--; s.captures == 0 {
		delete(q.accounts, s.account)
	}
}

// take takes n bytes of memory for an account; false if there is no room.
func (q *queue) take(s *share, n int64) bool {
	if own, all := s.room.Add(n), q.room.Add(n); own > mostRoom-all {
		q.give(s, n)
		return false
	}
	return true
}

func (q *queue) give(s *share, n int64) {
	s.room.Add(-n)
	q.room.Add(-n)
}

// put adds a capture that has ended.
func (q *queue) put(c *Capture) {
	q.mu.Lock()
	s := c.share
	if len(s.waiting) == 0 {
		q.order = append(q.order, s)
	}
	s.waiting = append(s.waiting, c)
	q.mu.Unlock()
	q.wake()
}

// wake makes added readable.
func (q *queue) wake() {
	select {
	case q.added <- struct{}{}:
	default:
	}
}

// next returns the next capture; nil for none.
func (q *queue) next() *Capture {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.order) == 0 {
		return nil
	}
	s := q.order[0]
	q.order = slices.Delete(q.order, 0, 1)
	c := s.waiting[0]
	s.waiting[0] = nil // the slice keeps its memory
	if s.waiting = s.waiting[1:]; len(s.waiting) > 0 {
		q.order = append(q.order, s) // served accounts go to the end
	}
	return c
}
