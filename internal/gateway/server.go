package gateway

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"weir/internal/account"
	"weir/internal/answercache"
	"weir/internal/capacity"
	"weir/internal/contentlog"
	"weir/internal/conversation"
	"weir/internal/dialect"
	"weir/internal/dialect/parse"
	"weir/internal/idempotency"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/promptcache"
	"weir/internal/ratelimit"
	"weir/internal/refusal"
	"weir/internal/route"
	"weir/internal/telemetry"
	"weir/internal/toolloop"
	"weir/internal/tracing"
	"weir/internal/websocket"
)

// Options configures a Server. Refused, Metrics, the bounds and Timing are optional.
type Options struct {
	Accounts    *account.Service
	Ledger      *ledger.Ledger
	Router      *route.Router
	Idempotency idempotency.Store
	Kept        *conversation.Service
	Limits      *ratelimit.Limiter
	// Refused is called for each request that a limit or a budget refused, before the client gets the error. It must
	// not block. It may be nil.
	Refused func(*account.Principal, *llm.Error)
	// Tools runs tools of MCP servers for models; nil for none.
	Tools *toolloop.Loop
	// Answers stores whole answers; nil for none.
	Answers *answercache.Cache
	// Content logs the content of requests; nil for none.
	Content *contentlog.Recorder
	// Refusals counts the requests that end without an attempt at a provider; nil for none.
	Refusals *refusal.Recorder
	Now      func() time.Time
	Log      *slog.Logger
	Metrics  *telemetry.Metrics // nil for a separate registry
	Tracer   *tracing.Tracer    // nil for no traces

	MaxBody        int64 // bytes of a request body; 0 means 32 MiB
	MaxBodies      int64 // of all bodies in flight; 0 means 10 times MaxBody, or a third of GOMEMLIMIT if less
	MaxConcurrency int64 // requests in flight; 0 means 4096
	MaxSockets     int64 // WebSockets of clients; 0 means twice MaxConcurrency
	Timing         Timing
}

// Timing holds the pipeline's timeouts. A zero field means its default.
type Timing struct {
	KeepAlive   time.Duration // silence before a stream gets a comment; default keepAlive
	BodyRead    time.Duration // for a client to send its body; default 60 s
	Write       time.Duration // for a client to receive one piece; default 30 s
	DrainAnswer time.Duration // to read an answer after its client left; default 30 min, at most the provider's total
	DrainUsage  time.Duration // to read the usage of a whole stream after its client left; default 1 s
	KeepLate    time.Duration // a late answer waits for a repeat of its request; default keepLate
	Sockets     websocket.Timing
}

// keepAlive makes sure that a client that has left is noticed within 10 s, even behind proxies that report it only at
// the second write, as HAProxy and Apache do.
const keepAlive = 5 * time.Second

func (t Timing) withDefaults() Timing {
	for _, d := range []struct {
		value *time.Duration
		or    time.Duration
	}{
		{&t.KeepAlive, keepAlive},
		{&t.BodyRead, time.Minute},
		{&t.Write, 30 * time.Second},
		{&t.DrainAnswer, 30 * time.Minute},
		{&t.DrainUsage, time.Second},
		{&t.KeepLate, keepLate},
	} {
		if *d.value == 0 {
			*d.value = d.or
		}
	}
	return t
}

const (
	defaultMaxBody        = 32 << 20
	defaultMaxConcurrency = 4096
	defaultMaxBodies      = 10 // times MaxBody
	leastMaxBodies        = 5  // times MaxBody: a single account may use 47 % of it, and a large body counts twice
	bodiesOfMemory        = 3  // all bodies together get 1/bodiesOfMemory of GOMEMLIMIT, if that is less
)

// Server runs requests through the pipeline.
type Server struct {
	accounts    *account.Service
	ledger      *ledger.Ledger
	router      *route.Router
	idempotency idempotency.Store
	kept        *conversation.Service
	limits      *ratelimit.Limiter
	refused     func(*account.Principal, *llm.Error)
	refusals    *refusal.Recorder
	content     *contentlog.Recorder
	prompts     *promptcache.Memory
	tools       *toolloop.Loop
	answers     *answercache.Cache
	now         func() time.Time
	log         *slog.Logger

	metrics  *telemetry.Metrics
	tracer   *tracing.Tracer
	capacity *capacity.Node
	maxBody  int64
	timing   Timing

	stopping context.Context // ends with capacity.ErrStopping when the server stops reading answers
	stop     context.CancelCauseFunc

	drains     atomic.Int64 // answers that are read after their clients have left
	mostDrains int64
	late       lateAnswers // answers of requests that got an error before

	bounds   *parse.Limiter // bounds of decoded JSON
	bodies   sync.Pool      // of *[]byte
	encoders sync.Pool      // of *[]byte, for replies
	requests sync.Pool      // of *request
	measured sync.Pool      // of *llm.Measured
}

// maxBodies returns how many bytes all request bodies together may have. maxBody is the bound of one body, memory that
// of the process; math.MaxInt64 means no limit.
func maxBodies(maxBody, memory int64) int64 {
	return max(leastMaxBodies*maxBody, min(defaultMaxBodies*maxBody, memory/bodiesOfMemory))
}

