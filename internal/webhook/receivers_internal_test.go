package webhook

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// raw is a receiver that answers one request with what it likes, byte by byte, and
// then waits until the gateway hangs up.
func raw(t *testing.T, says string) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		from := bufio.NewReader(c)
		if r, err := http.ReadRequest(from); err == nil {
			_, _ = io.Copy(io.Discard, r.Body)
		}
		_, _ = io.WriteString(c, says)
		_, _ = from.ReadByte()
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return "http://" + l.Addr().String()
}

// TestNobodyHolds: whatever a receiver says, a try ends when its time is over. Here
// that is a moment, so that the test need not wait for long.
func TestNobodyHolds(t *testing.T) {
	t.Parallel()
	for name, says := range map[string]string{
		"nothing":             "",
		"half a head":         "HTTP/1.1 200 OK\r\nContent-",
		"a body without end":  "HTTP/1.1 500 Sorry\r\n\r\nand",
		"less than announced": "HTTP/1.1 500 Sorry\r\nContent-Length: 100\r\n\r\nand",
		"half a chunk":        "HTTP/1.1 500 Sorry\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\nand",
		"another protocol":    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: tar-pit\r\n\r\nand",
		"early hints":         "HTTP/1.1 103 Early Hints\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSender(nil, nil, "test", nil)
			defer s.close()
			ctx, cancel := context.WithTimeoutCause(t.Context(), 300*time.Millisecond, errors.New("enough"))
			defer cancel()
			j := &Job{URL: raw(t, says), AllowPrivate: true, Payload: []byte("{}")}
			ended := make(chan Outcome, 1)
			go func() {
				a, err := s.send(ctx, j, true, time.Now(), "v1,x")
				o := Outcome{Job: j}
				o.judge(j, &a, err)
				ended <- o
			}()
			select {
			case o := <-ended:
				if o.State != Pending || o.Try.Error == "" {
					t.Errorf("%q: got %+v, want a failure that says why", says, o)
				}
			case <-time.After(5 * time.Second):
				t.Errorf("%q: the try goes on long after its time is over", says)
			}
		})
	}
}
