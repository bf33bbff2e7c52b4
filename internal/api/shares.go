package api

import (
	"context"
	"sync"
	"time"

	"weir/internal/llm"
)

const (
	// listsAtOnce bounds the lists of models that an account has at once, from their creation until the client has
	// received them; mostListsWaiting bounds the waiting requests, and listWait their wait.
	listsAtOnce      = 8
	mostListsWaiting = 32
	listWait         = 5 * time.Second
)

// shares bounds the lists that each account has at once.
type shares struct {
	mu sync.Mutex
	of map[string]*share // account id
}

type share struct {
	places chan struct{}
	asking int // number of requests that have a place or wait for one
}

func newShares() *shares { return &shares{of: map[string]*share{}} }

// take waits for a place and returns the function that leaves it. The error is a *llm.Error with CodeRateLimited if
// too many requests wait, or if no place becomes free in time.
func (s *shares) take(ctx context.Context, account string) (leave func(), err error) {
	own := s.ask(account)
	if own == nil {
		return nil, errTooManyLists()
	}
	timer := time.NewTimer(listWait)
	defer timer.Stop()
	select {
	case own.places <- struct{}{}:
		return func() {
			<-own.places
			s.forget(account)
		}, nil
	case <-timer.C:
		err = errTooManyLists()
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	s.forget(account)
	return nil, err
}

// ask returns the account's share, or nil if too many requests wait.
func (s *shares) ask(account string) *share {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.of[account]
	if own == nil {
		own = &share{places: make(chan struct{}, listsAtOnce)}
		s.of[account] = own
	}
	if own.asking == listsAtOnce+mostListsWaiting {
		return nil
	}
	own.asking++
	return own
}

func (s *shares) forget(account string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.of[account]
	if own.asking--; own.asking == 0 {
		delete(s.of, account)
	}
}

func errTooManyLists() error {
	return &llm.Error{
		Code: llm.CodeRateLimited, RetryAfter: time.Second,
		Message: "This account is reading too many lists of models at once. Read the list once and cache it.",
	}
}
