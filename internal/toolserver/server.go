package toolserver

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"

	"weir/internal/account"
	"weir/internal/capacity"
	"weir/internal/dialect"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/mcp"
	"weir/internal/rawjson"
	"weir/internal/refusal"
	"weir/internal/tool"
	"weir/internal/tracing"
)

// maxBody bounds a request's body, in bytes.
const maxBody = 5 << 20

// writeFor bounds the time in which a client accepts 64 KiB of an answer, or an event.
const writeFor = 30 * time.Second

// Options configures a Server. Refusals may be nil.
type Options struct {
	Tools    *tool.Service
	Accounts *account.Service
	Ledger   *ledger.Ledger
	Capacity *capacity.Node
	Refusals *refusal.Recorder
	Tracer   *tracing.Tracer // nil for no traces
	// Challenge returns the value of WWW-Authenticate for a request without a valid key.
	Challenge func(*http.Request) string
	// Allows reports whether the site in a request's Origin may use the tools from a browser.
	Allows  func(*http.Request) bool
	Version string
	Now     func() time.Time // of this machine; nil for time.Now
	Log     *slog.Logger
}

// Server answers requests for tools.
type Server struct {
	o        Options
	streams  streams
	sessions sessions
	asked    asked
}

// New returns a server.
func New(o Options) *Server {
	if o.Challenge == nil {
		o.Challenge = func(*http.Request) string { return "Bearer" }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Server{o: o}
	s.streams.retired = make(chan struct{})
	s.sessions.now = o.Now
	s.sessions.all, s.sessions.streams = map[sessionKey]*session{}, map[sessionKey]*tool.Subscription{}
	return s
}

// Handler serves the tools for keys with a permission, at a path whose value "bundle" is the name of a bundle.
func (s *Server) Handler(permission account.Permission) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := &exchange{
			server: s, w: w, r: r, id: s.o.Ledger.NewID(), arrived: s.o.Ledger.Now().UTC().Truncate(time.Microsecond),
		}
		x.client.Request = r
		x.held = s.o.Capacity.Hold(&x.client, "")
		defer x.leave()
		w.Header().Set("X-Request-Id", x.id.String())
		if err := x.run(permission); err != nil {
			x.fail(err)
		}
	})
}

// exchange is one request of a client.
type exchange struct {
	server     *Server
	w          http.ResponseWriter
	r          *http.Request
	id         uuid.UUID
	arrived    time.Time
	client     capacity.Client
	held       capacity.Held
	principal  *account.Principal
	permission account.Permission
	message    mcp.Message
	revision   string // of the client
	tool       string // that is called; empty for none
	stream     *stream
	trace      *tracing.Request // nil without traces, and before the message is read
	attempted  bool             // the ledger has a row of it
	status     int              // of the answer
}

// leave frees what the request holds.
func (x *exchange) leave() {
	x.stream.abandon()
	x.trace.End(x.status)
	x.held.ReleaseAll()
	if x.held.IsAdmitted() {
		x.server.o.Capacity.Leave(x.held.Account(), x.held.Priority())
	}
}

// run answers the request. An error means that nothing has been written.
func (x *exchange) run(permission account.Permission) error {
	if !x.server.o.Allows(x.r) {
		return status(http.StatusForbidden, &mcp.RPCError{
			Code: mcp.CodeRequest, Message: "The origin is not allowed: add it to cors.origins.",
		})
	}
	if err := x.authenticate(permission); err != nil {
		return err
	}
	x.permission = permission
	if x.r.Method == http.MethodGet {
		return listenInSession(x)
	}
	text, err := x.readBody()
	if err != nil {
		return err
	}
	if x.message, err = mcp.ParseMessage(text); err != nil {
		return status(http.StatusBadRequest, &mcp.RPCError{Code: mcp.CodeParse, Message: err.Error()})
	}
	if err := x.checkHeaders(); err != nil {
		return err
	}
	x.trace = x.server.o.Tracer.Message(x.r, routeOf(x.r), x.id.String(),
		textAt(rawjson.Get(x.message.Params, "_meta"), mcp.MetaTrace), x.arrived)
	x.trace.Known(x.principal.Account().ID, x.principal.Key().ID)
	if !x.message.IsRequest() { // a notification, or a response to a request of a server
		x.server.asked.answer(sessionOf(x), &x.message)
		x.status = http.StatusAccepted
		x.w.WriteHeader(x.status)
		return nil
	}
	result, err := x.answer()
	if err != nil {
		return err
	}
	if result == nil { // the client has left
		return nil
	}
	x.write(http.StatusOK, mcp.AppendResponse(nil, x.message.ID, result, nil))
	return nil
}

