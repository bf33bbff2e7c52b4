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
	in       *intake
	upstream *upstreamContext // ends when a write to the client fails
	encoder  dialect.Encoder
	control  *http.ResponseController
	cache    *caching // records the answer; nil if it is not stored

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
func (x *exchange) beginStream(a *attempt) {
	in, told := x.in, a.answered(&x.spent)
	if x.out == nil {
		x.out = newClientStream(in, x.reading.context, told)
		x.out.cache = x.cache
	} else {
		x.out.tell(told)
	}
	if !x.out.committed() {
		x.rescue.words = words{on: x.rescue.words.on}
		x.content.Restart()
		x.out.encoder = in.Op.NewEncoder(x.meta())
	}
}

// newClientStream creates a stream, which sends comments from now on while it is silent.
func newClientStream(in *intake, upstream *upstreamContext, told answered) *clientStream {
	s := &clientStream{
		in: in, upstream: upstream, control: http.NewResponseController(in.w), last: in.server.now(), told: told,
	}
	s.mu.Lock() // the timer may fire before it is assigned
	defer s.mu.Unlock()
	s.silent = time.AfterFunc(in.server.timing.KeepAlive, s.keepAlive)
	return s
}

// meta returns the values that the gateway's own events in a stream carry.
func (x *exchange) meta() llm.Meta {
	in := x.in
	return llm.Meta{
		ID: in.Dialect.IDPrefix + in.id.text, Created: in.started.Unix(), Model: x.spent.model(),
		IncludeUsage: in.Head.IncludeUsage, Echo: in.echo(), Called: &x.called, Input: x.choice.current.input,
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
	s.cache.add(b)
	s.pass(b)
}

// end sends the last piece of a whole answer, after it is stored.
func (s *clientStream) end(b []byte) {
	s.cache.add(b)
	s.cache.keepStream()
	s.pass(b)
}

func (s *clientStream) pass(b []byte) {
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
	wait := s.in.server.timing.KeepAlive
	if quiet := s.in.server.now().Sub(s.last); quiet < wait {
		s.silent.Reset(wait - quiet)
		return
	}
	s.send([]byte(s.in.Op.KeepAlive))
	s.silent.Reset(wait)
}

// send writes and flushes; the caller holds the mutex. A client that receives nothing for too long counts as gone.
func (s *clientStream) send(b []byte) {
	in := s.in
	if in.client.Gone() {
		return
	}
	s.last = in.server.now()
	if !s.begun {
		s.begun = true
		h := in.w.Header()
		in.answerHeaders(&s.told, in.Op.Framing.ContentType)
		h["Cache-Control"] = []string{"no-cache"}
		h["X-Accel-Buffering"] = []string{"no"} // tells nginx not to buffer
		in.w.WriteHeader(http.StatusOK)
	}
	_ = s.control.SetWriteDeadline(s.last.Add(in.server.timing.Write)) // some writers support no deadline
	_, err := in.w.Write(b)
	if err == nil {
		err = s.control.Flush()
	}
	if err != nil && in.client.WriteFailed() {
		s.upstream.Ended()
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
