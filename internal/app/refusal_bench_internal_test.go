package app

import (
	"io"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"testing"

	"weir/internal/gateway"
	"weir/internal/must"
)

// BenchmarkRefusal measures the CPU time of one refused request of a full gateway, from the router to the last write,
// without sockets.
func BenchmarkRefusal(b *testing.B) {
	g, key := pipeline(b, canned{http.Header{"Content-Type": {"application/json"}}, wholeReply})
	g.gateway = gateway.New(gateway.Options{
		Accounts: g.admin.Accounts, Ledger: g.ledger, Router: g.router, Now: g.options.Now, Log: g.options.Log, MaxConcurrency: 1,
	})
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
	out := &sink{header: http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, "/v1/chat", io.NopCloser(strings.NewReader("{}")))
		must.Do(b, err)
		r.Header.Set("Authorization", "Bearer "+key)
		r.Header.Set("X-Weir-Priority", "batch")
		out.reset()
		handler.ServeHTTP(out, r)
	}
	if out.status != http.StatusServiceUnavailable {
		b.Fatalf("got %d, want 503", out.status)
	}
}
