package gateway

import (
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

// SetReadDeadline and SetWriteDeadline are http.ResponseController's.
func (d *deadlines) SetReadDeadline(t time.Time) error  { d.read = t; return nil }
func (d *deadlines) SetWriteDeadline(t time.Time) error { d.write = t; return nil }

// TestBoundedLeavesNoTimer holds that nothing of a stream of HTTP/2 waits for a deadline once its
// request is over. A connection of HTTP/1 keeps it: net/http reads on what was not read.
func TestBoundedLeavesNoTimer(t *testing.T) {
	t.Parallel()
	s := &Server{now: time.Now, timing: Timing{}.withDefaults()}
	for major, want := range map[int]bool{1: true, 2: false} {
		d := &deadlines{ResponseWriter: httptest.NewRecorder()}
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("{}"))
		r.ProtoMajor = major
		s.Bounded(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			if d.read.IsZero() {
				t.Errorf("HTTP/%d: the body has no deadline", major)
			}
			d.write = time.Now()
		})).ServeHTTP(d, r)
		if got := !d.read.IsZero() && !d.write.IsZero(); got != want {
			t.Errorf("HTTP/%d: left with a deadline to read %v and to write %v, want any: %t", major, d.read, d.write, want)
		}
	}
}