// New returns a server.
func New(o Options) *Server {
	s := &Server{
		accounts: o.Accounts, ledger: o.Ledger, router: o.Router, idempotency: o.Idempotency, kept: o.Kept,
		limits: o.Limits, refused: o.Refused, refusals: o.Refusals, content: o.Content, tools: o.Tools,
		answers: o.Answers, now: o.Now, log: o.Log, maxBody: o.MaxBody,
		prompts: promptcache.NewMemory(), metrics: o.Metrics, tracer: o.Tracer, timing: o.Timing.withDefaults(),
	}
	if s.maxBody == 0 {
		s.maxBody = defaultMaxBody
	}
	if s.refused == nil {
		s.refused = func(*account.Principal, *llm.Error) {}
	}
	if s.metrics == nil {
		s.metrics = telemetry.New("", telemetry.Labels{})
	}
	slots := cmp.Or(o.MaxConcurrency, defaultMaxConcurrency)
	s.mostDrains = max(leastDrains, slots/drainsShare)
	s.late = lateAnswers{most: 2 * s.mostDrains, keep: s.timing.KeepLate, byKey: map[string][]*lateAnswer{}}
	s.bounds = parse.NewLimiter()
	s.stopping, s.stop = context.WithCancelCause(context.Background())
	s.capacity = capacity.New(capacity.Options{
		Sockets: cmp.Or(o.MaxSockets, 2*slots), Slots: slots,
		Bodies:   cmp.Or(o.MaxBodies, maxBodies(s.maxBody, debug.SetMemoryLimit(-1))),
		Stopping: s.stopping, Metrics: s.metrics, Log: s.log,
	})
	s.bodies.New = func() any { return new([]byte) }
	s.encoders.New = func() any { return new([]byte) }
	s.requests.New = func() any { return new(request) }
	s.measured.New = func() any { return new(llm.Measured) }
	return s
}

// Handler serves the operations of the dialect d that share a route, for callers with the permission. Metrics count
// them by the route's pattern.
//
// Stage 1: take a request.
func (s *Server) Handler(pattern string, d *dialect.Dialect, served []*dialect.Operation,
	permission account.Permission,
) http.Handler {
	counted := counter{s.metrics.Route(pattern), pathOf(pattern)}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		op := dialect.Asked(served, r.URL.Path)
		s.serve(s.newRequest(s.ledger.NewID(), w, r, d, op, permission, counted))
	})
}

// HandlerAs serves the operation of the dialect d for a caller that has been authenticated already and sends no API
// key. Such a request has no Idempotency-Key, because stored replies are sealed with the caller's key.
func (s *Server) HandlerAs(pattern string, d *dialect.Dialect, op *dialect.Operation) func(http.ResponseWriter,
	*http.Request, *account.Principal) {
	counted := counter{s.metrics.Route(pattern), pathOf(pattern)}
	return func(w http.ResponseWriter, r *http.Request, p *account.Principal) {
		r.Header.Del("Idempotency-Key")
		q := s.newRequest(s.ledger.NewID(), w, r, d, op, account.Chat, counted)
		q.in.principal = p
		s.serve(q)
	}
}

// serve runs a request, and then lets another one use its memory, unless something may still refer to it.
func (s *Server) serve(q *request) {
	q.handle() // a panic of an aborted answer passes, and the memory is not reused
	if q.isUnshared() {
		q.reset()
		s.requests.Put(q)
	}
}

// counter counts the requests at a route, by its path.
type counter struct {
	route *telemetry.Route
	path  string
}

// pathOf returns the path of a pattern, such as /v1/chat.
func pathOf(pattern string) string { return pattern[strings.IndexByte(pattern, ' ')+1:] }

func (s *Server) newRequest(id uuid.UUID, w http.ResponseWriter, r *http.Request, d *dialect.Dialect,
	op *dialect.Operation, permission account.Permission, counted counter,
) *request {
	q := s.requests.Get().(*request)
	in := &q.in
	in.Dialect, in.Op, in.Header, in.Bounds = d, op, r.Header, s.bounds
	in.server, in.w, in.r, in.permission = s, w, r, permission
	in.started = s.ledger.Now().UTC().Truncate(time.Microsecond)
	in.arrived = in.started
	in.client.Request = r
	in.held = s.capacity.Hold(&in.client, "")
	in.Capacity = &in.held
	in.id = requestID{id, id.String()}
	in.trace = s.tracer.Request(r, counted.path, in.id.text, in.started)
	q.x.in, q.x.measured.route, q.x.reading.in = in, counted.route, in
	return q
}

// Stop ends all requests at once. Waiting clients get an error, if Base is the context of their connections.
func (s *Server) Stop() { s.stop(capacity.ErrStopping) }

// Base returns the context that a server must derive its request contexts from. Stop ends it.
func (s *Server) Base() context.Context { return s.stopping }

// stopped returns the error for clients of requests that Stop ended.
func stopped(err error) error {
	return &llm.Error{
		Code: llm.CodeOverloaded, Message: "The gateway is stopping and has ended this request. Send it again.",
		RetryAfter: time.Second, Err: err,
	}
}

// Capacity returns the capacity that requests share.
func (s *Server) Capacity() *capacity.Node { return s.capacity }