// routeOf returns the path of the request's route.
func routeOf(r *http.Request) string {
	if r.PathValue("bundle") != "" {
		return "/mcp/{bundle}"
	}
	return "/mcp"
}

// authenticate admits the request of a key with the permission.
func (x *exchange) authenticate(permission account.Permission) error {
	if err := x.held.Enter(); err != nil {
		return err
	}
	token, err := account.Token(x.r.Header)
	if err != nil {
		return err
	}
	if x.principal, err = x.server.o.Accounts.Authenticate(x.r.Context(), token); err != nil {
		return err
	}
	if err := cmp.Or(x.principal.MayAt(x.r.URL.Path), x.principal.May(permission)); err != nil {
		return err
	}
	return x.held.TakeShare(x.principal.Account().ID)
}

// readBody reads the body within its bounds.
func (x *exchange) readBody() ([]byte, error) {
	size := x.r.ContentLength
	if size < 0 {
		size = maxBody
	}
	if size > maxBody {
		return nil, tooLong()
	}
	if err := x.held.Reserve(size); err != nil {
		return nil, err
	}
	control := http.NewResponseController(x.w)
	_ = control.SetReadDeadline(time.Now().Add(time.Minute)) // some writers support no deadline
	text, err := io.ReadAll(http.MaxBytesReader(x.w, x.r.Body, maxBody))
	if _, long := errors.AsType[*http.MaxBytesError](err); long {
		return nil, tooLong()
	}
	_ = control.SetReadDeadline(time.Time{})
	if err != nil {
		return nil, llm.Errorf(llm.CodeInvalidRequest, "The body was not received whole: send it within a minute.")
	}
	return text, nil
}

func tooLong() error {
	return llm.Errorf(llm.CodeRequestTooLarge, "The body has more than %d bytes.", maxBody)
}

// problem is an error with an HTTP status of its own.
type problem struct {
	*mcp.RPCError
	status int
}

func status(code int, e *mcp.RPCError) error { return &problem{e, code} }

// fail is the only function that writes an error.
func (x *exchange) fail(err error) {
	if errors.Is(err, capacity.ErrGone) {
		return
	}
	x.stream.abandon() // no comment writes its headers beside those below
	if p, ok := errors.AsType[*problem](err); ok {
		x.write(p.status, mcp.AppendResponse(nil, x.message.ID, nil, p.JSON()))
		return
	}
	if e, ok := errors.AsType[*mcp.RPCError](err); ok { // as the server of the tool wrote it
		x.write(x.statusOfRPC(e), mcp.AppendResponse(nil, x.message.ID, nil, e.JSON()))
		return
	}
	e := llm.AsError(err)
	if e.Code == llm.CodeInternal {
		x.server.o.Log.Error("a request for tools failed", "request", x.id.String(), "err", err)
	}
	status := x.statusOf(e)
	x.count(e, status)
	x.write(status, mcp.AppendResponse(nil, x.message.ID, nil, rpcOf(e).JSON()))
}

// statusOfRPC returns the HTTP status of an error of a server: the latest revision has one for some codes.
func (x *exchange) statusOfRPC(e *mcp.RPCError) int {
	switch e.Code {
	case mcp.CodeCapability, mcp.CodeHeaderMismatch, mcp.CodeRevision:
		if x.stateless() {
			return http.StatusBadRequest
		}
	}
	return http.StatusOK
}

