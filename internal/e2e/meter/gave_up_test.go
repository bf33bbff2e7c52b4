package meter_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"weir/internal/budget"
	"weir/internal/e2e/harness"
	"weir/internal/ledger"
	"weir/internal/llm"
)

// TestGivenUpBetween checks the cost and the number of the attempts whose status is of a proxy that lost the provider
// or stopped waiting for it; statuses of the provider itself are free if it says so or did no work.
func TestGivenUpBetween(t *testing.T) {
	t.Parallel()
	const (
		nginx    = "<html>\r\n<head><title>504 Gateway Time-out</title></head>\r\n<body>\r\n<center><h1>504 Gateway Time-out</h1></center>\r\n<hr><center>nginx/1.22.1</center>\r\n</body>\r\n</html>\r\n"
		haproxy  = "<html><body><h1>504 Gateway Time-out</h1>\nThe server didn't respond in time.\n</body></html>\n"
		balancer = "<html>\r\n<head><title>504 Gateway Time-out</title></head>\r\n<body>\r\n<center><h1>504 Gateway Time-out</h1></center>\r\n</body>\r\n</html>\r\n"
		envoy    = "upstream connect error or disconnect/reset before headers. reset reason: connection termination"
		unsent   = "upstream connect error or disconnect/reset before headers. reset reason: connection failure"
		own      = `{"error":{"message":"The server had an error.","type":"server_error","code":"x"}}`
	)
	for _, c := range []struct {
		name, provider string
		status         int
		body           string
		estimated      bool
		asked          int64 // with two retries
	}{
		{"nginx", "house", 504, nginx, true, 1},
		{"HAProxy", "house", 504, haproxy, true, 1},
		{"a load balancer", "house", 504, balancer, true, 1},
		{"nothing but a status", "house", 504, "", true, 1},
		{"Cloudflare, too slow", "house", 524, "error code: 524", true, 1},
		{"Cloudflare, no acknowledgement", "house", 522, "error code: 522", true, 1},
		{"Cloudflare, no answer", "house", 520, "error code: 520", true, 3},
		{"Cloudflare, no server", "house", 521, "error code: 521", false, 3},
		{"Cloudflare, not reached", "house", 523, "error code: 523", false, 3},
		{"nginx, a broken connection", "house", 502, strings.ReplaceAll(nginx, "504 Gateway Time-out", "502 Bad Gateway"), true, 3},
		{"Envoy, a broken connection", "house", 503, envoy, true, 3},
		{"Envoy, no connection", "house", 503, unsent, false, 3},
		{"HAProxy, no server", "house", 503, "<html><body><h1>503 Service Unavailable</h1>\nNo server is available to handle this request.\n</body></html>\n", false, 3},
		{"a request that ran out of time", "house", 408, own, true, 3},
		{"a cancelled request", "house", 499, own, true, 3},
		{"the provider itself, its own time", "house", 504, own, true, 1},
		{"the provider itself, its own gateway", "house", 502, own, false, 3},
		{"the provider itself, an error", "house", 500, own, false, 3},
		{"OpenRouter, which charges for no failure", "openrouter", 504, own, false, 1},
		{"a proxy before OpenRouter", "openrouter", 504, nginx, true, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int64
			up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				asked.Add(1)
				w.Header().Set("Content-Type", "text/html")
				if strings.HasPrefix(c.body, "{") {
					w.Header().Set("Content-Type", "application/json")
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}))
			defer up.Close()
			yaml := strings.Replace(harness.ProviderYAML(c.provider, up.URL), "retries: 0", "retries: 2", 1)
			h := harness.Open(t, harness.Setup{YAML: "providers:" + yaml + "prices:\n  " + c.provider + "/*: {input: \"3\", output: \"11\"}\n"})
			h.SetBudget(llm.USD, budget.PeriodTotal)
			r := h.Do(harness.Ask{Path: "/v1/chat/completions", Body: `{"model":"` + c.provider + `/m","max_tokens":100,"messages":[{"role":"user","content":"Hi there"}]}`})
			e := h.Entry(t, r.Header.Get("X-Request-Id"))
			if got := e.Provenance == ledger.Estimated && e.Cost > 0 && e.AtMost >= 100*11000; got != c.estimated || !got && (e.Provenance != ledger.Exact || e.MostCost() != 0) {
				t.Errorf("got $%s, at most $%s, %s, %s; want an estimate with a bound: %t", e.Cost, e.AtMost, e.Provenance, e.Outcome, c.estimated)
			}
			if asked.Load() != c.asked {
				t.Errorf("got %d requests, want %d", asked.Load(), c.asked)
			}
			h.Verify(t)
		})
	}
}
