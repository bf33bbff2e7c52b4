// Package socket serves an operation of a client API over WebSockets: each message of a client is a request, which
// takes the way of an HTTP request through the gateway, and the events of its answer are messages. It is made for the
// Responses API (https://developers.openai.com/api/docs/guides/websocket-mode, undated copy; npm openai 7.59.0).
package socket

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"weir/internal/account"
	"weir/internal/dialect"
	"weir/internal/gateway"
	"weir/internal/llm"
	"weir/internal/websocket"
)

// mostMemory bounds what a WebSocket remembers of its responses, in bytes: as much as the longest request.
const mostMemory = 32 << 20

// Options configures a Server. All fields are required.
type Options struct {
	Requests *gateway.Socket
	Open     *websocket.Open
	// Refuse returns why a program of that origin may not use the API; nil if it may, or if the request has no origin.
	Refuse func(*http.Request) error
}

// Server serves WebSockets.
type Server struct {
	requests *gateway.Socket
	open     *websocket.Open
	refuse   func(*http.Request) error
	bounds   websocket.Bounds
}

// New returns a server.
func New(o Options) *Server {
	times := o.Requests.Timing()
	return &Server{o.Requests, o.Open, o.Refuse, websocket.Bounds{
		Message: o.Requests.MaxMessage(), Read: times.BodyRead, Write: times.Write,
	}}
}

// ServeHTTP implements http.Handler: it answers a request for a WebSocket and serves it until it ends.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	principal, id := s.requests.Admit(w, r, func(*account.Principal) error { return s.refuse(r) })
	if principal == nil {
		return
	}
	if conn, token := s.accept(w, r); conn != nil {
		common := requestOf(r)
		conn.Serve(r.Context(), func(ctx context.Context) {
			defer s.requests.Leave(principal)
			s.newSession(id, conn, common.WithContext(ctx), principal, token).run()
		})
		return
	}
	s.requests.Leave(principal)
}

// accept answers the handshake. It returns nil if it has refused it, or the client has left.
func (s *Server) accept(w http.ResponseWriter, r *http.Request) (*websocket.Conn, llm.Secret) {
	if err := websocket.Check(r); err != nil {
		s.refuseUpgrade(w, err)
		return nil, llm.Secret{}
	}
	token, err := account.Token(r.Header, s.requests.Dialect().KeyHeaders...)
	if err != nil {
		return nil, llm.Secret{} // it was valid a moment ago
	}
	conn, err := websocket.Accept(w, r, s.bounds)
	if err != nil {
		return nil, llm.Secret{}
	}
	return conn, llm.NewSecret(token)
}

// refuseUpgrade answers a request that is no handshake. Programs such as Codex use plain HTTP after 426.
func (s *Server) refuseUpgrade(w http.ResponseWriter, err error) {
	status := http.StatusBadRequest
	if errors.Is(err, websocket.ErrVersion) {
		status = http.StatusUpgradeRequired
		websocket.AskUpgrade(w.Header())
	}
	_, reason, _ := strings.Cut(err.Error(), ": ")
	_, reason, _ = strings.Cut(reason, ": ")
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	dialect.WriteBody(w, s.requests.Dialect().EncodeError(nil, llm.Errorf(llm.CodeInvalidRequest,
		"This is no request for a WebSocket: %s. Open a WebSocket, or send a POST request.", reason), ""), time.Minute)
}

// hopHeaders are headers of a handshake that are none of its messages.
var hopHeaders = []string{
	"Connection", "Upgrade", "Sec-Websocket-Key", "Sec-Websocket-Version", "Sec-Websocket-Extensions",
	"Sec-Websocket-Protocol", "Idempotency-Key", "Content-Length", "Content-Type", "Content-Encoding", "Expect",
	"Origin",
}

// betaOfSockets is the value of OpenAI-Beta by which Codex asks for the protocol, with a date.
const betaOfSockets = "responses_websockets="

// requestOf returns the request that the messages of a WebSocket have in common. It copies the headers and the address,
// because the server uses their memory again.
func requestOf(r *http.Request) *http.Request {
	common, address := *r, *r.URL
	common.URL = &address
	common.Method, common.Body, common.ContentLength = http.MethodPost, http.NoBody, 0
	common.Header = r.Header.Clone()
	for _, name := range hopHeaders {
		delete(common.Header, name)
	}
	var betas []string
	for _, value := range r.Header["Openai-Beta"] {
		for beta := range strings.SplitSeq(value, ",") {
			if beta = strings.TrimSpace(beta); beta != "" && !strings.HasPrefix(beta, betaOfSockets) {
				betas = append(betas, beta)
			}
		}
	}
	delete(common.Header, "Openai-Beta")
	if len(betas) > 0 {
		common.Header["Openai-Beta"] = []string{strings.Join(betas, ", ")}
	}
	return &common
}
