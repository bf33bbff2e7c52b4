package socket

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"

	"github.com/google/uuid"

	"weir/internal/account"
	"weir/internal/conversation"
	"weir/internal/gateway"
	"weir/internal/llm"
	"weir/internal/websocket"
)

const (
	// mostLanes bounds the requests of one WebSocket that are in flight, and mostWaiting those that wait behind others
	// of their lanes.
	mostLanes, mostWaiting = 16, 16
	// firstRead is the size of the first buffer for a message, in bytes.
	firstRead = 4 << 10
)

// session is one WebSocket of a client.
type session struct {
	server    *Server
	conn      *websocket.Conn
	principal *account.Principal
	request   *http.Request // what the requests of all messages have in common
	watched   websocket.Watched
	memory    *conversation.Memory
	cancel    context.CancelFunc
	running   sync.WaitGroup

	mu      sync.Mutex
	lanes   map[string]*lane // with requests in flight; nil for none
	waiting int
	ending  *ending // nil while the session takes requests
	state   websocket.State
}

// lane is a sequence of requests that are served in order.
type lane struct{ queue []*message }

// ending is why a session takes no more requests, and how it ends.
type ending struct {
	refusal *llm.Error
	code    websocket.Code
}

// newSession returns the session of a WebSocket. The request is what those of its messages have in common.
func (s *Server) newSession(id uuid.UUID, c *websocket.Conn, r *http.Request, p *account.Principal, token llm.Secret,
) *session {
	ctx, cancel := context.WithCancel(r.Context())
	x := &session{
		server: s, conn: c, principal: p, request: r.WithContext(ctx), cancel: cancel,
		memory: s.requests.Memory(p, mostMemory),
	}
	now := s.requests.Now()
	x.state = websocket.State{
		API: "responses", Account: p.Account().ID, Key: p.Key().ID, Began: now, Active: now,
	}
	x.watched = websocket.Watched{
		ID: id, Conn: c, State: x.describe, End: x.end,
		Valid: func(ctx context.Context) error { return s.requests.Check(ctx, token) },
	}
	return x
}

// run serves the session until its connection ends. Requests in flight then end as those of a client that has left.
func (x *session) run() {
	defer x.memory.Forget()
	defer x.running.Wait()
	x.server.open.Add(&x.watched)
	defer x.server.open.Remove(&x.watched) // before Wait, because end adds to running
	defer x.cancel()
	defer x.conn.Abort()
	for { // a WebSocket waits here: with a small stack
		kind, from, err := x.conn.Next()
		if err != nil || !x.serveNext(kind, from) {
			return
		}
	}
}

// serveNext receives a message and begins its request. It returns false if the connection is lost.
func (x *session) serveNext(kind websocket.Kind, from io.Reader) bool {
	m, err := x.receive(kind, from)
	if _, told := errors.AsType[*llm.Error](err); err != nil && !told {
		return false
	}
	if err == nil {
		err = x.take(m)
	}
	if err != nil {
		x.fail(m.lane, err)
		m.held.ReleaseAll()
	}
	return true
}

// receive reads a message within the account's share of memory. An *llm.Error is for the client; after any other error
// the connection is lost.
func (x *session) receive(kind websocket.Kind, from io.Reader) (m *message, err error) {
	m = &message{held: x.server.requests.Hold(x.request, x.principal)}
	for err == nil {
		if len(m.body) == cap(m.body) {
			// A large message exists twice, as received and without the protocol's fields.
			if err = m.held.Reserve(2 * int64(max(cap(m.body), firstRead/2))); err != nil {
				_, lost := io.Copy(io.Discard, from)
				return m, errors.Join(err, lost)
			}
			m.body = append(make([]byte, 0, max(2*cap(m.body), firstRead)), m.body...)
		}
		var n int
		n, err = from.Read(m.body[len(m.body):cap(m.body)])
		m.body = m.body[:len(m.body)+n]
	}
	if !errors.Is(err, io.EOF) {
		m.held.ReleaseAll()
		return m, err
	}
	if kind != websocket.Text {
		return m, llm.Invalid("", "Send text messages: binary ones have no meaning here.")
	}
	return m, nil
}

