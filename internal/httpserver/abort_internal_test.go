package httpserver

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"weir/internal/must"
)

// TestAbortedAnswerArrives checks that all flushed data of an aborted answer reaches its client, and that the body has
// no well-formed end: over HTTP/1.1 and HTTP/2, also if the client has sent more that is not read.
func TestAbortedAnswerArrives(t *testing.T) {
	t.Parallel()
	const last = "event: error\ndata: {}\n\n"
	sent := make(chan struct{}, 1)
	handler := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "data: 1\n\n")
		_ = http.NewResponseController(w).Flush()
		if r.URL.Path == "/more" {
			<-sent
		}
		_, _ = io.WriteString(w, last)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	url, client := overHTTP2(t, handler)
	for _, http2 := range []bool{true, false} {
		c := client()
		c.Transport.(*http.Transport).ForceAttemptHTTP2 = http2
		resp := must.Get(c.Get(url))(t)
		got, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if (resp.ProtoMajor == 2) != http2 || !strings.HasSuffix(string(got), last) || err == nil || http2 == errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: got %q and %v, want all of it and an end that is not well formed", resp.Proto, got, err)
		}
	}
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	server := New(Options{Handler: http.HandlerFunc(handler), Most: 10, MaxHead: 32 << 10, HeadTime: time.Minute})
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	conn := must.Get(net.Dial("tcp", l.Addr().String()))(t)
	defer conn.Close()
	_, _ = io.WriteString(conn, "GET /more HTTP/1.1\r\nHost: x\r\n\r\n")
	in := bufio.NewReader(conn)
	resp := must.Get(http.ReadResponse(in, nil))(t)
	_, _ = fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n%s", strings.Repeat("x", 200000))
	sent <- struct{}{}
	time.Sleep(50 * time.Millisecond) // the answer's end arrives before it is read
	if got, err := io.ReadAll(resp.Body); !strings.HasSuffix(string(got), last) || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("with more behind the request: got %q and %v, want all of it and then the end of the connection", got, err)
	}
}
