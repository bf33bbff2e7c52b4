package provider

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"

	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/rawio"
)

// TestRetryOnFreshConnectionSendsBodyOnce writes to a reused connection that takes no byte: the request on the fresh one
// has its body once, and nothing behind it.
func TestRetryOnFreshConnectionSendsBodyOnce(t *testing.T) {
	t.Parallel()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = l.Close() })
	bodies := make(chan string, 2)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		in := bufio.NewReader(c)
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		body, _ := io.ReadAll(r.Body)
		bodies <- string(body)
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
		_ = c.(*net.TCPConn).CloseWrite()
		rest, _ := io.ReadAll(in)
		bodies <- string(rest)
		_ = c.Close()
	}()
	p := newInternal(t, Options{BaseURL: "http://" + l.Addr().String(), AllowPrivate: true})
	p.wire.(*http1).idle.put(over(&socket{Conn: &broken{reading{cut: 100}, 0}, raw: quiet{}, err: rawio.ErrNothingNow}))
	const body = `{"model":"m"}`
	if text, f := readAll(p.Do(t.Context(), Call{Op: llm.OpChat, Hold: leave{}, Body: []byte(body)})); f != nil || string(text) != "{}" {
		t.Errorf("got %q, %v, want the answer", text, f)
	}
	must.Equal(t, <-bodies, body, "the body")
	must.Equal(t, <-bodies, "", "behind the body")
}