// statusOf returns the HTTP status of an error. Once the message is known, most errors are answers to it: clients break
// off their connection at another status.
func (x *exchange) statusOf(e *llm.Error) int {
	h := x.w.Header()
	if e.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int((e.RetryAfter+time.Second-1)/time.Second)))
	}
	switch e.Code {
	case llm.CodeAuthentication:
		h.Set("WWW-Authenticate", x.server.o.Challenge(x.r))
		return http.StatusUnauthorized
	case llm.CodeRequestTooLarge:
		return http.StatusRequestEntityTooLarge
	case llm.CodeOverloaded:
		return http.StatusServiceUnavailable
	case llm.CodeForbidden:
		if x.tool == "" {
			return http.StatusForbidden
		}
	case llm.CodeNotFound:
		if x.message.ID == nil {
			return http.StatusNotFound
		}
	}
	if x.message.ID == nil {
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// rpcOf returns an error in the form of the protocol. The data have Weir's own code.
func rpcOf(e *llm.Error) *mcp.RPCError {
	code := int64(mcp.CodeInternal)
	switch e.Code {
	case llm.CodeInvalidRequest, llm.CodeNotFound:
		code = mcp.CodeParams
	case llm.CodeAuthentication, llm.CodeRequestTooLarge:
		code = mcp.CodeRequest
	}
	data := map[string]any{"code": e.Code}
	if e.RetryAfter > 0 {
		data["retry_after_ms"] = e.RetryAfter.Milliseconds()
	}
	text, _ := json.Marshal(data) // of texts and numbers
	return &mcp.RPCError{Code: code, Message: e.Placed(), Data: text}
}

// count counts a request that ends without an attempt.
func (x *exchange) count(e *llm.Error, status int) {
	if x.server.o.Refusals == nil || x.attempted {
		return
	}
	of := refusal.Refusal{
		Request: x.id, At: x.arrived, Reason: e.Code, Status: status, Message: e.Message, Param: e.Param,
	}
	if a, k := x.principal.Account(), x.principal.Key(); a != nil {
		of.Account, of.Key, of.AccountName, of.KeyLabel, of.Model = a.ID, k.ID, a.Name, k.Label, x.asked()
	}
	x.server.o.Refusals.Add(of)
}

// write writes an answer: as the last event, if a stream has begun.
func (x *exchange) write(code int, text []byte) {
	if x.status = code; x.stream.end(text) {
		return
	}
	h := x.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(text)))
	x.w.WriteHeader(code)
	dialect.WriteBody(x.w, text, writeFor)
}

// checkHeaders finds the client's revision, and compares the headers with the message.
func (x *exchange) checkHeaders() error {
	m := &x.message
	given := x.r.Header.Get(mcp.HeaderRevision)
	meta, err := metaOf(m.Params)
	if err != nil {
		return status(http.StatusBadRequest, &mcp.RPCError{Code: mcp.CodeParams, Message: err.Error()})
	}
	if meta.revision == "" && given < mcp.Stateless {
		x.revision = given
		if given != "" && !mcp.Speaks(given) {
			return unsupported(given)
		}
		return nil
	}
	switch x.revision = mcp.Stateless; {
	case meta.revision != "" && given != "" && given != meta.revision, given == "":
		return mismatch(fmt.Sprintf("%s is %q, but _meta has %q", mcp.HeaderRevision, given, meta.revision))
	case !mcp.Speaks(given):
		return unsupported(given)
	case m.IsRequest() && meta.revision == "":
		return status(http.StatusBadRequest, &mcp.RPCError{
			Code: mcp.CodeParams, Message: "params._meta needs " + mcp.MetaRevision,
		})
	case m.IsRequest() && meta.capabilities == nil:
		return status(http.StatusBadRequest, &mcp.RPCError{
			Code: mcp.CodeParams, Message: "params._meta needs " + mcp.MetaCapabilities,
		})
	case given < mcp.Stateless:
		x.revision = given
		return nil
	}
	return x.checkNames()
}

// checkNames compares Mcp-Method and Mcp-Name with the message.
func (x *exchange) checkNames() error {
	m := &x.message
	if got := x.r.Header.Get(mcp.HeaderMethod); m.Method != "" && got != m.Method {
		return mismatch(fmt.Sprintf("%s is %q, but the method is %q", mcp.HeaderMethod, got, m.Method))
	}
	member := mcp.NamedBy(m.Method)
	if member == "" {
		return nil
	}
	want := textAt(m.Params, member)
	got, ok := mcp.DecodeHeader(x.r.Header.Get(mcp.HeaderName))
	if !ok || got != want || len(x.r.Header.Values(mcp.HeaderName)) > 1 {
		return mismatch(fmt.Sprintf("%s is %q, but params.%s is %q", mcp.HeaderName, got, member, want))
	}
	return nil
}

func mismatch(text string) error {
	return status(http.StatusBadRequest, &mcp.RPCError{
		Code: mcp.CodeHeaderMismatch, Message: "The headers and the message differ: " + text + ".",
	})
}

// unsupported returns the error for another revision than those that Weir speaks.
func unsupported(revision string) error {
	data, _ := json.Marshal(map[string]any{"supported": mcp.Revisions(), "requested": revision}) // of texts
	return status(http.StatusBadRequest, &mcp.RPCError{
		Code: mcp.CodeRevision, Message: "Unsupported protocol version", Data: data,
	})
}
