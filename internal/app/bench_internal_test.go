package app

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"weir/internal/ratelimit"
)

// BenchmarkPipeline is the CPU of one request from the router to the last
// write, without sockets: the journal is real, the provider is in memory.
func BenchmarkPipeline(b *testing.B) {
	many := ratelimit.Limits{RPM: 1 << 40, TPM: 1 << 40, Concurrency: 1 << 40}
	vendor := `{"model":"house/m","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hello!"}]}`
	for _, clientAPI := range []struct {
		name, path, body string
		limits           ratelimit.Policy
	}{
		{"native", "/v1/chat", `{"model":"house/m","messages":[{"role":"system","prompt":"Be brief."},{"role":"user","prompt":"Hello!"}]}`, ratelimit.Policy{}},
		{"vendor", "/v1/chat/completions", vendor, ratelimit.Policy{}},
		{"vendor limited", "/v1/chat/completions", vendor, ratelimit.Policy{Installation: many, PerKey: many, PerAccount: many}},
	} {
		b.Run(clientAPI.name, func(b *testing.B) {
			g, key := pipeline(b, canned{http.Header{"Content-Type": {"application/json"}}, wholeReply})
			g.limits.Use(clientAPI.limits)
			handler := g.handler()
			out := &sink{header: http.Header{}}
			b.ReportAllocs()
			for b.Loop() {
				r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, clientAPI.path, io.NopCloser(strings.NewReader(clientAPI.body)))
				if err != nil {
					b.Fatal(err)
				}
				r.Header.Set("Authorization", "Bearer "+key)
				out.reset()
				handler.ServeHTTP(out, r)
			}
			out.isWhole(b, clientAPI.name)
		})
	}
}
