package budget_test

import (
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
	"weir/internal/rawjson"
)

// TestCapsThatMeanNoCap checks that an output cap of -1 or 0 means no cap at servers of one's own: it is forwarded
// unchanged, replaced by a cap under a budget, and refused for all other providers.
func TestCapsThatMeanNoCap(t *testing.T) {
	t.Parallel()
	var last atomic.Pointer[[]byte]
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		last.Store(&body)
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/responses") {
			_, _ = io.WriteString(w, `{"id":"r","object":"response","created_at":1,"status":"completed","model":"m","output":[{"type":"message","id":"m",`+
				`"status":"completed","role":"assistant","content":[{"type":"output_text","annotations":[],"text":"Hi"}]}],"usage":{"input_tokens":9,"output_tokens":9,"total_tokens":18}}`)
			return
		}
		_, _ = io.WriteString(w, harness.Answered(harness.Thousand))
	}))
	defer up.Close()
	h := harness.Open(t, harness.Setup{YAML: "aliases: {any: {targets: [house/m, llamacpp/m]}}\n" +
		"prices: {llamacpp/m: {input: \"3\", output: \"11\"}, ollama/m: {input: \"3\", output: \"11\"}, house/m: {input: \"3\", output: \"11\"}}\nproviders:" +
		harness.ProviderYAML("llamacpp", up.URL) + harness.ProviderYAML("house", up.URL) +
		strings.Replace(harness.ProviderYAML("ollama", up.URL), "dialect: openai", "dialect: openai\n    also: [responses]", 1)})
	for _, budgeted := range []bool{false, true} {
		if budgeted {
			h.SetBudget(100*llm.USD, budget.PeriodTotal)
		}
		for _, c := range []struct {
			model, members string
			refused        bool
		}{
			{"llamacpp/m", `"max_tokens":-1`, false},
			{"llamacpp/m", `"max_tokens":0`, false},
			{"llamacpp/m", `"max_completion_tokens":-1`, false},
			{"any", `"max_tokens":-1`, false}, // by the target that accepts it
			{"llamacpp/m", `"max_tokens":-2`, true},
			{"llamacpp/m", `"max_tokens":-1,"max_completion_tokens":5`, true},
			{"house/m", `"max_tokens":-1`, true},
			{"house/m", `"max_tokens":0`, true},
			{"llamacpp/m", `"max_output_tokens":-1`, false}, // as a chat
			{"ollama/m", `"max_output_tokens":-1`, false},
			{"ollama/m", `"max_output_tokens":-2`, true},
			{"house/m", `"max_output_tokens":-1`, true},
		} {
			last.Store(nil)
			ask := harness.Ask{Path: "/v1/chat/completions", Body: fmt.Sprintf(`{"model":%q,%s,"messages":[{"role":"user","content":"Hi"}]}`, c.model, c.members)}
			if strings.Contains(c.members, "output") {
				ask = harness.Ask{Path: "/v1/responses", Body: fmt.Sprintf(`{"model":%q,%s,"input":"Hi"}`, c.model, c.members)}
			}
			r := h.Do(ask)
			if (r.Status == http.StatusBadRequest) != c.refused || (last.Load() == nil) != c.refused {
				t.Errorf("budget %t, %s, %s: status %d, refused: want %t: %s", budgeted, c.model, c.members, r.Status, c.refused, r.Body)
				continue
			}
			if c.refused {
				continue
			}
			sent, is := rawjson.AsInt(rawjson.Get(*last.Load(), "max_tokens"))
			if !is {
				sent, is = rawjson.AsInt(rawjson.Get(*last.Load(), "max_output_tokens"))
			}
			if _, given, _ := strings.Cut(c.members, ":"); !budgeted && is && fmt.Sprint(sent) != given || budgeted && sent < 256 {
				t.Errorf("budget %t, %s: sent a max_tokens of %d", budgeted, c.members, sent)
			}
		}
	}
}
