package websocket_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"weir/internal/must"
	"weir/internal/websocket"
)

// ending is the end that a WebSocket was told.
type ending struct {
	why websocket.Reason
	err error
}

// looked starts a server whose WebSockets are looked after, and returns what they are told. A WebSocket receives until
// it is lost.
func looked(t *testing.T, timing websocket.Timing, valid func(context.Context) error) (open *websocket.Open, address string, told chan ending, ends chan error) {
	t.Helper()
	timing.Look = time.Millisecond
	open, told, ends = websocket.NewOpen(timing), make(chan ending, 100), make(chan error, 10)
	address = handled(t, func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, usual())
		if err != nil {
			return
		}
		watched := &websocket.Watched{
			Conn: c, Valid: valid, End: func(why websocket.Reason, err error) { told <- ending{why, err} },
		}
		open.Add(watched)
		defer open.Remove(watched)
		_, _, err = c.Receive(nil)
		ends <- err
	})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { open.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return open, address, told, ends
}

func valid(context.Context) error { return nil }

func TestOldAndInvalidWebSocketsAreToldOnce(t *testing.T) {
	t.Parallel()
	revoked := errors.New("revoked")
	for name, tc := range map[string]struct {
		timing websocket.Timing
		valid  func(context.Context) error
		want   ending
	}{
		"old":     {websocket.Timing{Life: time.Millisecond}, valid, ending{websocket.Expired, nil}},
		"invalid": {websocket.Timing{}, func(context.Context) error { return revoked }, ending{websocket.Invalid, revoked}},
	} {
		open, address, told, ends := looked(t, tc.timing, tc.valid)
		c := dialled(t, address)
		if got := <-told; got != tc.want {
			t.Errorf("%s: got %v, want %v", name, got, tc.want)
		}
		open.Retire()
		if got := <-told; got != (ending{websocket.Stopping, nil}) { // and not the first one again
			t.Errorf("%s, then the gateway stops: got %v", name, got)
		}
		c.Close(websocket.Normal, "")
		<-ends
	}
}

// TestLaterWebSocketsOfStoppingGatewayEnd checks that a WebSocket that is opened while the gateway stops is told so.
func TestLaterWebSocketsOfStoppingGatewayEnd(t *testing.T) {
	t.Parallel()
	open, address, told, ends := looked(t, websocket.Timing{}, valid)
	open.Stop()
	c := dialled(t, address)
	if got := <-told; got.why != websocket.Stopping {
		t.Errorf("got %v, want that the gateway stops", got)
	}
	c.Close(websocket.Normal, "")
	<-ends
}

// TestPingsEndDeadClients checks that a client that does not answer pings loses its connection, and that another one is
// left alone.
func TestPingsEndDeadClients(t *testing.T) {
	t.Parallel()
	open, address, told, ends := looked(t, websocket.Timing{Ping: 5 * time.Millisecond, Pong: 10 * time.Second}, valid)
	alive := dialled(t, address)
	received := make(chan struct{})
	go func() {
		defer close(received)
		_, _, _ = alive.Receive(nil) // answers pings
	}()
	for range 5 { // it has answered some
		must.Do(t, alive.Ping(t.Context()))
	}
	if open.Len() != 1 || len(told) > 0 || len(ends) > 0 {
		t.Errorf("after pings: got %d WebSockets, %d ended, %d told, want one", open.Len(), len(ends), len(told))
	}
	alive.Close(websocket.Normal, "")
	<-ends
	<-received

	_, address, _, ends = looked(t, websocket.Timing{Ping: time.Millisecond, Pong: 5 * time.Millisecond}, valid)
	upgraded(t, address, "") // reads nothing
	if err := <-ends; err == nil {
		t.Error("a dead client: got no end")
	}
}
