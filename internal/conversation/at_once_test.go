package conversation_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/conversation"
)

// stuck is a store that answers nobody until it is let go.
type stuck struct {
	conversation.Store
	asked atomic.Int64
	let   chan struct{}
}

func (s *stuck) Response(context.Context, string) ([]byte, error) {
	s.asked.Add(1)
	<-s.let
	return nil, conversation.ErrNotFound
}

// TestReadAtOnce bounds how many responses are in memory to be read: each can
// have the bytes of a large request.
func TestReadAtOnce(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]func(*conversation.Service) error{
		"get": func(s *conversation.Service) error {
			_, err := s.Get(context.Background(), owner("a"), "resp_1")
			return err
		},
		"cancel": func(s *conversation.Service) error {
			return s.Cancel(context.Background(), owner("a"), "resp_1")
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := &stuck{let: make(chan struct{})}
			s := conversation.New(conversation.Options{Store: store, Now: time.Now, TTL: time.Hour})
			for range 10 {
				go func() { _ = read(s) }()
			}
			synctest.Wait()
			if got := store.asked.Load(); got != 4 {
				t.Errorf("%s: %d are read at once, want 4", name, got)
			}
			close(store.let)
			synctest.Wait()
			if got := store.asked.Load(); got != 10 {
				t.Errorf("%s: %d were read in all, want 10", name, got)
			}
		})
	}
}
