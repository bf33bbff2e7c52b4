// Package simulator is a fake provider: the server half of each dialect with a script that the model name selects, so
// that any program that can name a model can be tested against slow, broken and lying providers. It returns the same
// answer to the same request, and records its true usage in a ledger, attempt by attempt, to check a meter against.
//
// It runs as a process of its own or, through RoundTripper, inside another.
package simulator

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"weir/internal/dialect"
	"weir/internal/rawjson"
)

// Options holds the options of a simulator. All except Dialects may be omitted.
type Options struct {
	// Dialects are the dialects to serve, each at its own routes. Those without a server half are skipped, and the
	// native one, because the simulator is a provider, not a gateway.
	Dialects []*dialect.Dialect
	// Seed decides every word of every answer.
	Seed uint64
	// Clock returns the time of answers and of the ledger; nil for time.Now.
	Clock func() time.Time
	// APIKeys are the accepted keys; empty accepts any key and none.
	APIKeys []string
	// MaxRecords bounds the ledger; 0 for 1,000,000. It drops the oldest records.
	MaxRecords int
	// MaxBody bounds a request in bytes; 0 for 32 MiB.
	MaxBody int64
	// PromptCache caches prompts by API key and model, as the vendors do, and accounts for what was missed.
	PromptCache bool
	// Strict refuses chats that break a rule of the vendor of their wire format, or of the one in the model's name.
	Strict bool
	// Log gets one debug line for each request; nil for none.
	Log *slog.Logger
}

const (
	defaultMaxRecords = 1_000_000
	defaultMaxBody    = 32 << 20
	nativeDialect     = "native"
)

// Server is a simulator. It is an http.Handler and safe for concurrent use.
type Server struct {
	seed    uint64
	clock   func() time.Time
	keys    map[string]bool // by fingerprint; nil accepts all
	maxBody int64
	strict  bool
	log     *slog.Logger

	mux     *http.ServeMux
	specs   specCache
	rules   ruleCache
	memo    memo
	cache   *promptCache // nil without one
	visits  visits
	ledger  *Ledger
	buffers sync.Pool

	closeOnce sync.Once
	closed    chan struct{}
}

// New returns a simulator. Close ends its waiting answers.
func New(o Options) *Server {
	s := &Server{
		seed: o.Seed, clock: o.Clock, maxBody: o.MaxBody, strict: o.Strict, log: o.Log,
		mux: http.NewServeMux(), closed: make(chan struct{}),
	}
	if s.clock == nil {
		s.clock = time.Now
	}
	if s.maxBody <= 0 {
		s.maxBody = defaultMaxBody
	}
	if o.PromptCache {
		s.cache = newPromptCache(s.clock)
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if o.MaxRecords <= 0 {
		o.MaxRecords = defaultMaxRecords
	}
	s.ledger = newLedger(o.MaxRecords)
	for _, k := range o.APIKeys {
		if s.keys == nil {
			s.keys = map[string]bool{}
		}
		s.keys[fingerprint(k)] = true
	}
	s.route(o.Dialects)
	return s
}

func (s *Server) route(dialects []*dialect.Dialect) {
	seen := map[string]bool{} // OpenAI's two wire formats share routes
	for _, d := range dialects {
		if d.Name == nativeDialect || d.EncodeReply == nil {
			continue
		}
		if d.Name == "gemini" && s.cache != nil {
			s.mux.HandleFunc("POST /v1beta/cachedContents", func(w http.ResponseWriter, r *http.Request) {
				s.createContent(d, w, r)
			})
		}
		f := formOf(&d.Framing)
		served := d.Served()
		for route, counts := range countingsOf(d) {
			served[route] = append(served[route], counts...)
		}
		for route, served := range served {
			if seen[route] || served[0].EncodeReply == nil {
				continue
			}
			seen[route] = true
			s.mux.HandleFunc(route, func(w http.ResponseWriter, r *http.Request) {
				s.serve(d, dialect.Asked(served, r.URL.Path), f, w, r)
			})
		}
	}
	s.mux.HandleFunc("GET /v1/models", s.serveModels)
	s.mux.HandleFunc("GET /v1/responses/{id}", s.serveStored)
	s.mux.HandleFunc("GET /v1/generation", s.serveGeneration)
	s.mux.HandleFunc("GET /v1/responses", func(w http.ResponseWriter, r *http.Request) { serveMessages(s, w, r) })
	for _, path := range []string{"/v1/realtime", "/openai/v1/realtime", "/openai/realtime"} { // OpenAI's and Azure's
		s.mux.HandleFunc("GET "+path, s.serveTalk)
	}
	s.mux.HandleFunc("GET /ws/{service}", s.serveLive)
	s.organizationRoutes()
	s.mux.HandleFunc("GET /ledger", s.serveLedger)
	s.mux.HandleFunc("GET /ledger/totals", s.serveTotals)
	s.mux.HandleFunc("DELETE /ledger", s.serveClear)
	s.mux.HandleFunc("GET /{$}", s.serveRoot)
}

// ServeHTTP answers at the routes of every dialect, at /v1/models, at those that report on an answer by its id, and at
// /ledger and /ledger/totals.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Ledger returns the ledger.
func (s *Server) Ledger() *Ledger { return s.ledger }

// Reset removes all records of the ledger, cached prompts, and the counts of requests with faults, as after a restart.
// Sequence numbers continue.
func (s *Server) Reset() {
	if s.cache != nil {
		s.cache.clear()
	}
	s.ledger.clear()
	s.visits.clear()
}

// Close ends all waiting answers, without waiting for them. The simulator must not be used after it.
func (s *Server) Close() { s.closeOnce.Do(func() { close(s.closed) }) }

// fingerprint identifies a key in the ledger without disclosing it: the first twelve hexadecimal digits of its SHA-256,
// or nothing for no key.
func fingerprint(key string) string {
	if key == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:6])
}

