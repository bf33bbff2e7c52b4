package gateway

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"weir/internal/account"
	"weir/internal/capacity"
	"weir/internal/conversation"
	"weir/internal/dialect"
	"weir/internal/llm"
)

// Socket runs an operation for the clients of WebSockets: the request for the WebSocket, and then each of its messages,
// which is a request like any other.
type Socket struct {
	server     *Server
	dialect    *dialect.Dialect
	op         *dialect.Operation
	permission account.Permission
	counted    counter
}

// Socket returns the operation op of the dialect d for callers with the permission. Metrics count the messages by the
// route's pattern.
func (s *Server) Socket(pattern string, d *dialect.Dialect, op *dialect.Operation, permission account.Permission,
) *Socket {
	return &Socket{s, d, op, permission, counter{s.metrics.Route(pattern), pathOf(pattern)}}
}

// Admit authenticates a request for a WebSocket, takes a place for it and calls check. If one of them fails, it answers
// with the error and returns nil. Else it returns the caller and the id of the WebSocket, and the caller must call
// Leave when the WebSocket has ended.
func (k *Socket) Admit(w http.ResponseWriter, r *http.Request, check func(*account.Principal) error) (
	*account.Principal, uuid.UUID,
) {
	q := k.server.newRequest(k.server.ledger.NewID(), w, r, k.dialect, k.op, k.permission, k.counted)
	defer q.finish()
	err := q.in.authenticate()
	if err == nil {
		err = check(q.in.principal)
	}
	if err == nil {
		err = q.in.held.TakeSocket()
	}
	if err != nil {
		q.fail(err)
		return nil, uuid.Nil
	}
	q.x.measured.status = http.StatusSwitchingProtocols
	w.Header().Set("X-Request-Id", strings.Clone(q.in.id.text))
	return q.in.principal, q.in.id.UUID
}

// Leave frees the place of a WebSocket of the caller.
func (k *Socket) Leave(p *account.Principal) { k.server.capacity.LeaveSocket(p.Account().ID) }

// Check returns why the caller with that key may no longer use a WebSocket: the key was revoked or has expired, or its
// account is suspended. It returns nil if that is unknown because the database is unavailable.
func (k *Socket) Check(ctx context.Context, token llm.Secret) error {
	p, err := k.server.accounts.Authenticate(ctx, token.Reveal())
	if err == nil {
		return p.May(k.permission)
	}
	if llm.AsError(err).Code != llm.CodeAuthentication {
		return nil
	}
	return err
}

// Memory returns a memory of up to most bytes for the responses of a WebSocket of the caller.
func (k *Socket) Memory(p *account.Principal, most int64) *conversation.Memory {
	node, id := k.server.capacity, p.Account().ID
	return conversation.NewMemory(most, func(n int64) bool { return node.Remember(id, n) },
		func(n int64) { node.Forget(id, n) })
}

// Hold returns what a message of the caller's WebSocket holds of the node, nothing yet.
func (k *Socket) Hold(r *http.Request, p *account.Principal) capacity.Held {
	return k.server.capacity.Hold(&capacity.Client{Request: r}, p.Account().ID)
}

// NewID returns the id of the nth request of a WebSocket.
func (k *Socket) NewID(socket uuid.UUID, n int64) uuid.UUID {
	return k.server.ledger.NewIDOf(socket, n)
}

// Now returns the time of the ledger.
func (k *Socket) Now() time.Time { return k.server.ledger.Now().UTC().Truncate(time.Microsecond) }

// Dialect returns the wire format.
func (k *Socket) Dialect() *dialect.Dialect { return k.dialect }

// MaxMessage returns the bound of a message, in bytes.
func (k *Socket) MaxMessage() int64 { return k.server.maxBody }

// Timing returns the timeouts of the pipeline.
func (k *Socket) Timing() Timing { return k.server.timing }

// Message is a request that has arrived as a message.
type Message struct {
	// Body is the request. Its memory is reserved, and it must not change until Serve has returned.
	Body []byte
	// Memory holds the responses of the connection.
	Memory *conversation.Memory
	// Prepares is set if no answer is wanted, only an id from which a later request continues. No provider is called.
	Prepares bool
	// ID is the id of the request: see ledger.NewIDOf.
	ID uuid.UUID
	// Tally has what the request was charged, after Serve has returned. The charge of a late answer is missing.
	Tally Tally
}

// Tally is what a request was charged for all its attempts.
type Tally struct {
	Charge    llm.Money
	Uncertain bool // the charge may be higher
}

// add adds the attempts of an exchange. A nil tally is that of an HTTP request.
func (t *Tally) add(s *spent) {
	if t != nil {
		t.Charge += s.money
		t.Uncertain = t.Uncertain || s.unsure
	}
}

// Serve runs a message through the pipeline. R has the headers and the context of the connection, and w receives the
// answer as that of an HTTP request.
func (k *Socket) Serve(w http.ResponseWriter, r *http.Request, m *Message) {
	q := k.server.newRequest(m.ID, w, r, k.dialect, k.op, k.permission, k.counted)
	q.in.message, q.in.tally = m, &m.Tally
	k.server.serve(q)
}

// prepared answers a request that only prepares the next one: with a response without content, which the connection
// remembers (https://developers.openai.com/api/docs/guides/websocket-mode, undated copy: generate).
func (q *request) prepared() {
	in := &q.in
	encoder := in.Op.NewEncoder(llm.Meta{
		ID: in.Dialect.IDPrefix + in.id.text, Created: in.started.Unix(), Model: in.Head.Model, Echo: in.echo(),
		Called: &q.x.called,
	})
	out := encoder.Finish(nil, &llm.Final{Finish: []llm.FinishReason{llm.FinishStop}, Reported: true})
	in.kept.keepEncoded(encoder)
	q.x.settleLimits()
	h := in.w.Header()
	in.commonHeaders(dialect.FieldsIn(h), in.id.text)
	h["Content-Type"] = []string{in.Op.Framing.ContentType}
	dialect.WriteBody(in.w, out, in.server.timing.Write)
}
