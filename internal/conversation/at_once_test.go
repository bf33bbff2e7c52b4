package conversation_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/conversation"
	"weir/internal/seal"
)

// stuck is a store that returns no response until it is released.
type stuck struct {
	conversation.Store
	large, small atomic.Int64 // the requested ones
	let          chan struct{}
}

const largeResponse = 1 << 20

func (s *stuck) ResponseChain(_ context.Context, id string, _ int) ([]conversation.Link, error) {
	if id == seal.Digest(owner("a").Scope, "resp_large") {
		return []conversation.Link{{ID: "large", Size: largeResponse}}, nil
	}
	return []conversation.Link{{ID: "small", Size: 1000}}, nil
}

func (s *stuck) Response(_ context.Context, id string) ([]byte, error) {
	if id == "large" {
		s.large.Add(1)
	} else {
		s.small.Add(1)
	}
	<-s.let
	return nil, conversation.ErrNotFound
}

// TestReadAtOnce bounds the number of large conversations that are read at a time, so that the database has readers for
// others: small ones never wait for them.
func TestReadAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &stuck{let: make(chan struct{})}
		s := conversation.New(conversation.Options{Store: store, Now: time.Now, TTL: func() time.Duration { return time.Hour }})
		ask := func(id string) {
			_, _, _ = s.Expand(context.Background(), owner("a"), []byte(`{"previous_response_id":"`+id+`"}`), nil, unbounded())
		}
		for range 10 {
			go ask("resp_large")
		}
		synctest.Wait()
		for range 3 {
			go ask("resp_small")
		}
		synctest.Wait()
		if large, small := store.large.Load(), store.small.Load(); large != 2 || small != 3 {
			t.Errorf("%d large ones and %d small ones are read at once, want 2 and 3", large, small)
		}
		close(store.let)
		synctest.Wait()
		if large := store.large.Load(); large != 10 {
			t.Errorf("%d large ones were read in all, want 10", large)
		}
	})
}

// TestTurnsCoverLargeExpansions checks which parts of an expansion wait for a turn, and with which number of bytes.
func TestTurnsCoverLargeExpansions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.turn(`{"input":"`+strings.Repeat("x", largeResponse)+`"}`, answer("resp_1", says("msg_1", "First")))
	reads := &counting{Store: w.db.Kept}
	s := conversation.New(conversation.Options{Store: reads, Now: w.clock, TTL: func() time.Duration { return ttl }})
	within, most := 0, int64(0)
	capacity := unbounded()
	capacity.Turn = func(size int64, work func() error) error {
		before := reads.read
		err := work()
		within, most = within+reads.read-before, max(most, size)
		return err
	}
	for what, read := range map[string]func() error{
		"expand": func() error {
			_, _, err := s.Expand(t.Context(), owner("a"), []byte(`{"input":[{"id":"msg_1"}]}`), nil, capacity)
			return err
		},
		"get": func() error { _, err := s.Get(t.Context(), owner("a"), "resp_1", capacity); return err },
		"input items": func() error {
			_, err := s.InputItems(t.Context(), owner("a"), "resp_1", conversation.Page{Limit: 1}, capacity)
			return err
		},
	} {
		reads.read, within, most = 0, 0, 0
		if err := read(); err != nil || reads.read != 1 || within != 1 || most < largeResponse {
			t.Errorf("%s: %v; %d read, %d of them in a turn, of %d bytes; want one, of more than %d", what, err, reads.read, within, most, largeResponse)
		}
	}
}
