package gateway

import (
	"errors"
	"net/http"
	"sync"
	"time"

	"weir/internal/capacity"
	"weir/internal/dialect"
	"weir/internal/llm"
)

// clientStream writes a stream of events to the client. It sends the headers with the first write, so that another
// target can be tried until then.
type clientStream struct {
	call    *call
	encoder dialect.Encoder
	control *http.ResponseController
	pending []byte // part of an interrupted answer, of which the client has received nothing

	mu     sync.Mutex
	told   answered // of the current attempt, copied because keep-alives run concurrently
	begun  bool     // the headers were sent
	pieces bool     // a part of the answer was sent
	last   time.Time
	silent *time.Timer
	closed bool
	broken bool // the stream ended with an error
}

// beginStream creates the stream at the first attempt. Later attempts reuse it, with a new encoder as long as no part
// of an answer was sent.
func (c *call) beginStream(a *attempt) {
	if c.out == nil {
		s := &clientStream{call: c, control: http.NewResponseController(c.w), last: c.server.now(), told: a.answered()}
		c.out = s
		s.mu.Lock() // the timer may fire before it is assigned
		s.silent = time.AfterFunc(c.server.timing.KeepAlive, s.keepAlive)
		s.mu.Unlock()
	} else {
		c.out.tell(a.answered())
	}
	if !c.out.committed() {
		c.out.pending, c.rescue.words = nil, words{on: c.rescue.words.on}
		c.out.encoder = c.Op.NewEncoder(c.meta())
	}
}

// meta returns the values that the gateway's own events in a stream carry.
func (c *call) meta() llm.Meta {
	return llm.Meta{
		ID: c.Dialect.IDPrefix + c.id.text, Created: c.started.Unix(), Model: c.spent.model(),
		IncludeUsage: c.Head.IncludeUsage, Echo: c.echo(), Called: &c.tree.called, Input: c.attempt.input,
	}
}

// tell sets the values for the headers, which has no effect after they were sent.
func (s *clientStream) tell(a answered) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = a
}

// committed reports whether a part of the answer was sent. Comments do not count.
func (s *clientStream) committed() bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pieces
}

// write sends a piece of the answer at once.
func (s *clientStream) write(b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pieces = true
	s.send(b)
}

// keepAlive sends a comment if the stream has been silent for long enough.
func (s *clientStream) keepAlive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	wait := s.call.server.timing.KeepAlive
	if quiet := s.call.server.now().Sub(s.last); quiet < wait {
		s.silent.Reset(wait - quiet)
		return
	}
	s.send([]byte(s.call.Op.KeepAlive))
	s.silent.Reset(wait)
}

// send writes and flushes; the caller holds the mutex. A client that receives nothing for too long counts as gone.
func (s *clientStream) send(b []byte) {
	c := s.call
	if c.client.Gone() {
		return
	}
	s.last = c.server.now()
	if !s.begun {
		s.begun = true
		h := c.w.Header()
		c.answerHeaders(&s.told, c.Op.Framing.ContentType)
		h["Cache-Control"] = []string{"no-cache"}
		h["X-Accel-Buffering"] = []string{"no"} // tells nginx not to buffer
		c.w.WriteHeader(http.StatusOK)
	}
	_ = s.control.SetWriteDeadline(s.last.Add(c.server.timing.Write)) // some writers support no deadline
	_, err := c.w.Write(b)
	if err == nil {
		err = s.control.Flush()
	}
	if err != nil && c.client.WriteFailed() {
		c.upstream.context.Ended()
	}
}

// fail ends a begun stream with an in-band error, and reports whether it had begun. The body gets no well-formed end:
// see abortBroken.
func (s *clientStream) fail(e *llm.Error) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	begun := s.begun
	s.broken = begun
	s.mu.Unlock()
	if !begun {
		return false
	}
	s.write(s.encoder.Fail(nil, e))
	s.close()
	return true
}

// isBroken reports whether the stream has ended with an in-band error.
func (s *clientStream) isBroken() bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.broken
}

// abortBroken aborts the connection, or the HTTP/2 stream, of an answer that is not whole, so that its body has no
// well-formed end: some programs ignore error events and would treat the answer as whole.
func (s *clientStream) abortBroken(err error) {
	if s.isBroken() || errors.Is(err, capacity.ErrGone) {
		panic(http.ErrAbortHandler) // net/http's signal to abort
	}
}

// withdraw stops the stream so that the answer can be sent whole, and reports whether nothing was sent. Some models
// ignore a request for a stream (https://platform.openai.com/docs/api-reference/audio/createTranscription).
func (s *clientStream) withdraw() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.begun {
		s.closed = true
		s.silent.Stop()
	}
	return !s.begun
}

// close stops the keep-alives and removes the connection's write deadline.
func (s *clientStream) close() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.silent.Stop()
	if s.begun {
		_ = s.control.SetWriteDeadline(noDeadline)
	}
}
