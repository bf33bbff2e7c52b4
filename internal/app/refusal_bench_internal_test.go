package app

import (
	"io"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"testing"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/gateway"
	"weir/internal/must"
)

// BenchmarkRefusal measures the CPU time of one refused request of a full gateway, from the router to the last write,
// without sockets: by the node's overload, and by a rate limit of the key.
func BenchmarkRefusal(b *testing.B) {
	b.Run("overload", func(b *testing.B) {
		g, key := pipeline(b, canned{http.Header{"Content-Type": {"application/json"}}, wholeReply})
		g.pipeline.MaxConcurrency = 1
		g.gateway = gateway.New(g.pipeline)
		handler := g.site.handler()
		body, never := io.Pipe() // of the request that occupies the only slot
		served := make(chan struct{})
		go func() {
			defer close(served)
			r := &http.Request{Method: http.MethodPost, URL: &url.URL{Path: "/v1/chat"}, Header: http.Header{"Authorization": {"Bearer " + key}}, Body: body}
			handler.ServeHTTP(&sink{header: http.Header{}}, r)
		}()
		defer func() { never.Close(); <-served }()
		for g.gateway.Capacity().InFlight() == 0 {
			runtime.Gosched()
		}
		refuse(b, handler, key, http.StatusServiceUnavailable)
	})
	b.Run("limit", func(b *testing.B) {
		g, key := pipeline(b, canned{http.Header{"Content-Type": {"application/json"}}, wholeReply})
		must.Get(g.admin.Accounts.SetLimits(b.Context(), audit.Gateway(), "hot", account.Limits{RPM: 1}))(b)
		g.gateway = gateway.New(g.pipeline)
		handler := g.site.handler()
		askOnce(b, handler, key)
		refuse(b, handler, key, http.StatusTooManyRequests)
	})
}

// refuse sends requests, which must get that status.
func refuse(b *testing.B, handler http.Handler, key string, want int) {
	b.Helper()
	out := &sink{header: http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		out.reset()
		handler.ServeHTTP(out, askFor(b, key))
		if out.status != want {
			b.Fatalf("got %d, want %d", out.status, want)
		}
	}
}

// askOnce sends one request.
func askOnce(b *testing.B, handler http.Handler, key string) {
	b.Helper()
	handler.ServeHTTP(&sink{header: http.Header{}}, askFor(b, key))
}

// askFor returns a request with low priority.
func askFor(b *testing.B, key string) *http.Request {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, "/v1/chat", io.NopCloser(strings.NewReader(
		`{"model": "house/m", "messages": [{"role": "user", "content": "Hi"}]}`)))
	must.Do(b, err)
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Weir-Priority", "batch")
	return r
}
