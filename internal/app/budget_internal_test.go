package app

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"weir/internal/gateway"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/pricing"
	"weir/internal/provider"
	"weir/internal/ratelimit"
	"weir/internal/route"
)

// canned is a provider in memory that always sends the same answer.
type canned struct {
	header http.Header
	body   string
}

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	if trace := httptrace.ContextClientTrace(r.Context()); trace != nil {
		trace.GetConn("canned")
		trace.GotConn(httptrace.GotConnInfo{})
	}
	_, _ = io.Copy(io.Discard, r.Body)
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: c.header, ContentLength: -1, Body: io.NopCloser(strings.NewReader(c.body)), Request: r,
	}, nil
}

// deafStore is a database that accepts nothing until it is closed, so that work outside the path of a request does not
// count in the measurement.
type deafStore struct{ closed chan struct{} }

func (s deafStore) Position(context.Context, uuid.UUID) (ledger.Position, error) { return 0, nil }
func (s deafStore) SetAside(context.Context, uuid.UUID) (int64, error)           { return 0, nil }
func (s deafStore) OpenAttempts(context.Context, uuid.UUID) ([]ledger.Attempt, error) {
	return nil, nil
}
func (s deafStore) Apply(context.Context, *ledger.Batch) error { <-s.closed; return nil }
func (s deafStore) Durable(context.Context) error              { return nil }

// sink is a client that reads and discards everything.
type sink struct {
	header http.Header
	status int
	bytes  int
}

func (s *sink) Header() http.Header              { return s.header }
func (s *sink) BeginFields()                     {}
func (s *sink) AddField(string, string)          {}
func (s *sink) AddNumber(string, int64)          {}
func (s *sink) HasField(string) bool             { return false }
func (s *sink) WriteHeader(status int)           { s.status = status }
func (s *sink) Write(b []byte) (int, error)      { s.bytes += len(b); return len(b), nil }
func (s *sink) Flush()                           {}
func (s *sink) SetReadDeadline(time.Time) error  { return nil }
func (s *sink) SetWriteDeadline(time.Time) error { return nil }
func (s *sink) reset()                           { clear(s.header); s.status, s.bytes = 0, 0 }
func (s *sink) isWhole(t testing.TB, name string) {
	t.Helper()
	if s.status != http.StatusOK && s.status != 0 || s.bytes < 200 {
		t.Fatalf("%s: status %d, %d bytes", name, s.status, s.bytes)
	}
}

// pipeline builds a gateway with a canned provider.
func pipeline(t testing.TB, c canned) (g *instance, key string) { return pipelineOf(t, c, "openai") }

// pipelineOf builds a gateway with a canned provider of that wire format.
func pipelineOf(t testing.TB, c canned, wire string) (g *instance, key string) {
	g = newInstance(t)
	key = newKey(t, g, "hot")
	store := deafStore{make(chan struct{})}
	meter, err := ledger.New(context.Background(), ledger.Options{
		Dir: filepath.Join(t.TempDir(), "journal"), Store: store, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	must.Do(t, err)
	t.Cleanup(func() {
		close(store.closed)
		if err := meter.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	p, err := provider.New(provider.Options{
		Name: "house", Dialect: g.upstream.Dialects().Named(wire), BaseURL: "http://canned.invalid/v1",
		APIKeys: []llm.Secret{llm.NewSecret("sk-canned")}, Local: c,
	})
	must.Do(t, err)
	book, err := pricing.NewBook(pricing.Overrides{Prices: map[string]pricing.PriceOverride{"house/*": {"input": "0.15", "output": "0.60"}}})
	must.Do(t, err)
	table, err := route.NewTable(route.Options{Providers: []*provider.Provider{p}, Book: book, DefaultMaxOutput: 8192})
	must.Do(t, err)
	g.router.Use(table)
	g.meterWith(meter)
	return g, key
}

// meterWith has all attempts recorded in another ledger.
func (g *instance) meterWith(meter *ledger.Ledger) {
	g.gateway = gateway.New(gateway.Options{
		Accounts: g.admin.Accounts, Ledger: meter, Router: g.router, Idempotency: g.idempotency, Limits: g.limits, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	g.site.gateway = g.gateway
}

const (
	wholeReply = `{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hello! How can I help you today?","refusal":null},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":9,"total_tokens":18,"prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":{"reasoning_tokens":0}}}`
	onePiece   = `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":" help"},"logprobs":null,"finish_reason":null}],"usage":null}` + "\n\n"
	lastPieces = `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}],"usage":null}` + "\n\n" +
		`data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":100,"total_tokens":109}}` + "\n\ndata: [DONE]\n\n"
)

// TestAllocationBudget bounds the allocations of one request through the pipeline: of a stream, one for the text of
// each piece, and almost nothing else that grows with it. The bounds are a little above the measured numbers. It is not
// parallel, because it counts for the whole process.
func TestAllocationBudget(t *testing.T) {
	jsonHeader := http.Header{"Content-Type": {"application/json"}}
	sseHeader := http.Header{"Content-Type": {"text/event-stream"}}
	stream := func(pieces int) canned { return canned{sseHeader, strings.Repeat(onePiece, pieces) + lastPieces} }
	native := `{"model":"house/m","messages":[{"role":"system","prompt":"Be brief."},{"role":"user","prompt":"Hello!"}]}`
	vendor := `{"model":"house/m","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hello!"}]`
	many := ratelimit.Limits{RPM: 1 << 40, TPM: 1 << 40, Concurrency: 1 << 40}
	none, plenty := ratelimit.Policy{}, ratelimit.Policy{Installation: many, PerKey: many, PerAccount: many}
	tests := []struct {
		name, path, body, accept string
		provider                 canned
		most                     float64
		limits                   ratelimit.Policy
	}{
		{"native, whole", "/v1/chat", native, "", canned{jsonHeader, wholeReply}, 69, none},
		{"native, stream of 10", "/v1/chat", native, "text/event-stream", stream(10), 94, none},
		{"native, stream of 1000", "/v1/chat", native, "text/event-stream", stream(1000), 1098, none},
		{"vendor, whole", "/v1/chat/completions", vendor + "}", "", canned{jsonHeader, wholeReply}, 62, none},
		{"vendor, stream of 10", "/v1/chat/completions", vendor + `,"stream":true}`, "", stream(10), 97, none},
		{"vendor, stream of 1000", "/v1/chat/completions", vendor + `,"stream":true}`, "", stream(1000), 1100, none},
		{"vendor, whole, limited", "/v1/chat/completions", vendor + "}", "", canned{jsonHeader, wholeReply}, 64, plenty},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g, key := pipeline(t, test.provider)
			g.limits.Use(test.limits)
			handler := g.site.handler()
			w := &sink{header: http.Header{}}
			body := strings.NewReader(test.body)
			unread := io.NopCloser(body)
			r := &http.Request{
				Method: http.MethodPost, URL: &url.URL{Path: test.path}, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
				Header: http.Header{"Authorization": {"Bearer " + key}, "Content-Type": {"application/json"}, "Accept": {test.accept}},
				Body:   unread, ContentLength: int64(len(test.body)), RequestURI: test.path,
			}
			once := func() {
				w.reset()
				body.Reset(test.body)
				r.Body = unread
				handler.ServeHTTP(w, r)
			}
			once()
			w.isWhole(t, test.name)
			got := testing.AllocsPerRun(20, once)
			w.isWhole(t, test.name)
			t.Logf("%v allocations", got)
			if got > test.most {
				t.Errorf("%v allocations a request, want at most %v", got, test.most)
			}
		})
	}
}
