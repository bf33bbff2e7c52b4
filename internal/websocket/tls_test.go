package websocket_test

import (
	"bytes"
	"crypto/tls"
	"net"
	"net/http"
	"runtime"
	"testing"

	"weir/internal/certtest"
	"weir/internal/httpserver"
	"weir/internal/must"
	"weir/internal/websocket"
)

// cut is a connection that sends in pieces, so that TLS records arrive in part.
type cut struct{ net.Conn }

func (c cut) Write(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var more int
		more, err = c.Conn.Write(p[n:min(n+700, len(p))])
		n += more
		runtime.Gosched() // the reader begins
	}
	return n, err
}

// TestMessagesArriveOverTLSInPieces checks the reads of the server that do not wait, below TLS.
func TestMessagesArriveOverTLSInPieces(t *testing.T) {
	t.Parallel()
	cert, key := certtest.Write(t, t.TempDir(), 1)
	pair := must.Get(tls.LoadX509KeyPair(cert, key))(t)
	ends := make(chan error, 1)
	address := served(t, httpserver.Options{
		Secure:  &tls.Config{Certificates: []tls.Certificate{pair}},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { ends <- echo(w, r, usual()) }),
	})
	conn := tls.Client(cut{must.Get(net.Dial("tcp", address))(t)}, &tls.Config{RootCAs: certtest.Pool(t, cert), ServerName: "localhost"})
	c, _, err := websocket.Dial(t.Context(), conn, "http://localhost/", nil, usual())
	must.Do(t, err)
	defer c.Abort()
	for _, n := range lengths() {
		must.Do(t, c.Send(websocket.Binary, content(n)))
		if kind, got, err := c.Receive(nil); kind != websocket.Binary || !bytes.Equal(got, content(n)) || err != nil {
			t.Errorf("%d bytes: got %v, %d bytes, %v", n, kind, len(got), err)
		}
	}
	c.Close(websocket.Normal, "")
	if got := websocket.CodeOf(<-ends); got != websocket.Normal {
		t.Errorf("end: got the code %d, want 1000", got)
	}
}
