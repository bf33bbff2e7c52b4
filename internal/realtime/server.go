package realtime

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"weir/internal/account"
	"weir/internal/capacity"
	"weir/internal/dialect"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/ratelimit"
	"weir/internal/rawjson"
	"weir/internal/refusal"
	"weir/internal/route"
	"weir/internal/telemetry"
	"weir/internal/websocket"
)

// Options configures a Server. All fields are required, unless their comment says otherwise.
type Options struct {
	Accounts *account.Service
	Ledger   *ledger.Ledger
	Router   *route.Router
	Limits   *ratelimit.Limiter
	Capacity *capacity.Node
	Dialect  *dialect.Dialect // Chat Completions, whose forms of errors the API has
	Live     *dialect.Dialect // Google's, whose forms of errors the Live API has
	// Refused is called for each request that a limit or a budget refused; nil for none.
	Refused  func(*account.Principal, *llm.Error)
	Refusals *refusal.Recorder // nil for none
	Metrics  *telemetry.Metrics
	// Seal encrypts the content of a client secret with the installation's master key, and Open decrypts it.
	Seal    func(ctx context.Context, text []byte, about string) (string, error)
	Open    func(sealed, about string) ([]byte, error)
	Sockets *websocket.Open
	Clock   func() time.Time // of this machine, for durations; nil for time.Now
	// Refuse returns why a program of that origin may not use the API; nil if it may, or if the request has no origin.
	Refuse func(*http.Request) error
	Log    *slog.Logger
}

// Server serves Realtime sessions.
type Server struct{ o Options }

// New returns a server.
func New(o Options) *Server {
	if o.Refused == nil {
		o.Refused = func(*account.Principal, *llm.Error) {}
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	return &Server{o: o}
}

// maxEvent bounds an event in bytes: 15 MiB of sound, the most that OpenAI accepts, in base64 (openai-openapi 2.3.0).
const maxEvent = 21 << 20

// bounds returns the bounds of a session's WebSockets.
func bounds() websocket.Bounds {
	return websocket.Bounds{Message: maxEvent, Read: time.Minute, Write: 30 * time.Second}
}

// now returns the time of the ledger, in whole microseconds.
func (s *Server) now() time.Time { return s.o.Ledger.Now().UTC().Truncate(time.Microsecond) }

// authenticate returns the caller with a key that may chat.
func (s *Server) authenticate(ctx context.Context, token string) (*account.Principal, error) {
	who, err := s.o.Accounts.Authenticate(ctx, token)
	if err != nil {
		return nil, err
	}
	return who, who.May(account.Chat)
}

// ServeHTTP serves a session at GET /v1/realtime.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := s.o.Ledger.NewID()
	w.Header().Set("X-Request-Id", id.String())
	n := s.newcomer(s.o.Dialect, w, r)
	defer n.leave()
	x := &session{
		meter: meter{server: s, id: id, began: s.now()}, sides: sides{request: r},
		responses: responses{running: map[string]*response{}},
		due:       make(chan struct{}, 1), opened: make(chan struct{}),
	}
	x.hearing.meter, x.clock.meter = &x.meter, &x.meter
	if err := n.begin(x); err != nil {
		n.fail(&x.meter, err)
		return
	}
	x.ctx, x.end = context.WithCancelCause(r.Context())
	defer x.end(nil)
	watched := websocket.Watched{ID: id, Conn: x.client, State: x.describe, Valid: x.check, End: x.endFor}
	s.o.Sockets.Add(&watched)
	defer s.o.Sockets.Remove(&watched)
	x.run()
}

// note counts a refusal inside a session.
func (s *Server) note(x *meter, e *llm.Error) {
	who := x.principal()
	if e.Code == llm.CodeRateLimited || e.Code == llm.CodeBudgetExceeded {
		s.o.Refused(who, e)
	}
	s.countRefusal(s.o.Ledger.NewID(), x, who, e)
}

