package socket_test

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"weir/internal/certtest"
	"weir/internal/e2e/harness"
	"weir/internal/gateway"
	"weir/internal/must"
	"weir/internal/websocket"
)

// TestIdleWebSocketsNeedLittleMemory checks the bytes of heap and stack of an idle WebSocket that has had a request. It
// is not parallel, because it counts for the whole process, which has the clients' sockets as well. TLS keeps a buffer as
// long as its longest record, which has at most 16 KiB.
func TestIdleWebSocketsNeedLittleMemory(t *testing.T) {
	up := harness.NewUpstream(t)
	cert, key := certtest.Write(t, t.TempDir(), 1)
	tlsYAML := "\ntls: {cert: \"" + cert + "\", key: \"" + key + "\"}\n"
	secure := &tls.Config{RootCAs: certtest.Pool(t, cert), ServerName: "localhost"}
	for name, tc := range map[string]struct {
		yaml   string
		secure *tls.Config
		input  int // characters of the request's input
		most   int64
	}{
		"plain":                    {"", nil, 1, 13 << 10},
		"TLS":                      {tlsYAML, secure, 1, 20 << 10},
		"TLS, after a long record": {tlsYAML, secure, 1 << 14, 70 << 10},
	} {
		h := harness.Open(t, harness.Setup{
			YAML:   harness.ProvidersYAML(up.URL) + tc.yaml,
			Timing: gateway.Timing{Sockets: websocket.Timing{Ping: time.Hour}}, // a client that is not read answers none
		})
		open := func() { idle(t, h, tc.secure, tc.input) }
		for range 20 { // pools and caches
			open()
		}
		const n = 400
		heap, stack := inUse()
		for range n {
			open()
		}
		moreHeap, moreStack := inUse()
		heap, stack = (moreHeap-heap)/n, (moreStack-stack)/n
		t.Logf("%s: %d bytes of heap and %d of stack", name, heap, stack)
		if heap+stack > tc.most || heap < 1<<10 || stack < 1<<10 {
			t.Errorf("%s: got %d bytes of heap and %d of stack for an idle WebSocket, want at most %d", name, heap, stack, tc.most)
		}
	}
}

// inUse returns the bytes of heap and stacks.
func inUse() (heap, stack int64) {
	var m runtime.MemStats
	for range 3 { // a collection shrinks stacks, and empties pools in two steps
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc), int64(m.StackInuse)
}

// idle opens a WebSocket, waits for the answer to a request and keeps only its socket, until the test ends.
func idle(t *testing.T, h *harness.Gateway, secure *tls.Config, input int) {
	t.Helper()
	held := must.Get(net.Dial("tcp", strings.TrimPrefix(h.URL, "http://")))(t)
	t.Cleanup(func() { _ = held.Close() })
	c := held // the client's TLS is not
	if secure != nil {
		c = tls.Client(held, secure)
	}
	must.Get(io.WriteString(c, "GET /v1/responses HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nAuthorization: Bearer "+h.Key+"\r\n\r\n"))(t)
	in := bufio.NewReader(c)
	if res := must.Get(http.ReadResponse(in, nil))(t); res.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("got %s", res.Status)
	}
	text := `{"type":"response.create","model":"house/chat","store":false,"generate":false,"input":"` + strings.Repeat("x", input) + `"}`
	head := []byte{0x81, 0x80 | 126, byte(len(text) >> 8), byte(len(text)), 0, 0, 0, 0}
	must.Get(c.Write(append(head, text...)))(t)
	var got strings.Builder
	for !strings.Contains(got.String(), `"type":"response.completed"`) {
		got.WriteByte(must.Get(in.ReadByte())(t))
	}
	_, _ = in.Discard(in.Buffered())
}
