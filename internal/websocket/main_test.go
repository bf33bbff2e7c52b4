package websocket_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"weir/internal/httpserver"
	"weir/internal/must"
	"weir/internal/websocket"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is longer than any step of these tests: reaching it means that it hangs.
const patience = 30 * time.Second

// usual are bounds that no test of ordinary messages reaches.
func usual() websocket.Bounds {
	return websocket.Bounds{Message: 1 << 20, Read: patience, Write: patience}
}

// handled starts the HTTP server of the gateway, and returns its address.
func handled(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	return served(t, httpserver.Options{Handler: h})
}

// served starts the HTTP server of the gateway with a handler and perhaps TLS, and returns its address.
func served(t *testing.T, o httpserver.Options) string {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	o.Most, o.MaxHead, o.HeadTime, o.IdleTime = 100, 32<<10, patience, patience
	s := httpserver.New(o)
	var running sync.WaitGroup
	running.Go(func() { _ = s.Serve(l) })
	t.Cleanup(func() {
		_ = s.Close()
		running.Wait()
	})
	return l.Addr().String()
}

// echoing starts a server that sends every message back, and reports how each WebSocket ended.
func echoing(t *testing.T, b websocket.Bounds) (address string, ends chan error) {
	t.Helper()
	ends = make(chan error, 10)
	return handled(t, func(w http.ResponseWriter, r *http.Request) {
		if err := websocket.Check(r); err != nil {
			websocket.AskUpgrade(w.Header())
			http.Error(w, err.Error(), http.StatusUpgradeRequired)
			return
		}
		ends <- echo(w, r, b)
	}), ends
}

// echo accepts a WebSocket, sends every message back, and returns its end.
func echo(w http.ResponseWriter, r *http.Request, b websocket.Bounds) error {
	c, err := websocket.Accept(w, r, b, "echo")
	for err == nil {
		var kind websocket.Kind
		var text []byte
		if kind, text, err = c.Receive(nil); err == nil {
			err = c.Send(kind, text)
		}
	}
	return err
}

// dialled opens a WebSocket as a provider's.
func dialled(t *testing.T, address string, protocols ...string) *websocket.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn := must.Get(net.Dial("tcp", address))(t)
	c, _, err := websocket.Dial(ctx, conn, "http://"+address+"/", nil, usual(), protocols...)
	must.Do(t, err)
	t.Cleanup(c.Abort)
	return c
}

// echoes checks that a message comes back.
func echoes(t *testing.T, c *websocket.Conn, text string) {
	t.Helper()
	must.Do(t, c.Send(websocket.Text, []byte(text)))
	if kind, got, err := c.Receive(nil); kind != websocket.Text || string(got) != text || err != nil {
		t.Errorf("a message of %d bytes: got %v, %d bytes, %v", len(text), kind, len(got), err)
	}
}

const handshake = "GET / HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n" +
	"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"

// raw is a client that sends any bytes.
type raw struct {
	net.Conn
	in *bufio.Reader
}

// upgraded opens a WebSocket by hand, with further header lines, and returns the answer to the handshake.
func upgraded(t *testing.T, address, further string) (*raw, *http.Response) {
	t.Helper()
	c := must.Get(net.Dial("tcp", address))(t)
	t.Cleanup(func() { _ = c.Close() })
	must.Do(t, c.SetDeadline(time.Now().Add(patience)))
	must.Get(io.WriteString(c, handshake+further+"\r\n"))(t)
	in := bufio.NewReader(c)
	res := must.Get(http.ReadResponse(in, nil))(t)
	if res.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("handshake: got %s, want 101", res.Status)
	}
	return &raw{c, in}, res
}

// frame returns a masked frame, whose mask is zero. First is its first byte.
func frame(first byte, content []byte) []byte {
	b := []byte{first, 0x80}
	switch n := len(content); {
	case n < 126:
		b[1] |= byte(n)
	case n < 1<<16:
		b[1] |= 126
		b = binary.BigEndian.AppendUint16(b, uint16(n))
	default:
		b[1] |= 127
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	return append(append(b, 0, 0, 0, 0), content...)
}

// First bytes of frames (RFC 6455, section 5.2).
const (
	continued = 0x00
	begun     = 0x01 // a text that continues
	text      = 0x81
	closed    = 0x88
	ping      = 0x89
)

// code reads frames until a close frame, and returns its code; 0 if the connection ends without one.
func (c *raw) code() int {
	for {
		var head [2]byte
		if _, err := io.ReadFull(c.in, head[:]); err != nil {
			return 0
		}
		n := int64(head[1] & 0x7f)
		switch n {
		case 126:
			var long [2]byte
			_, _ = io.ReadFull(c.in, long[:])
			n = int64(binary.BigEndian.Uint16(long[:]))
		case 127:
			var long [8]byte
			_, _ = io.ReadFull(c.in, long[:])
			n = int64(binary.BigEndian.Uint64(long[:]))
		}
		if head[0] == closed && n >= 2 {
			var code [2]byte
			_, _ = io.ReadFull(c.in, code[:])
			return int(binary.BigEndian.Uint16(code[:]))
		}
		if _, err := io.CopyN(io.Discard, c.in, n); err != nil {
			return 0
		}
	}
}
