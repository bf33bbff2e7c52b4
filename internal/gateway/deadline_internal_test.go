package gateway

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// deadlines is a response that remembers its deadlines.
type deadlines struct {
	http.ResponseWriter
	read, write time.Time
}

// SetReadDeadline and SetWriteDeadline serve http.ResponseController.
func (d *deadlines) SetReadDeadline(t time.Time) error  { d.read = t; return nil }
func (d *deadlines) SetWriteDeadline(t time.Time) error { d.write = t; return nil }

// TestBodiesAndAnswersHaveDeadlines checks that a body has a deadline until it was read to its end, because net/http
// would otherwise treat the deadline as a disconnected client; that the end of every answer has one; and that no
// operation on a stream of HTTP/2 waits for one that its client has reset. On HTTP/1, net/http reads the rest of a
// body.
func TestBodiesAndAnswersHaveDeadlines(t *testing.T) {
	t.Parallel()
	s := &Server{now: time.Now, timing: Timing{}.withDefaults()}
	for _, tt := range []struct {
		major        int
		reads, reset bool
		want         bool // a deadline to read, at the end
	}{{1, false, false, true}, {1, true, false, false}, {2, false, false, false}, {2, true, false, false}, {2, false, true, false}} {
		d := &deadlines{ResponseWriter: httptest.NewRecorder()}
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("{}"))
		ctx, reset := context.WithCancel(t.Context())
		r = r.WithContext(ctx)
		r.ProtoMajor = tt.major
		s.Bounded(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if d.read.IsZero() {
				t.Errorf("%+v: the body has no deadline", tt)
			}
			if tt.reads {
				_, _ = io.Copy(io.Discard, r.Body)
				if !d.read.IsZero() {
					t.Errorf("%+v: the deadline is there when the body was read", tt)
				}
			}
			if tt.reset {
				reset()
			}
		})).ServeHTTP(d, r)
		reset()
		if got := !d.read.IsZero(); got != tt.want || d.write.IsZero() != tt.reset {
			t.Errorf("%+v: left with a deadline to read %v and to write %v", tt, d.read, d.write)
		}
	}
}