// keyOf returns the key of a request, in any vendor's form: for a request signed for AWS (Signature Version 4), the
// key's id.
func keyOf(r *http.Request) string {
	scheme, rest, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	switch {
	case strings.EqualFold(scheme, "Bearer"):
		return strings.TrimSpace(rest)
	case scheme == "AWS4-HMAC-SHA256":
		_, scope, _ := strings.Cut(rest, "Credential=")
		id, _, _ := strings.Cut(scope, "/")
		return id
	}
	for _, name := range []string{"X-Api-Key", "Api-Key", "X-Goog-Api-Key"} {
		if key := r.Header.Get(name); key != "" {
			return key
		}
	}
	if r.URL.RawQuery != "" {
		return r.URL.Query().Get("key") // Gemini's
	}
	return ""
}

// maxPooled bounds the buffers that are reused for later requests.
const maxPooled = 1 << 20

func (s *Server) buffer() *[]byte {
	if b, ok := s.buffers.Get().(*[]byte); ok {
		return b
	}
	return new(make([]byte, 0, 4<<10))
}

func (s *Server) release(b *[]byte) {
	if cap(*b) <= maxPooled {
		*b = (*b)[:0]
		s.buffers.Put(b)
	}
}

// serveModels lists the models in OpenAI's form (https://platform.openai.com/docs/api-reference/models/list), each with
// a description.
func (s *Server) serveModels(w http.ResponseWriter, _ *http.Request) {
	b := []byte(`{"object":"list","data":[`)
	for _, m := range Models() {
		b = rawjson.AppendComma(b)
		b = append(b, `{"id":`...)
		b = rawjson.AppendString(b, m.Name)
		b = append(b, `,"object":"model","created":0,"owned_by":"weir","description":`...)
		b = append(rawjson.AppendString(b, m.Description), '}')
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(b, `]}`...))
}

func (s *Server) serveRoot(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(
		w, "This is Weir's simulator, a fake provider. Its models are at /v1/models, its ledger is at /ledger.\n")
}

// Model is a model name that the simulator serves.
type Model struct {
	Name        string
	Description string // one line
}

// Models lists the base models, and names that behave like providers with failures. Any base model accepts any options.
func Models() []Model {
	return []Model{
		{baseChat, "says that it is a demo, then made-up words"},
		{baseEcho, "repeats the last user message word by word"},
		{baseTools, "calls the first tool of the request with arguments that fit its schema"},
		{baseJSON, "answers in the form that response_format requests"},
		{baseReason, "thinks, then answers"},
		{baseStory, "tells the same story to the same question, and continues one that was begun"},
		{"chat:status=429,retry_after=1,once", "too many requests once, with Retry-After, then fine"},
		{"chat:status=429", "too many requests, always"},
		{"chat:status=500,once", "an internal error once, then fine"},
		{"chat:status=503", "unavailable, always"},
		{"chat:fault=reset", "resets the connection before any header"},
		{"chat:fault=silence", "reads the request and never answers"},
		{"chat:ttft=10s", "is slow with the first token"},
		{"chat:fault=cut", "cuts the answer off after three pieces"},
		{"chat:fault=stall", "stops sending after three pieces"},
		{"chat:fault=malformed", "sends one event that is not JSON"},
		{"chat:fault=no-end", "omits the end marker of a stream"},
		{"chat:fault=context-length", "refuses the request as too long"},
		{"chat:fault=content-filter", "ends with the finish reason content_filter"},
		{"chat:fault=no-prefill", "refuses a conversation that ends with the assistant"},
		{"chat:status=500,flap=5", "fails five times, works five times, and so on"},
	}
}

// baseNames returns the names of the base models.
func baseNames() []string {
	return []string{baseChat, baseEcho, baseTools, baseJSON, baseReason, baseStory}
}

// visits counts the requests of a key and model, for temporary faults.
type visits struct {
	mu     sync.Mutex
	counts map[string]int64
}

const maxVisits = 1 << 16

// next returns the number of earlier requests with that name; it restarts when there are more names than it can
// remember.
func (v *visits) next(name string) int64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.counts == nil || len(v.counts) >= maxVisits {
		v.counts = map[string]int64{}
	}
	n := v.counts[name]
	v.counts[name] = n + 1
	return n
}

func (v *visits) clear() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.counts = nil
}
