// Package api is the service's own JSON API around the pipeline: usage,
// models, administration, health, and what answers where nothing else does.
package api

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/net/http/httpguts"

	"weir/internal/account"
	"weir/internal/conversation"
	"weir/internal/dialect"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/people"
	"weir/internal/ratelimit"
	"weir/internal/report"
	"weir/internal/route"
)

// UsesReader reads usage reports from the database.
type UsesReader interface {
	Uses(ctx context.Context, q report.UsesQuery) (report.UsesPage, error)
}

// Options is what a Server is made of. All are required.
type Options struct {
	Accounts *account.Service
	Ledger   *ledger.Ledger
	Uses     UsesReader
	Router   *route.Router
	// Dialects are the wire formats that clients speak.
	Dialects dialect.Set
	// Limits tells callers what they have left.
	Limits *ratelimit.Limiter
	// Kept are the responses of the Responses API.
	Kept *conversation.Service
	// ReadCapacity is what an account may hold to read it, and usage.
	ReadCapacity func(r *http.Request, account string) (capacity conversation.Capacity, done func())
	// Admin is what Admin works with.
	Admin AdminOptions
	// Prices is of which day the price data is, and what is wrong with the price files;
	// nil: nothing is told of them.
	Prices func() (day time.Time, problem string)
	// Shortage is why the database gives this node no connection although it can be reached; empty where it does.
	Shortage func() string
	// Managed is what is wrong with the managed configuration; empty for nothing.
	Managed func() string
	// Version is that of the program.
	Version string
	Now     func() time.Time
	Log     *slog.Logger
}

// Server answers everything that is not a request to a model, by subject.
type Server struct {
	Uses      *Uses
	Models    *Models
	Responses *Responses
	Health    *Health
	Document  *Document
	Admin     *Admin
	replies   *replies
}

// New makes a server.
func New(o Options) *Server {
	rp := &replies{o.Accounts, o.Dialects.Own(), o.Limits, o.Now, o.Log}
	return &Server{
		Uses:      &Uses{rp, o.Ledger, o.Uses, o.ReadCapacity},
		Models:    &Models{rp, o.Router, o.Dialects, newShares()},
		Responses: &Responses{rp, o.Dialects.Keeping(), o.Kept, o.ReadCapacity},
		Health:    &Health{o.Ledger, o.Limits, o.Router, o.Prices, o.Shortage, o.Managed, o.Now},
		Document: &Document{
			rp, sync.OnceValues(func() (*document, error) { return newDocument(o.Version, o.Dialects) }),
		},
		Admin:   newAdmin(&o),
		replies: rp,
	}
}

// replies lets callers in by their keys, and turns what endpoints answer into replies.
type replies struct {
	accounts *account.Service
	native   *dialect.Dialect // whose errors the service's own API speaks
	limits   *ratelimit.Limiter
	now      func() time.Time
	log      *slog.Logger
}

// request is one request to the API.
type request struct {
	*http.Request
	id        string
	principal *account.Principal // nil where anybody may call
	token     string             // the caller's key
	reply     http.Header        // its headers
	status    int                // of an error; 0 for the one of its code
	done      func()             // to be called when the reply is written; nil for nothing
}

// writeWithin is how long a client may take for 64 KiB of a reply.
const writeWithin = 30 * time.Second

// endpoint answers a request with a JSON body, or with an error.
type endpoint func(r *request) (body []byte, err error)

// guard lets callers through who have the permission. At the service's own
// client APIs a key travels in the Authorization header alone.
func (rp *replies) guard(permission account.Permission, next endpoint) http.Handler {
	return rp.guardClientAPI(rp.native, permission, next)
}

// guardClientAPI lets callers through who have the permission, at the client API of the
// dialect d.
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
		left := rp.limits.Status(ratelimit.CallerOf(p))
		d.LimitHeaders(r.reply, rp.now(), &left)
		if err := p.May(permission); err != nil {
			return nil, err
		}
		r.principal = p
		return next(r)
	})
}

// handle is the one place that turns an error into a reply, in the words of
// the dialect d, and logs it.
func (rp *replies) handle(d *dialect.Dialect, next endpoint) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := uuid.Must(uuid.NewV7()).String()
		h := w.Header()
		d.CommonHeaders(h, id, rp.now(), &llm.RateLimitStatus{})
		h.Set("Content-Type", "application/json")
		status := http.StatusOK
		req := &request{Request: r, id: id, reply: h}
		defer req.end()
		body, err := next(req)
		if err != nil {
			e := llm.AsError(err)
			logFailure(rp.log, id, r, e)
			dialect.ErrorHeaders(h, e)
			status, body = cmp.Or(req.status, d.Status(e.Code)), d.EncodeError(nil, e, id)
		}
		h.Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(status)
		dialect.WriteBody(w, body, writeWithin)
	})
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

// NotFound answers where there is nothing, in the service's own words.
func (s *Server) NotFound() http.Handler {
	return s.nothing(nil, "This path does not exist. The base URL of an OpenAI client ends with /v1, "+
		"the base URL of an Anthropic or Google client does not. GET /openapi.json lists all paths.")
}

// NotServed answers where a client API of a vendor's may have something and the gateway has not,
// with the paths that it serves. The dialect is that of the client API; nil for the service's own.
func (s *Server) NotServed(d *dialect.Dialect, served []string) http.Handler {
	return s.nothing(d, "This path is not served by this gateway. It serves "+strings.Join(served, ", ")+
		". GET /openapi.json tells of each.")
}

// NoConversations answers at the paths of OpenAI's conversations, which there are none of.
func (s *Server) NoConversations(d *dialect.Dialect) http.Handler {
	return s.nothing(d, "There are no conversation objects here. Go on from a response by its id as previous_response_id, "+
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

// Refuse answers with what the request must not do, in the service's own words.
func (s *Server) Refuse(check func(*http.Request) error) http.Handler {
	return s.replies.handle(s.replies.native, func(r *request) ([]byte, error) { return nil, check(r.Request) })
}

// MethodNotAllowed answers at a path that takes other methods alone. The
// dialect is that of the path; nil for the service's own.
func (s *Server) MethodNotAllowed(d *dialect.Dialect, allowed ...string) http.Handler {
	if d == nil {
		d = s.replies.native
	}
	list := strings.Join(allowed, ", ")
	return s.replies.handle(d, func(r *request) ([]byte, error) {
		r.reply.Set("Allow", list)
		if r.Method == http.MethodGet && d.Vendor != "" && httpguts.HeaderValuesContainsToken(r.Header["Upgrade"], "websocket") {
			return nil, r.refuseUpgrade(list)
		}
		return nil, &llm.Error{Code: llm.CodeMethodNotAllowed, Message: "This path accepts only " + list + "."}
	})
}

// refuseUpgrade refuses to go on as a WebSocket with 426, by which clients such as Codex know at once that the path is for
// plain HTTP; a 405 they try again (https://www.rfc-editor.org/rfc/rfc9110#section-15.5.22).
func (r *request) refuseUpgrade(list string) error {
	r.status = http.StatusUpgradeRequired
	r.reply.Set("Upgrade", "HTTP/1.1")
	r.reply.Set("Connection", "Upgrade")
	return &llm.Error{
		Code: llm.CodeMethodNotAllowed, Message: "This gateway serves no WebSockets. Send plain HTTP requests: this path accepts " + list + ".",
	}
}
