package api

import (
	"context"
	"sync"
	"time"

	"weir/internal/llm"
)

const (
	// listsAtOnce is how many lists of models an account has at once, from when they are made
	// until the client has them, mostListsWaiting how many more wait, and listWait for how long.
	listsAtOnce      = 8
	mostListsWaiting = 32
	listWait         = 5 * time.Second
)

// shares let each account have a few lists at once.
type shares struct {
	mu sync.Mutex
	of map[string]*share // account id
}

type share struct {
	places chan struct{}
	asking int // that have a place, or wait for one
}

func newShares() *shares { return &shares{of: map[string]*share{}} }

// take waits for a place, which is to be left. The error is a *llm.Error with CodeRateLimited
// where too many wait, or none is left in time.
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

// ask is the account's share, or nil where too many wait.
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
		Message: "Too many lists of models of this account are being read. Read the list once and keep it for a " +
			"while.",
	}
}
