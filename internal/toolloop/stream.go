package toolloop

import (
	"net/http"
	"time"

	"weir/internal/dialect"
)

const (
	// keepAlive is the silence before a stream gets a comment.
	keepAlive = 5 * time.Second
	// writeWithin bounds the time in which a client accepts a piece.
	writeWithin = 30 * time.Second
)

// stream writes the events of an answer while the loop goes on. Its zero value writes nothing.
type stream struct {
	w      http.ResponseWriter // nil without a stream
	begun  bool
	silent time.Duration
}

// begin writes the headers, once.
func (s *stream) begin() {
	if s.w == nil || s.begun {
		return
	}
	s.begun = true
	h := s.w.Header()
	h.Del("Content-Length")
	h["Content-Type"] = []string{"text/event-stream"}
	h["Cache-Control"] = []string{"no-store"}
	h["X-Accel-Buffering"] = []string{"no"}
	s.w.WriteHeader(http.StatusOK)
}

// write writes events.
func (s *stream) write(b []byte) {
	if s.w == nil || len(b) == 0 {
		return
	}
	s.begin()
	dialect.WriteBody(s.w, b, writeWithin)
	_ = http.NewResponseController(s.w).Flush() // an error is one of the next write
}

// await runs work, and writes comments while it takes long, so that the client and the proxies before it wait, and so
// that a client that has left is noticed. A panic of the work is one of the caller.
func (s *stream) await(work func()) {
	if s.w == nil {
		work()
		return
	}
	done := make(chan any, 1)
	go func() {
		defer func() { done <- recover() }()
		work()
	}()
	tick := time.NewTicker(s.silent)
	defer tick.Stop()
	for {
		select {
		case p := <-done:
			if p != nil {
				panic(p)
			}
			return
		case <-tick.C:
			s.write([]byte(": keep-alive\n\n"))
		}
	}
}
