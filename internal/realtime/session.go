package realtime

import (
	"context"
	"errors"
	"sync"
	"time"

	"weir/internal/llm"
	"weir/internal/websocket"
)

const (
	// maxOpen bounds the responses of a session that run at once, and maxTranscripts the attempts for transcripts.
	maxOpen        = 8
	maxTranscripts = 16
	// openedWithin is how long the provider may take to send session.created.
	openedWithin = 15 * time.Second
	// drainUsage is how long the provider is read for the usage of its responses after the session has ended.
	drainUsage = 2 * time.Second
)

// The reasons for the end of a session.
var (
	errLeft     = errors.New("realtime: the client left")
	errProvider = errors.New("realtime: the provider ended the session")
)

// session is one session: a WebSocket of a client and one of a provider.
type session struct {
	meter
	sides
	hearing hearing
	clock   clock
	preset  []byte // settings of a client secret; nil for none
	version string // the api-version of Azure's beta; empty for none

	sends  sync.Mutex    // orders the events to the provider, with the attempts that they need
	due    chan struct{} // a response is due after a detected turn
	opened chan struct{} // closed when the provider's session has begun

	mu        sync.Mutex // guards all below
	kind      string     // "realtime" or "transcription"; empty in the beta
	updates   updates    // of the settings, on their way to the provider
	input     input
	turns     turns
	responses responses
	finishing bool // no response may begin any more
}

// run relays until one side ends the session, and settles all that is open.
func (s *session) run() {
	var tasks sync.WaitGroup
	tasks.Go(func() { s.end(s.fromClient(s.ctx)) })
	tasks.Go(func() { s.answerTurns(s.ctx) }) // by itself: the client or the database may be slow
	if s.clock.on {
		tasks.Go(func() {
			if err := s.clock.run(s.ctx); s.ctx.Err() == nil {
				s.server.note(&s.meter, llm.AsError(err))
				s.end(err)
			}
		})
	}
	received := make(chan struct{})
	tasks.Go(func() {
		defer close(received)
		s.end(s.fromProvider())
	})
	cause := s.awaitEnd()
	tasks.Go(func() { s.closeClient(cause) })
	s.finish(cause, received)
	tasks.Wait()
	s.settleRest(cause)
}

// finish ends the provider's side, after it has read the usage of the responses that still run.
func (s *session) finish(cause error, received <-chan struct{}) {
	s.mu.Lock()
	s.finishing = true
	s.mu.Unlock()
	if !errors.Is(cause, errProvider) && !s.clock.on {
		s.cancelRunning()
		awaitUsage(received, func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.responses.open() > 0 || s.hearing.isBusy()
		})
	}
	s.peer.Abort()
	s.clock.ended = s.server.o.Clock()
}

// closeClient closes the client's WebSocket with the vendor's event for an error of the gateway's.
func (s *session) closeClient(cause error) {
	defer s.client.Abort()
	e, ok := errors.AsType[*llm.Error](cause)
	switch {
	case ok:
		s.sendError(e, "")
		s.client.Close(codeOf(e), string(e.Code))
	case errors.Is(cause, errProvider):
		s.client.Close(websocket.Normal, "")
	case !errors.Is(cause, errLeft):
		s.client.Close(websocket.GoingAway, "")
	}
}

// codeOf returns the code of the close frame for an error. Programs connect again after GoingAway alone.
func codeOf(e *llm.Error) websocket.Code {
	switch e.Code {
	case llm.CodeOverloaded, llm.CodeProviderUnavailable:
		return websocket.GoingAway
	case llm.CodeInternal:
		return websocket.Failed
	}
	return websocket.Refused
}

// cancelRunning cancels the responses that run, so that they cost no more.
func (s *session) cancelRunning() {
	s.mu.Lock()
	var ids []string
	for id := range s.responses.running {
		ids = append(ids, id)
	}
	s.mu.Unlock()
	for _, id := range ids {
		_ = s.peer.Send(websocket.Text, set([]byte(`{"type":"`+eventCancel+`"}`), quoted(id), "response_id"))
	}
}

// endFor is the End of websocket.Watched.
func (s *session) endFor(why websocket.Reason, err error) { s.end(causeOf(why, err)) }

// causeOf returns the error of a session that the gateway ends for that reason.
func causeOf(why websocket.Reason, err error) error {
	switch why {
	case websocket.Expired:
		return &llm.Error{
			Code: llm.CodeInvalidRequest, Word: "session_expired",
			Message: "The session has reached its longest duration of 60 minutes. Connect again.",
		}
	case websocket.Stopping:
		return &llm.Error{Code: llm.CodeOverloaded, Message: "The gateway is stopping. Connect again."}
	}
	return err
}

// describe is the State of websocket.Watched.
func (s *session) describe() websocket.State {
	s.mu.Lock()
	running := int64(s.responses.open())
	s.mu.Unlock()
	return s.state("realtime", running)
}

// answerTurns begins a response after each detected turn.
func (s *session) answerTurns(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.due:
		}
		s.sends.Lock()
		err := s.begin(ctx, event{frame: []byte(`{"type":"` + eventCreate + `"}`), kind: eventCreate})
		s.sends.Unlock()
		s.answer(err, "")
	}
}

// answer sends an error to the client; one that ends the session does so when nothing runs any more.
func (s *session) answer(err error, of string) {
	if err == nil {
		return
	}
	e := llm.AsError(err)
	s.server.note(&s.meter, e)
	if e.Code != llm.CodeBudgetExceeded {
		s.sendError(e, of)
		return
	}
	s.mu.Lock()
	s.finishing = true
	busy := s.responses.open() > 0
	s.mu.Unlock()
	if busy {
		s.sendError(e, of)
		return
	}
	s.end(e)
}

// sendError sends an error in the vendor's form; of is the id of the client's event that caused it.
func (s *session) sendError(e *llm.Error, of string) {
	_ = s.client.Send(websocket.Text, s.server.errorEvent(e, s.number("event"), of))
}
