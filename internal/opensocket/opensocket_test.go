package opensocket_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/opensocket"
	"weir/internal/websocket"
)

// shelf is a store that fails when it is told to.
type shelf struct {
	rows   map[uuid.UUID]websocket.State
	writes int
	ending []uuid.UUID
	err    error
}

func (s *shelf) ReportSockets(_ context.Context, c *opensocket.Changes) ([]uuid.UUID, error) {
	s.writes++
	if s.err != nil {
		return nil, s.err
	}
	if c.All {
		clear(s.rows)
	}
	for _, id := range c.Gone {
		delete(s.rows, id)
	}
	for _, d := range c.Open {
		s.rows[d.ID] = d.State
	}
	return s.ending, nil
}

// TestReportsFollowOpenWebSockets checks that the store gets each change, all again after a failure, the ends, and that
// it gets nothing while nothing is open.
func TestReportsFollowOpenWebSockets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		open, store := websocket.NewOpen(websocket.Timing{}), &shelf{rows: map[uuid.UUID]websocket.State{}}
		r := opensocket.NewReporter(opensocket.Options{
			Open: open, Store: store, Every: opensocket.Every, Log: slog.New(slog.DiscardHandler),
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); r.Run(ctx) }()
		next := func() { time.Sleep(opensocket.Every); synctest.Wait() }
		next()
		next()
		must.Equal(t, store.writes, 1, "reports without WebSockets")

		state, told := websocket.State{Account: "a"}, error(nil)
		w := &websocket.Watched{
			ID: must.Get(uuid.NewV7())(t), State: func() websocket.State { return state },
			End: func(_ websocket.Reason, err error) { told = err },
		}
		open.Add(w)
		next()
		must.Equal(t, store.rows[w.ID], state, "a new one")
		state.Charge = 7
		store.err = errors.New("away")
		next()
		store.err = nil
		clear(store.rows) // it went back in time
		next()
		must.Equal(t, store.rows[w.ID], state, "after a failure")
		store.ending = []uuid.UUID{w.ID}
		next()
		if llm.AsError(told).Code != llm.CodeForbidden {
			t.Errorf("the WebSocket was told %v, want that it was ended", told)
		}
		open.Remove(w)
		next()
		must.Equal(t, len(store.rows), 0, "rows after its end")
		open.Add(w)
		next()
		stop()
		<-ended
		must.Equal(t, len(store.rows), 0, "rows after the node has stopped")
	})
}

// TestBusyWebSocketsHideNoOthers checks that WebSockets are reported although many older ones change between any two
// reports, and that an end of one that is gone is reported as such.
func TestBusyWebSocketsHideNoOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		open, store := websocket.NewOpen(websocket.Timing{}), &shelf{rows: map[uuid.UUID]websocket.State{}}
		r := opensocket.NewReporter(opensocket.Options{
			Open: open, Store: store, Every: opensocket.Every, Log: slog.New(slog.DiscardHandler),
		})
		go r.Run(t.Context())
		var last *websocket.Watched
		for i := range 1100 {
			state := websocket.State{Account: "busy"}
			last = &websocket.Watched{ID: must.Get(uuid.NewV7())(t), State: func() websocket.State {
				if i < 1099 {
					state.Requests++
				}
				return state
			}, End: func(websocket.Reason, error) {}}
			open.Add(last)
		}
		time.Sleep(4 * opensocket.Every)
		synctest.Wait()
		if _, ok := store.rows[last.ID]; !ok {
			t.Errorf("the youngest of 1,100 is not among the %d that are reported", len(store.rows))
		}
		gone := must.Get(uuid.NewV7())(t)
		store.rows[gone], store.ending = websocket.State{}, []uuid.UUID{gone}
		time.Sleep(2 * opensocket.Every)
		synctest.Wait()
		if _, ok := store.rows[gone]; ok {
			t.Error("an ended WebSocket that is gone is still in the store")
		}
	})
}
