package toolloop

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// client receives a stream, and reports its first comment.
type client struct {
	header  http.Header
	status  int
	body    strings.Builder
	comment chan struct{}
	once    sync.Once
}

func (c *client) Header() http.Header    { return c.header }
func (c *client) WriteHeader(status int) { c.status = status }

func (c *client) Write(b []byte) (int, error) {
	if strings.HasPrefix(string(b), ":") {
		c.once.Do(func() { close(c.comment) })
	}
	return c.body.Write(b)
}

// TestStreamHasCommentsWhileWorkTakesLong lets the work wait for a comment, which begins the stream.
func TestStreamHasCommentsWhileWorkTakesLong(t *testing.T) {
	t.Parallel()
	c := &client{header: http.Header{}, comment: make(chan struct{})}
	s := stream{w: c, silent: time.Millisecond}
	s.await(func() { <-c.comment })
	if !s.begun || c.status != http.StatusOK || c.header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("got the status %d and the headers %v, want the begin of a stream", c.status, c.header)
	}
	quiet := &client{header: http.Header{}, comment: make(chan struct{})}
	s = stream{w: quiet, silent: time.Hour}
	s.await(func() {})
	if s.begun || quiet.body.Len() > 0 {
		t.Errorf("quick work: got %q, want nothing", quiet.body.String())
	}
}

// TestPanicOfWorkIsOneOfItsCaller checks that a panic in the goroutine of the work does not end the process.
func TestPanicOfWorkIsOneOfItsCaller(t *testing.T) {
	t.Parallel()
	for _, s := range []stream{{}, {w: &client{header: http.Header{}}, silent: time.Hour}} {
		func() {
			defer func() {
				if p, is := recover().(error); !is || !errors.Is(p, http.ErrAbortHandler) {
					t.Errorf("got the panic %v, want that of the work", p)
				}
			}()
			s.await(func() { panic(http.ErrAbortHandler) })
		}()
	}
}