// countRefusal counts a refused request or response.
func (s *Server) countRefusal(id uuid.UUID, x *meter, who *account.Principal, e *llm.Error) {
	if s.o.Refusals == nil {
		return
	}
	refused := refusal.Refusal{
		Request: id, At: s.now(), Reason: e.Code, Status: s.o.Dialect.Status(e.Code), Message: e.Message,
		Param: e.Param,
	}
	if x.table != nil {
		refused.Model = x.asked
	}
	if a, k := who.Account(), who.Key(); a != nil && k != nil {
		refused.Account, refused.Key, refused.AccountName, refused.KeyLabel = a.ID, k.ID, a.Name, k.Label
	}
	s.o.Refusals.Add(refused)
}

// errorEvent returns an error as the vendor's event: of is the id of the event that caused it; empty for none.
func (s *Server) errorEvent(e *llm.Error, id, of string) []byte {
	inner := rawjson.Get(s.o.Dialect.EncodeError(nil, e, ""), "error")
	cause := []byte("null")
	if of != "" {
		cause = quoted(of)
	}
	b := append([]byte(`{"type":"error","event_id":`), quoted(id)...)
	b = append(append(b, `,"error":`...), set(inner, cause, "event_id")...)
	return append(b, '}')
}

// newcomer is a request for a session.
type newcomer struct {
	server  *Server
	dialect *dialect.Dialect // of its errors and models
	w       http.ResponseWriter
	r       *http.Request
	client  capacity.Client
	held    capacity.Held

	handshake   error  // the request is none for a WebSocket
	keyProtocol string // the subprotocol that has the key in xAI's form; empty for none
}

// newcomer returns a request that has no slot yet.
func (s *Server) newcomer(d *dialect.Dialect, w http.ResponseWriter, r *http.Request) *newcomer {
	n := &newcomer{server: s, dialect: d, w: w, r: r, client: capacity.Client{Request: r}}
	n.held = s.o.Capacity.Hold(&n.client, "")
	return n
}

// leave frees the session's slot.
func (n *newcomer) leave() {
	if n.held.IsAdmitted() {
		n.server.o.Capacity.Leave(n.held.Account(), n.held.Priority())
	}
}

// fail answers with an error before the upgrade.
func (n *newcomer) fail(x *meter, err error) {
	s, e := n.server, llm.AsError(err)
	if who := x.who; who != nil && (e.Code == llm.CodeRateLimited || e.Code == llm.CodeBudgetExceeded) {
		s.o.Refused(who, e)
	}
	s.countRefusal(x.id, x, x.who, e)
	if e.Code == llm.CodeInternal {
		s.o.Log.Error("a session could not begin", "session", x.id.String(), "err", err)
	}
	h := n.w.Header()
	h.Set("Content-Type", "application/json")
	dialect.ErrorHeaders(h, e)
	body := n.dialect.EncodeError(nil, e, x.id.String())
	h.Set("Content-Length", strconv.Itoa(len(body)))
	status := n.dialect.Status(e.Code)
	if errors.Is(n.handshake, websocket.ErrVersion) {
		websocket.AskUpgrade(h)
		status = http.StatusUpgradeRequired
	}
	n.w.WriteHeader(status)
	_, _ = n.w.Write(body)
}

// Subprotocols of browsers, which cannot send headers (npm openai 7.59.0), and xAI's
// (https://docs.x.ai/developers/rest-api-reference/inference/voice, copy of 2026-11-30), which is the only one of its
// clients: a browser needs it in the answer.
const (
	protocol       = "realtime"
	protocolKey    = "openai-insecure-api-key."
	protocolSecret = "xai-client-secret."
)

// azurePaths begins the paths of Azure OpenAI, where browsers send the key in the query, as api-key.
const azurePaths = "/openai/"

// tokenOf returns the key of a request: of its headers, or of its subprotocols.
func (n *newcomer) tokenOf() (string, error) {
	header := n.r.Header
	for _, line := range header["Sec-Websocket-Protocol"] {
		for name := range strings.SplitSeq(line, ",") {
			name = strings.TrimSpace(name)
			if key, ok := strings.CutPrefix(name, protocolKey); ok {
				return key, nil
			}
			if key, ok := strings.CutPrefix(name, protocolSecret); ok {
				n.keyProtocol = name
				return key, nil
			}
		}
	}
	if key := n.r.URL.Query().Get("api-key"); key != "" && strings.HasPrefix(n.r.URL.Path, azurePaths) {
		return key, nil
	}
	return account.Token(header, n.dialect.KeyHeaders...)
}
