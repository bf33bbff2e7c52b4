package toolserver

import (
	"net/http"
	"sync"
	"time"

	"weir/internal/sse"
)

// quiet is how long a call may take before its answer becomes a stream with comments, so that proxies and clients do
// not give up.
const quiet = 10 * time.Second

// stream is an answer in events: notifications, and then the response. It begins with the first notification.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController

	mu    sync.Mutex
	begun bool
	ended bool
	err   error
	timer *time.Timer
}

// newStream returns a stream that begins by itself after a while.
func newStream(w http.ResponseWriter) *stream {
	s := &stream{w: w, control: http.NewResponseController(w)}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timer = time.AfterFunc(quiet, s.comment)
	return s
}

// open begins the stream at once.
func (s *stream) open() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(sse.AppendComment(nil, "open"))
}

// comment writes a comment.
func (s *stream) comment() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.put(sse.AppendComment(nil, "waiting"))
	s.timer.Reset(quiet)
}

// put begins the stream, and writes a part of it.
func (s *stream) put(text []byte) {
	if s.err != nil {
		return
	}
	if !s.begun {
		s.begun = true
		h := s.w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("Cache-Control", "no-cache")
		h.Set("X-Accel-Buffering", "no")
		s.w.WriteHeader(http.StatusOK)
	}
	_ = s.control.SetWriteDeadline(time.Now().Add(writeFor)) // some writers support no deadline
	if _, s.err = s.w.Write(text); s.err == nil {
		s.err = s.control.Flush()
	}
}

// notify writes a notification. It returns an error if the client accepts nothing more.
func (s *stream) notify(text []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(sse.Append(nil, "message", text))
	s.timer.Reset(quiet)
	return s.err
}

// end writes the response, if the stream has begun, and reports whether it has. A nil stream has not.
func (s *stream) end(text []byte) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timer.Stop()
	if s.ended = true; !s.begun {
		return false
	}
	s.put(sse.Append(nil, "message", text))
	return true
}

// abandon stops the stream of a request that has ended. A nil stream has nothing to stop.
func (s *stream) abandon() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.timer.Stop()
}
