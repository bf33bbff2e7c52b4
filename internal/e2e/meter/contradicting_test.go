package meter_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
	"weir/internal/ledger"
	"weir/internal/llm"
)

// TestContradictingUsage uses a provider whose counts contradict each other: the row has them as an estimate, and
// budgets count their upper bound.
func TestContradictingUsage(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, usage string
		cost, most  llm.Money // micro-dollars, at 10 and 100 for a token
	}{
		{"agreeing", `{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12}`, 300, 0},
		{"agreeing, without a total", `{"prompt_tokens":10,"completion_tokens":2}`, 300, 0},
		{"reasoning beside the completion", `{"prompt_tokens":10,"completion_tokens":2,"total_tokens":912,"completion_tokens_details":{"reasoning_tokens":900}}`, 90_300, 0},
		{"more reasoning than completion", `{"prompt_tokens":10,"completion_tokens":2,"completion_tokens_details":{"reasoning_tokens":900}}`, 300, 90_300},
		{"a total of more", `{"prompt_tokens":10,"completion_tokens":2,"total_tokens":912}`, 300, 90_300},
		{"more cached than there is", `{"prompt_tokens":10,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":9000}}`, 300, 90_300},
		{"more cached and written than there is", `{"prompt_tokens":3000,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":2000,"cache_write_tokens":1500}}`, 30_200, 65_200},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, stream := range []bool{false, true} {
				provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					if !stream {
						w.Header().Set("Content-Type", "application/json")
						fmt.Fprintf(w, `{"id":"r","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],"usage":%s}`, tt.usage)
						return
					}
					w.Header().Set("Content-Type", "text/event-stream")
					fmt.Fprintf(w, "data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: {\"id\":\"r\",\"choices\":[],\"usage\":%s}\n\ndata: [DONE]\n\n", tt.usage)
				}))
				t.Cleanup(provider.Close)
				h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("house", provider.URL) + harness.PricedAt(10, 100)})
				r := h.Do(harness.Ask{Path: "/v1/chat/completions", Body: fmt.Sprintf(`{"model":"house/m","stream":%t,"messages":[{"role":"user","content":"Hi"}]}`, stream)})
				if r.Status != http.StatusOK || stream && !strings.Contains(r.Body, "[DONE]") {
					t.Fatalf("stream %t: %d %s", stream, r.Status, r.Body)
				}
				e := h.Entry(t, r.Header.Get("X-Request-Id"))
				want := ledger.Exact
				if tt.most > 0 {
					want = ledger.Estimated
				}
				if e.Provenance != want || e.Cost != 1000*tt.cost || e.AtMost != 1000*tt.most {
					t.Errorf("stream %t: %s, $%s, at most $%s; want %s, $%s, $%s", stream, e.Provenance, e.Cost, e.AtMost, want, 1000*tt.cost, 1000*tt.most)
				}
			}
		})
	}
}
