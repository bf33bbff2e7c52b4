// Package api implements the service's own JSON API besides the pipeline: usage, models, administration, health, and
// the errors of unknown paths.
package api

import (
	"cmp"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/net/http/httpguts"

	"weir/internal/account"
	"weir/internal/admin"
	"weir/internal/conversation"
	"weir/internal/dialect"
	"weir/internal/idempotency"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/people"
	"weir/internal/ratelimit"
	"weir/internal/refusal"
	"weir/internal/route"
)

// Options holds the services that a Server needs. All are required.
type Options struct {
	Admin  *admin.Admin
	Ledger *ledger.Ledger
	Router *route.Router
	// Dialects holds the wire formats of clients.
	Dialects dialect.Set
	// Limits returns the callers' remaining limits.
	Limits *ratelimit.Limiter
	// Kept holds the stored responses of the Responses API.
	Kept *conversation.Service
	// ReadCapacity returns an account's capacity for reading stored responses and usage.
	ReadCapacity func(r *http.Request, account string) (capacity conversation.Capacity, done func())
	// Records stores the answers of the administration for requests with an Idempotency-Key.
	Records idempotency.Store
	// Refusals counts the requests that get an error; nil for none.
	Refusals *refusal.Recorder
	// PublicURL returns the address of the gateway for links, without a slash at its end.
	PublicURL func(*http.Request) string
	// Session returns the secret of the browser's session, or "".
	Session func(*http.Request) string
	// Prices returns the day of the price data and the problem of the price files; nil if they are not reported.
	Prices func() (day time.Time, problem string)
	// Shortage returns why the database gives this node no connection although it can be reached, or "".
	Shortage func() string
	// Version is the version of the program.
	Version string
	Now     func() time.Time
	Log     *slog.Logger
}

// Server answers all requests that do not go to a model, by subject.
type Server struct {
	Uses      *Uses
	Models    *Models
	Responses *Responses
	Health    *Health
	Document  *Document
	Admin     *Admin
	replies   *replies
}

// New creates a server.
func New(o Options) *Server {
	rp := &replies{o.Admin.Accounts, o.Dialects.Own(), o.Limits, o.Refusals, o.Now, o.Log}
	return &Server{
		Uses:      &Uses{rp, o.Admin, o.Ledger, o.ReadCapacity},
		Models:    &Models{rp, o.Router, o.Dialects, newShares()},
		Responses: &Responses{rp, o.Dialects.Keeping(), o.Kept, o.ReadCapacity},
		Health:    &Health{o.Ledger, o.Limits, o.Router, o.Prices, o.Shortage, o.Admin.Configuration.Problem, o.Now},
		Document: &Document{
			rp, sync.OnceValues(func() (*document, error) { return newDocument(o.Version, o.Dialects) }),
		},
		Admin:   newAdmin(&o),
		replies: rp,
	}
}

// replies authenticates callers by their keys, and writes the answers of endpoints.
type replies struct {
	accounts *account.Service
	native   *dialect.Dialect // dialect of the errors of the service's own API
	limits   *ratelimit.Limiter
	refusals *refusal.Recorder
	now      func() time.Time
	log      *slog.Logger
}

// request is one request to the API.
type request struct {
	*http.Request
	id        uuid.UUID
	principal *account.Principal // nil if the route needs no key, or none was authenticated
	token     string             // the caller's key
	reply     http.Header        // headers of the reply
	status    int                // of an error; 0 for the one of its code
	done      func()             // called after the reply is written; nil for nothing
}

// writeWithin bounds the time in which a client accepts 64 KiB of a reply.
const writeWithin = 30 * time.Second

// endpoint answers a request with a JSON body, or with an error.
type endpoint func(r *request) (body []byte, err error)

// guard admits callers with the permission. At the service's own client APIs a key travels only in the Authorization
// header.
func (rp *replies) guard(permission account.Permission, next endpoint) http.Handler {
	return rp.guardClientAPI(rp.native, permission, next)
}

// guardClientAPI admits callers with the permission, at the client API of the dialect d.
func (rp *replies) guardClientAPI(d *dialect.Dialect, permission account.Permission, next endpoint) http.Handler {
	return rp.handle(d, func(r *request) ([]byte, error) {
		token, err := account.Token(r.Header, d.KeyHeaders...)
		if err != nil {
			return nil, err
		}
		r.token = token
		p, err := rp.accounts.Authenticate(r.Context(), r.token)
		if err != nil {
			return nil, err
		}
		r.principal = p
		left := rp.limits.Status(ratelimit.CallerOf(p))
		d.LimitHeaders(dialect.FieldsIn(r.reply), rp.now(), &left)
		if err := p.May(permission); err != nil {
			return nil, err
		}
		return next(r)
	})
}

