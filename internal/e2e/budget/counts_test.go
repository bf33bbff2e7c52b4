package budget_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"weir/internal/budget"
	"weir/internal/e2e/harness"
	"weir/internal/llm"
	"weir/internal/must"
)

// TestCountsStayInBudget uses a provider that counts more tokens than a rough look at the body shows: each U+007F as
// one, as OpenAI's vocabulary does, and the arguments of a call after rewriting them, as vLLM does with Qwen's. Its
// charge stays within a budget that is a little too small, and a large enough one permits the request.
func TestCountsStayInBudget(t *testing.T) {
	t.Parallel()
	numbers := "[" + strings.TrimSuffix(strings.Repeat("7,", 10_000), ",") + "]"
	arguments := string(must.Get(json.Marshal(`{"a":` + numbers + `}`))(t))
	for _, tt := range []struct {
		name, model, messages string
		counted               int64
		enough                int64 // times the count
	}{
		{"U+007F", "gpt-4o", `[{"role":"user","content":"` + strings.Repeat("\x7f", 260_000) + `"}]`, 260_000 + 10, 2},
		{"arguments", "qwen3", `[{"role":"assistant","content":"","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":` + arguments + `}}]},` +
			`{"role":"tool","tool_call_id":"c","content":"ok"}]`, 3*10_000 + 10, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int64
			up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				asked.Add(1)
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(w, `{"id":"r","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],`+
					`"usage":{"prompt_tokens":%d,"completion_tokens":1,"total_tokens":%d}}`, tt.counted, tt.counted+1)
			}))
			t.Cleanup(up.Close)
			h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("house", up.URL) + "prices:\n  house/*: {input: \"1\", output: \"1\"}\n"})
			ask := harness.Ask{Path: "/v1/chat/completions", Body: `{"model":"house/` + tt.model + `","max_tokens":1,"messages":` + tt.messages + `}`}
			charge := llm.Money(tt.counted+1) * llm.USD / 1_000_000
			limit := charge * 9 / 10
			h.SetBudget(limit, budget.PeriodTotal)
			try(h, ask, 0)
			if truth := llm.Money(asked.Load()) * charge; truth > limit {
				t.Errorf("the provider charges $%s of a budget of $%s, %.2f of it", truth, limit, float64(truth)/float64(limit))
			}
			h.SetBudget(llm.Money(tt.enough)*charge, budget.PeriodTotal)
			if try(h, ask, 0); asked.Load() == 0 {
				t.Errorf("the provider got no request under a budget of %d times its charge", tt.enough)
			}
		})
	}
}
