package conversation_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"weir/internal/conversation"
)

// counting is a store that counts the reads of stored texts.
type counting struct {
	conversation.Store
	read int
}

func (c *counting) Response(ctx context.Context, id string) ([]byte, error) {
	c.read++
	return c.Store.Response(ctx, id)
}

// TestCapacityBeforeReading checks that no stored response is read before there is capacity for all of it.
func TestCapacityBeforeReading(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	long := strings.Repeat("x", 1<<20)
	w.turn(`{"input":"`+long+`"}`, answer("resp_1", says("msg_1", "First")))
	store := &counting{Store: w.db.Kept}
	s := conversation.New(conversation.Options{Store: store, Now: w.clock, TTL: func() time.Duration { return ttl }})
	full := errors.New("full")
	for _, body := range []string{
		`{"previous_response_id":"resp_1"}`,
		`{"input":[{"id":"msg_1"}]}`,
		`{"input":[{"id":"msg_1"},{"id":"msg_1"}],"previous_response_id":"resp_1"}`,
	} {
		store.read = 0
		asked := int64(0)
		_, _, err := s.Expand(t.Context(), owner("a"), []byte(body), nil, reserving(func(n int64) error { asked += n; return full }))
		if !errors.Is(err, full) || store.read != 0 || asked < 1<<20 {
			t.Errorf("%s: %v, %d bytes requested, %d read; want a refusal before any read", body, err, asked, store.read)
		}
	}
}