// handle is the only place that converts an error to a reply, in the format of the dialect d, and logs it.
func (rp *replies) handle(d *dialect.Dialect, next endpoint) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		unique := uuid.Must(uuid.NewV7())
		id := unique.String()
		h := w.Header()
		d.CommonHeaders(dialect.FieldsIn(h), id, rp.now(), &llm.RateLimitStatus{})
		h.Set("Content-Type", "application/json")
		status := http.StatusOK
		req := &request{Request: r, id: unique, reply: h}
		defer req.end()
		body, err := next(req)
		if err != nil {
			e := llm.AsError(err)
			logFailure(rp.log, id, r, e)
			dialect.ErrorHeaders(h, e)
			status, body = cmp.Or(req.status, d.Status(e.Code)), d.EncodeError(nil, e, id)
			rp.countRefusal(req, err, e, status)
		}
		h.Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(status)
		dialect.WriteBody(w, body, writeWithin)
	})
}

// countRefusal counts a request that got an error.
func (rp *replies) countRefusal(r *request, err error, e *llm.Error, status int) {
	x := refusal.Refusal{
		Request: r.id, At: rp.now().UTC(), Reason: e.Code, Status: status, Message: e.Message, Param: e.Param,
	}
	if r.principal != nil {
		a, k := r.principal.Account(), r.principal.Key()
		x.Account, x.Key, x.AccountName, x.KeyLabel = a.ID, k.ID, a.Name, k.Label
	} else if of, ok := errors.AsType[*account.Inactive](err); ok {
		x.Account, x.Key = of.Account, of.Key
	}
	rp.refusals.Add(x)
}

func (r *request) end() {
	if r.done != nil {
		r.done()
	}
}

func logFailure(log *slog.Logger, id string, r *http.Request, e *llm.Error) {
	say := log.Debug
	if e.Code == llm.CodeInternal || e.Code == llm.CodeOverloaded {
		say = log.Error
	}
	say("request failed", "request", id, "path", people.HidePath(r.URL.Path), "code", string(e.Code), "err", e)
}

// NotFound answers unknown paths, in the service's own format.
func (s *Server) NotFound() http.Handler {
	return s.nothing(nil, "This path does not exist. The base URL of an OpenAI client ends with /v1, "+
		"the base URL of an Anthropic or Google client does not. GET /openapi.json lists all paths.")
}

// NoHealth answers paths where other programs report their health.
func (s *Server) NoHealth() http.Handler {
	return s.nothing(nil, "This path does not exist. Health is at GET /livez (the gateway runs) and GET /readyz (it "+
		"takes requests; /readyz?verbose says what is missing).")
}

// NotServed answers a path that a vendor's client API may have and the gateway does not serve, with the served paths.
// D is the dialect of the client API; nil for the service's own.
func (s *Server) NotServed(d *dialect.Dialect, served []string) http.Handler {
	return s.nothing(d, "This gateway does not serve this path. It serves "+strings.Join(served, ", ")+
		". GET /openapi.json describes them.")
}

// NoConversations answers the paths of OpenAI's conversation objects, which the gateway does not have.
func (s *Server) NoConversations(d *dialect.Dialect) http.Handler {
	return s.nothing(d, "This gateway has no conversation objects. Continue from a response with its id as "+
		"previous_response_id, "+
		"or send the whole conversation as input.")
}

func (s *Server) nothing(d *dialect.Dialect, message string) http.Handler {
	if d == nil {
		d = s.replies.native
	}
	return s.replies.handle(d, func(*request) ([]byte, error) {
		return nil, &llm.Error{Code: llm.CodeNotFound, Message: message}
	})
}

// Refuse answers with the error of check, in the service's own format.
func (s *Server) Refuse(check func(*http.Request) error) http.Handler {
	return s.replies.handle(s.replies.native, func(r *request) ([]byte, error) { return nil, check(r.Request) })
}

// MethodNotAllowed answers a request with a method that its path does not have. D is the dialect of the path; nil for
// the service's own.
func (s *Server) MethodNotAllowed(d *dialect.Dialect, allowed ...string) http.Handler {
	if d == nil {
		d = s.replies.native
	}
	list := strings.Join(allowed, ", ")
	return s.replies.handle(d, func(r *request) ([]byte, error) {
		r.reply.Set("Allow", list)
		upgrades := httpguts.HeaderValuesContainsToken(r.Header["Upgrade"], "websocket")
		if upgrades && r.Method == http.MethodGet && d.Vendor != "" {
			return nil, r.refuseUpgrade(list)
		}
		return nil, &llm.Error{Code: llm.CodeMethodNotAllowed, Message: "This path accepts only " + list + "."}
	})
}

// refuseUpgrade refuses a WebSocket with 426, which tells clients such as Codex to use plain HTTP; they retry after a
// 405 (https://www.rfc-editor.org/rfc/rfc9110#section-15.5.22).
func (r *request) refuseUpgrade(list string) error {
	r.status = http.StatusUpgradeRequired
	r.reply.Set("Upgrade", "HTTP/1.1")
	r.reply.Set("Connection", "Upgrade")
	return &llm.Error{
		Code: llm.CodeMethodNotAllowed, Message: "This path has no WebSocket. Send plain HTTP requests: it " +
			"accepts " + list + ".",
	}
}
