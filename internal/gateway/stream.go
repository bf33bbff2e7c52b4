package gateway

import (
	"errors"
	"net/http"
	"sync"
	"time"

	"weir/internal/dialect"
	"weir/internal/llm"
)

// clientStream writes server-sent events to the client. Its headers leave with
// the first write, so that until then another target can be tried.
type clientStream struct {
	call    *call
	encoder dialect.Encoder
	control *http.ResponseController
	pending []byte // of an answer that broke off before any of it was sent

	mu     sync.Mutex
	told   answered // of the attempt under way, for the headers: a keep-alive runs beside what changes the call
	begun  bool     // the headers are out
	pieces bool     // so is some of the answer
	last   time.Time
	silent *time.Timer
	closed bool
	broken bool // it has ended with an error
}

// beginStream makes the stream of the first attempt. A later one goes on with
// it: while none of an answer has gone out, with an encoder of its own.
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

// meta is what the gateway's own words in a stream are stamped with.
func (c *call) meta() llm.Meta {
	return llm.Meta{
		ID: c.Dialect.IDPrefix + c.id.text, Created: c.started.Unix(), Model: c.spent.model(),
		IncludeUsage: c.Head.IncludeUsage, Echo: c.echo(), Called: &c.tree.called, Input: c.attempt.input,
	}
}

// tell says what the headers are to tell, unless they are out.
func (s *clientStream) tell(a answered) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = a
}

// committed says whether some of the answer has gone out. A comment is none.
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

// keepAlive runs when the stream may have been silent for long enough.
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

// send writes and flushes, under the mutex. A client that takes nothing for
// too long is taken to have left.
func (s *clientStream) send(b []byte) {
	c := s.call
	if c.client.gone() {
		return
	}
	s.last = c.server.now()
	if !s.begun {
		s.begun = true
		h := c.w.Header()
		c.answerHeaders(&s.told, c.Op.Framing.ContentType)
		h["Cache-Control"] = []string{"no-cache"}
		h["X-Accel-Buffering"] = []string{"no"} // nginx's word for: do not hold this back
		c.w.WriteHeader(http.StatusOK)
	}
	_ = s.control.SetWriteDeadline(s.last.Add(c.server.timing.Write)) // not every writer has one
	_, err := c.w.Write(b)
	if err == nil {
		err = s.control.Flush()
	}
	if err != nil && c.client.writeFailed.CompareAndSwap(false, true) {
		c.upstream.context.Ended()
	}
}

// fail ends a stream that has begun with an in-band error, and says whether
// there was one. No well-formed end of the body follows: see abortBroken.
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

// abortBroken ends the connection, or the stream of HTTP/2, of an answer that is not whole, so that
// its body has no end: some programs read no error events, and would take it for whole.
func (s *clientStream) abortBroken(err error) {
	if s.isBroken() || errors.Is(err, errGone) {
		panic(http.ErrAbortHandler) // net/http's way
	}
}

// withdraw gives the answer up to be sent whole, and reports whether nothing of a
// stream has gone out. Some models leave the wish for a stream unheard
// (https://platform.openai.com/docs/api-reference/audio/createTranscription).
func (s *clientStream) withdraw() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.begun {
		s.closed = true
		s.silent.Stop()
	}
	return !s.begun
}

// close ends the keep-alives and gives the connection back without a deadline.
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
