package gateway

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"weir/internal/account"
	"weir/internal/conversation"
	"weir/internal/dialect"
	"weir/internal/dialect/parse"
	"weir/internal/idempotency"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/quote"
	"weir/internal/ratelimit"
	"weir/internal/route"
	"weir/internal/telemetry"
)

// Options is what a Server is made of. All but the metrics and the limits are
// required.
type Options struct {
	Accounts    *account.Service
	Ledger      *ledger.Ledger
	Router      *route.Router
	Idempotency idempotency.Store
	Kept        *conversation.Service
	Limits      *ratelimit.Limiter
	// Refused is told of requests that a limit or a budget refused, before their
	// clients are, and must not block; nil for nobody.
	Refused func(*account.Principal, *llm.Error)
	Now     func() time.Time
	Log     *slog.Logger
	Metrics *telemetry.Metrics // nil for some of its own

	MaxBody        int64 // bytes of a request body; 0 for 32 MiB
	MaxBodies      int64 // bytes of all bodies in flight; 0 for 10 times MaxBody, or a third of GOMEMLIMIT
	MaxConcurrency int64 // requests in flight; 0 for 4096
	Timing         Timing
}

// Timing is the pipeline's timers. A zero is the default.
type Timing struct {
	KeepAlive   time.Duration // silence after which a stream gets a comment; keepAlive
	BodyRead    time.Duration // for a client to send its body; 60 s
	Write       time.Duration // for a client to take one piece; 30 s
	DrainAnswer time.Duration // for reading on after a client left; 30 min, and the provider's total at most
	DrainUsage  time.Duration // for the usage of a whole stream whose client left; 1 s
	KeepLate    time.Duration // for a late answer to wait for a repeat of its request; keepLate
}

// keepAlive lets a client that has left be noticed within 10 s behind proxies that tell of it at the second write, as
// HAProxy and Apache do.
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
	leastMaxBodies        = 5  // times MaxBody: an account alone has 47 % of it, and a large body counts twice
	bodiesOfMemory        = 3  // all bodies get this part of GOMEMLIMIT, where that is less

	// placeFactor and bodyFactor are how many times what is free of the places, and of the
	// bytes of bodies in flight, an account may hold: where no other wants any, 88 % of all
	// places, so that few lie idle, and 47 % of the bytes.
	placeFactor = 16
	bodyFactor  = 1
)

// Server takes requests through the pipeline.
type Server struct {
	accounts    *account.Service
	ledger      *ledger.Ledger
	router      *route.Router
	idempotency idempotency.Store
	kept        *conversation.Service
	limits      *ratelimit.Limiter
	refused     func(*account.Principal, *llm.Error)
	now         func() time.Time
	log         *slog.Logger

	metrics   *telemetry.Metrics
	admission *admission
	places    *shares // requests in flight
	waiting   *shares // requests that wait for a place of their account's share
	maxBody   int64
	maxBodies int64
	timing    Timing

	stopping context.Context // ends when answers are no longer read, with errStopping
	stop     context.CancelCauseFunc

	drains     atomic.Int64 // answers that are read though their clients have left
	mostDrains int64
	late       lateAnswers // of requests that were told that none had come

	bodiesInFlight  *shares        // bytes of requests
	answersInFlight *shares        // bytes of answers
	garbage         atomic.Int64   // bytes of large bodies that were let go
	overdraft       chan struct{}  // has one while an answer is beyond its share
	processor       *processor     // of the work between
	bounds          *parse.Limiter // of what is decoded
	bodies          sync.Pool      // of *[]byte
	encoders        sync.Pool      // of *[]byte, for replies
}

// maxBodies is how many bytes all bodies of requests may have, of maxBody each, in a process
// that may have so much memory: math.MaxInt64 for no limit.
func maxBodies(maxBody, memory int64) int64 {
	return max(leastMaxBodies*maxBody, min(defaultMaxBodies*maxBody, memory/bodiesOfMemory))
}

