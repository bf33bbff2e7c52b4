package realtime

import (
	"context"
	"errors"
	"net/http"
	"time"

	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/websocket"
)

// sides are the two WebSockets of a session, and its end.
type sides struct {
	request *http.Request
	client  *websocket.Conn
	peer    *websocket.Conn // of the provider
	ctx     context.Context
	end     context.CancelCauseFunc
}

// awaitEnd waits until a session ends, and returns the cause.
func (s *sides) awaitEnd() error {
	<-s.ctx.Done()
	cause := context.Cause(s.ctx)
	if errors.Is(cause, context.Canceled) { // by the HTTP server, which noticed it first
		return errLeft
	}
	return cause
}

// awaitUsage waits for the usage of what still runs, at most drainUsage, and not after the provider has ended.
func awaitUsage(received <-chan struct{}, busy func() bool) {
	for end := time.Now().Add(drainUsage); busy() && time.Now().Before(end); {
		select {
		case <-received:
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// openLate opens the attempt of a response that the provider began by itself, at its upper bound; nil if it could not
// be recorded. If the budgets have no room for it, or the provider has begun many, the session ends. The word names the
// responses of the API.
func (s *sides) openLate(m *meter, turn *opening, many bool, word string) *ledger.Hold {
	turn.always = true
	hold, _, err := m.open(s.ctx, turn)
	if err != nil {
		s.end(err)
	}
	if many {
		s.end(llm.Errorf(llm.CodeProviderError, "The session ends, because the provider begins %s that nobody "+
			"asked for.", word))
		s.peer.Abort() // it may begin more
	}
	if hold == nil {
		m.server.o.Log.Error("a response that the provider began by itself could not be recorded", "session",
			m.id.String(), "err", err)
	}
	return hold
}
