package websocket_test

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	peer "github.com/coder/websocket"

	"weir/internal/must"
	"weir/internal/websocket"
)

// lengths are those around which a frame's head changes, and messages longer than every buffer.
func lengths() []int { return []int{0, 1, 3, 125, 126, 4095, 4096, 1<<16 - 1, 1 << 16, 300_001} }

// content returns bytes that repeat in no buffer's length.
func content(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i%251) + byte(i>>12)
	}
	return b
}

// TestMessagesAgreeWithOtherImplementation checks that another implementation, as client and as server, understands all
// lengths of messages, in one frame and in several, and the end.
func TestMessagesAgreeWithOtherImplementation(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	address, ends := echoing(t, usual())
	c, _, err := peer.Dial(ctx, "ws://"+address+"/", &peer.DialOptions{Subprotocols: []string{"other", "echo"}})
	must.Do(t, err)
	defer func() { _ = c.CloseNow() }()
	c.SetReadLimit(-1)
	for _, n := range lengths() {
		for _, pieces := range []int{1, 3} {
			w := must.Get(c.Writer(ctx, peer.MessageBinary))(t)
			for i := range pieces {
				must.Get(w.Write(content(n)[i*n/pieces : (i+1)*n/pieces]))(t)
			}
			must.Do(t, w.Close())
			if kind, got, err := c.Read(ctx); kind != peer.MessageBinary || !bytes.Equal(got, content(n)) || err != nil {
				t.Errorf("%d bytes in %d frames: got %v, %d bytes, %v", n, pieces, kind, len(got), err)
			}
		}
	}
	must.Do(t, c.Close(peer.StatusGoingAway, "done"))
	if got := websocket.CodeOf(<-ends); got != websocket.GoingAway {
		t.Errorf("end by the client: got the code %d, want 1001", got)
	}

	left := make(chan error, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s, err := peer.Accept(w, r, nil)
		if err != nil {
			left <- err
			return
		}
		s.SetReadLimit(-1)
		for err == nil {
			var kind peer.MessageType
			var got []byte
			if kind, got, err = s.Read(ctx); err == nil {
				err = s.Write(ctx, kind, got)
			}
		}
		left <- err
	}))
	defer server.Close()
	conn := must.Get(net.Dial("tcp", server.Listener.Addr().String()))(t)
	ours, _, err := websocket.Dial(ctx, conn, server.URL, nil, usual())
	must.Do(t, err)
	for _, n := range lengths() {
		must.Do(t, ours.Send(websocket.Text, content(n)))
		if kind, got, err := ours.Receive(nil); kind != websocket.Text || !bytes.Equal(got, content(n)) || err != nil {
			t.Errorf("%d bytes to a server: got %v, %d bytes, %v", n, kind, len(got), err)
		}
	}
	ours.Close(websocket.Normal, "")
	if got := peer.CloseStatus(<-left); got != peer.StatusNormalClosure {
		t.Errorf("end by us: got the code %d, want 1000", got)
	}
}