// take begins the request of a message, or lets it wait for those before it in its lane. The error is for the client.
func (x *session) take(m *message) error {
	if err := m.read(); err != nil {
		return err
	}
	if m.kind == kindSteer {
		x.refuseSteering(m)
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	switch l := x.lanes[m.lane]; {
	case x.ending != nil:
		return x.ending.refusal
	case l != nil && x.waiting < mostWaiting:
		x.waiting++
		l.queue = append(l.queue, m)
		return nil
	case l != nil || len(x.lanes) >= mostLanes:
		return &llm.Error{
			Code: llm.CodeOverloaded, Message: "This WebSocket has too many requests in flight. Wait until one of " +
				"them has ended, or open another WebSocket.",
		}
	}
	if x.lanes == nil {
		x.lanes = map[string]*lane{}
	}
	l := &lane{}
	x.lanes[m.lane] = l
	x.running.Go(func() { x.serve(m, l) })
	return nil
}

// serve serves a message and those behind it in its lane.
func (x *session) serve(m *message, l *lane) {
	for m != nil {
		x.answer(m)
		m.held.ReleaseAll()
		m = x.next(m.lane, l)
	}
}

// next returns the next message of a lane; nil if there is none, and the lane has ended.
func (x *session) next(name string, l *lane) *message {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(l.queue) > 0 {
		m := l.queue[0]
		l.queue[0], l.queue = nil, l.queue[1:]
		x.waiting--
		return m
	}
	if delete(x.lanes, name); len(x.lanes) == 0 {
		x.lanes = nil
		x.closeIfOver()
	}
	return nil
}

// answer runs one request.
func (x *session) answer(m *message) {
	w := &frames{session: x, lane: m.lane, header: http.Header{}}
	defer func() {
		// The pipeline aborts the answer of a request that has failed after its beginning, or whose client has left.
		if p := recover(); p != nil && p != http.ErrAbortHandler { //nolint:errorlint // as net/http compares it
			panic(p)
		}
		w.finish()
	}()
	asked := &gateway.Message{Body: m.body, Memory: x.memory, Prepares: m.prepares, ID: x.begin(m)}
	defer x.count(&asked.Tally)
	x.server.requests.Serve(w, x.request, asked)
}

// maxModel bounds the name of a model that is shown, in bytes.
const maxModel = 256

// begin counts a request that begins, and returns its id.
func (x *session) begin(m *message) uuid.UUID {
	x.mu.Lock()
	defer x.mu.Unlock()
	s := &x.state
	s.Running++
	s.Active = x.server.requests.Now()
	if m.model != "" && len(m.model) <= maxModel {
		s.Model = m.model
	}
	return x.server.requests.NewID(x.watched.ID, s.Requests+s.Running)
}

// count counts a request that has ended.
func (x *session) count(t *gateway.Tally) {
	x.mu.Lock()
	defer x.mu.Unlock()
	s := &x.state
	s.Running--
	s.Requests++
	s.Active = x.server.requests.Now()
	s.Charge += t.Charge
	s.Uncertain = s.Uncertain || t.Uncertain
}

// describe is the State of websocket.Watched.
func (x *session) describe() websocket.State {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.state
}

// end is the End of websocket.Watched.
func (x *session) end(why websocket.Reason, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if why == websocket.Invalid || why == websocket.Ended {
		refusal := llm.AsError(err)
		x.ending = &ending{refusal, websocket.Refused}
		x.cancel() // of all requests
		x.running.Go(func() {
			x.fail("", refusal)
			x.conn.Close(websocket.Refused, refusal.Message)
		})
		return
	}
	if x.ending == nil {
		x.ending = endingOf(why)
		x.closeIfOver()
	}
}

// endingOf returns the end of a session whose requests in flight go on. Clients then connect again.
func endingOf(why websocket.Reason) *ending {
	if why == websocket.Expired {
		return &ending{&llm.Error{
			Code: llm.CodeInvalidRequest, Word: "websocket_connection_limit_reached",
			Message: "This WebSocket has reached its limit of 60 minutes. Open another one to go on.",
		}, websocket.GoingAway}
	}
	return &ending{&llm.Error{
		Code: llm.CodeOverloaded, Message: "The gateway is stopping. Open another WebSocket to go on.",
	}, websocket.Restart}
}

// closeIfOver closes a session that takes no more requests and has none in flight. The caller holds the mutex.
func (x *session) closeIfOver() {
	e := x.ending
	if e == nil || len(x.lanes) > 0 || e.code == websocket.Refused {
		return
	}
	x.running.Go(func() {
		if e.code == websocket.GoingAway {
			x.fail("", e.refusal)
		}
		x.conn.Close(e.code, e.refusal.Message)
	})
}