// New makes a server.
func New(o Options) *Server {
	s := &Server{
		accounts: o.Accounts, ledger: o.Ledger, router: o.Router, idempotency: o.Idempotency, kept: o.Kept,
		limits: o.Limits, refused: o.Refused,
		now: o.Now, log: o.Log, maxBody: o.MaxBody, maxBodies: o.MaxBodies,
		metrics: o.Metrics, timing: o.Timing.withDefaults(),
	}
	if s.maxBody == 0 {
		s.maxBody = defaultMaxBody
	}
	if s.maxBodies == 0 {
		s.maxBodies = maxBodies(s.maxBody, debug.SetMemoryLimit(-1))
	}
	if s.refused == nil {
		s.refused = func(*account.Principal, *llm.Error) {}
	}
	if s.metrics == nil {
		s.metrics = telemetry.New("")
	}
	places := cmp.Or(o.MaxConcurrency, defaultMaxConcurrency)
	s.mostDrains = max(leastDrains, places/drainsShare)
	s.late = lateAnswers{most: 2 * s.mostDrains, keep: s.timing.KeepLate, byKey: map[string][]*lateAnswer{}}
	s.bodiesInFlight, s.bounds = newShares(s.maxBodies, bodyFactor), parse.NewLimiter()
	s.answersInFlight, s.overdraft = newShares(s.maxBodies/arrivalShare, bodyFactor), make(chan struct{}, 1)
	s.places, s.waiting = newShares(places, placeFactor), newShares(max(minQueue, places/keptShare), bodyFactor)
	s.processor = newProcessor(runtime.GOMAXPROCS(0))
	s.admission = newAdmission(places, s.places.alone(), floor())
	s.stopping, s.stop = context.WithCancelCause(context.Background())
	s.bodies.New = func() any { return new([]byte) }
	s.encoders.New = func() any { return new([]byte) }
	return s
}

// Handler answers the operations of the dialect d that have a route in common
// to callers who have the permission. They count for the pattern at which it
// is.
//
// Stage 1: make a call.
func (s *Server) Handler(pattern string, d *dialect.Dialect, served []*dialect.Operation,
	permission account.Permission,
) http.Handler {
	counted := s.metrics.Route(pattern)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		op := dialect.Asked(served, r.URL.Path)
		s.newCall(w, r, d, op, permission, counted).handle()
	})
}

// HandlerAs answers the operation of the dialect d to a caller who is known
// already, and comes without a key: whoever mounts it has found out who that is.
// Such a request has no Idempotency-Key, whose replies are sealed with the
// caller's key.
func (s *Server) HandlerAs(pattern string, d *dialect.Dialect, op *dialect.Operation) func(http.ResponseWriter,
	*http.Request, *account.Principal) {
	counted := s.metrics.Route(pattern)
	return func(w http.ResponseWriter, r *http.Request, p *account.Principal) {
		r.Header.Del("Idempotency-Key")
		c := s.newCall(w, r, d, op, account.Chat, counted)
		c.principal = p
		c.handle()
	}
}

func (s *Server) newCall(w http.ResponseWriter, r *http.Request, d *dialect.Dialect, op *dialect.Operation,
	permission account.Permission, counted *telemetry.Route,
) *call {
	c := &call{
		Request: quote.Request{Dialect: d, Op: op, Header: r.Header}, server: s, w: w, r: r, permission: permission,
		started: s.ledger.Now().UTC().Truncate(time.Microsecond),
	}
	c.measured.route = counted
	c.Source, c.client.r = c, r
	c.held.server, c.held.client = s, &c.client
	return c
}

// Stop ends all requests at once. Clients that wait are told so, where Base is the context of
// their connections.
func (s *Server) Stop() { s.stop(errStopping) }

// Base is the context for a server to derive those of requests from. Stop ends it.
func (s *Server) Base() context.Context { return s.stopping }

var errStopping = errors.New("gateway: it stops")

// stopped is what clients are told whose requests Stop ends.
func stopped(err error) error {
	return &llm.Error{
		Code: llm.CodeOverloaded, Message: "The gateway is stopping and has ended this request. Send it again.",
		RetryAfter: time.Second, Err: err,
	}
}

// InFlight is how many requests are in the pipeline.
func (s *Server) InFlight() int64 {
	inFlight, _ := s.admission.holding()
	return inFlight
}

// Waiting is how many requests wait to come into the pipeline.
func (s *Server) Waiting() int64 {
	_, waiting := s.admission.holding()
	return waiting
}
