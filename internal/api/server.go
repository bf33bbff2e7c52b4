// Package api is the service's own JSON API around the pipeline: usage,
// models, administration, health, and what answers where nothing else does.
package api

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"weir/internal/account"
	"weir/internal/conversation"
	"weir/internal/dialect"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/people"
	"weir/internal/ratelimit"
	"weir/internal/route"
)

// UsesReader reads usage reports from the database.
type UsesReader interface {
	Uses(ctx context.Context, q ledger.UsesQuery) (ledger.UsesPage, error)
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
	Kept         *conversation.Service
	ReadCapacity func(r *http.Request, account string) (capacity conversation.Capacity, done func()) // to read it
	// Admin is what AdminRoutes work with.
	Admin AdminOptions
	// Prices is of which day the price data is, and what is wrong with the price files;
	// nil: nothing is told of them.
	Prices func() (day time.Time, problem string)
	// Version is that of the program.
	Version string
	Now     func() time.Time
	Log     *slog.Logger
}

// Server answers everything that is not a request to a model.
type Server struct {
	accounts     *account.Service
	ledger       *ledger.Ledger
	uses         UsesReader
	router       *route.Router
	dialects     dialect.Set
	native       *dialect.Dialect // whose errors the service's own API speaks
	kept         *conversation.Service
	readCapacity func(*http.Request, string) (conversation.Capacity, func())
	limits       *ratelimit.Limiter
	spoken       *dialect.Dialect // of what is kept
	admin        *AdminOptions
	document     func() (*document, error) // made when it is first asked for
	prices       func() (day time.Time, problem string)
	now          func() time.Time
	log          *slog.Logger
}

// New makes a server.
func New(o Options) *Server {
	return &Server{
		accounts: o.Accounts, ledger: o.Ledger, uses: o.Uses, router: o.Router,
		dialects: o.Dialects, native: o.Dialects.Own(), kept: o.Kept, readCapacity: o.ReadCapacity,
		limits: o.Limits, spoken: o.Dialects.Keeping(), now: o.Now, log: o.Log,
		prices:   o.Prices,
		admin:    &o.Admin,
		document: sync.OnceValues(func() (*document, error) { return newDocument(o.Version, o.Dialects) }),
	}
}

// request is one request to the API.
type request struct {
	*http.Request
	id        string
	principal *account.Principal // nil where anybody may call
	token     string             // the caller's key
	reply     http.Header        // its headers
	done      func()             // to be called when the reply is written; nil for nothing
}

// writeWithin is how long a client may take for 64 KiB of a reply.
const writeWithin = 30 * time.Second

// endpoint answers a request with a JSON body, or with an error.
type endpoint func(r *request) (body []byte, err error)

// guard lets callers through who have the permission. At the service's own
// client APIs a key travels in the Authorization header alone.
func (s *Server) guard(permission account.Permission, next endpoint) http.Handler {
	return s.guardClientAPI(s.native, permission, next)
}

// guardClientAPI lets callers through who have the permission, at the client API of the
// dialect d.
func (s *Server) guardClientAPI(d *dialect.Dialect, permission account.Permission, next endpoint) http.Handler {
	return s.handle(d, func(r *request) ([]byte, error) {
		token, err := account.Token(r.Header, d.KeyHeaders...)
		if err != nil {
			return nil, err
		}
		r.token = token
		p, err := s.accounts.Authenticate(r.Context(), r.token)
		if err != nil {
			return nil, err
		}
		left := s.limits.Status(ratelimit.CallerOf(p))
		d.LimitHeaders(r.reply, s.now(), &left)
		if err := p.May(permission); err != nil {
			return nil, err
		}
		r.principal = p
		return next(r)
	})
}

// handle is the one place that turns an error into a reply, in the words of
// the dialect d, and logs it.
func (s *Server) handle(d *dialect.Dialect, next endpoint) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := uuid.Must(uuid.NewV7()).String()
		h := w.Header()
		d.CommonHeaders(h, id, s.now(), &llm.RateLimitStatus{})
		h.Set("Content-Type", "application/json")
		status := http.StatusOK
		req := &request{Request: r, id: id, reply: h}
		defer req.end()
		body, err := next(req)
		if err != nil {
			e := llm.AsError(err)
			s.logFailure(id, r, e)
			dialect.ErrorHeaders(h, e)
			status, body = d.Status(e.Code), d.EncodeError(nil, e, id)
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

func (s *Server) logFailure(id string, r *http.Request, e *llm.Error) {
	log := s.log.Debug
	if e.Code == llm.CodeInternal || e.Code == llm.CodeOverloaded {
		log = s.log.Error
	}
	log("request failed", "request", id, "path", people.HidePath(r.URL.Path), "code", string(e.Code), "err", e)
}

// NotFound answers where there is nothing. The dialect is that of the client API
// beside; nil for the service's own.
func (s *Server) NotFound(d *dialect.Dialect) http.Handler {
	message := "There is nothing at this path. GET /v1/models lists what there is to be asked."
	if d == nil {
		d, message = s.native, "There is nothing at this path. The base URL of an OpenAI client ends with /v1, that "+
			"of an Anthropic or Google one does not; GET /openapi.json lists every path."
	}
	return s.handle(d, func(*request) ([]byte, error) {
		return nil, &llm.Error{Code: llm.CodeNotFound, Message: message}
	})
}

// Refuse answers with what the request must not do, in the service's own words.
func (s *Server) Refuse(check func(*http.Request) error) http.Handler {
	return s.handle(s.native, func(r *request) ([]byte, error) { return nil, check(r.Request) })
}

// MethodNotAllowed answers at a path that takes other methods alone. The
// dialect is that of the path; nil for the service's own.
func (s *Server) MethodNotAllowed(d *dialect.Dialect, allowed ...string) http.Handler {
	if d == nil {
		d = s.native
	}
	list := strings.Join(allowed, ", ")
	return s.handle(d, func(r *request) ([]byte, error) {
		r.reply.Set("Allow", list)
		return nil, &llm.Error{Code: llm.CodeMethodNotAllowed, Message: "This path takes " + list + "."}
	})
}
