package meter_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
	"weir/internal/ledger"
	"weir/internal/llm"
)

// TestSeveralChoices checks the cost of several choices if a server reports the usage of each, or only of the first, as
// llama.cpp does, and if it reports one for all; and that no client receives usage that it did not request.
func TestSeveralChoices(t *testing.T) {
	t.Parallel()
	words := [3]string{strings.Repeat("one two ", 10), strings.Repeat("three four ", 10), strings.Repeat("five six ", 9) + "seven"}
	tokens := [3]int64{20, 20, 19}
	usage := func(out int64) string {
		return fmt.Sprintf(`"usage":{"prompt_tokens":45,"completion_tokens":%d,"total_tokens":%d}`, out, 45+out)
	}
	whole := func(out int64) string {
		var choices []string
		for i, w := range words {
			choices = append(choices, fmt.Sprintf(`{"index":%d,"message":{"role":"assistant","content":%q},"finish_reason":"stop"}`, i, w))
		}
		return `{"id":"1","object":"chat.completion","created":1,"model":"m","choices":[` + strings.Join(choices, ",") + `],` + usage(out) + `}`
	}
	chunk := func(members string) string {
		return `data: {"id":"1","object":"chat.completion.chunk","created":1,"model":"m",` + members + "}\n\n"
	}
	stream := func(each bool) (body string) {
		for i, w := range words {
			body += chunk(fmt.Sprintf(`"choices":[{"index":%d,"delta":{"role":"assistant","content":%q},"finish_reason":null}]`, i, w))
		}
		for i := range words {
			body += chunk(fmt.Sprintf(`"choices":[{"index":%d,"delta":{},"finish_reason":"stop"}]`, i))
			if each {
				body += chunk(`"choices":[],` + usage(tokens[i]))
			}
		}
		if !each {
			body += chunk(`"choices":[],` + usage(59))
		}
		return body + "data: [DONE]\n\n"
	}
	for _, c := range []struct {
		name, body, members string
		provenance          ledger.Provenance
		least, most         int64 // of output tokens
		usages              int   // chunks with only usage that the client receives
	}{
		{"llama.cpp, whole", whole(20), "", ledger.Estimated, 50, 70, 0},
		{"OpenAI, whole", whole(59), "", ledger.Exact, 59, 59, 0},
		{"llama.cpp, stream", stream(true), `"stream":true,`, ledger.Exact, 59, 59, 0},
		{"llama.cpp, stream with usage", stream(true), `"stream":true,"stream_options":{"include_usage":true},`, ledger.Exact, 59, 59, 3},
		{"OpenAI, stream", stream(false), `"stream":true,`, ledger.Exact, 59, 59, 0},
		{"OpenAI, stream with usage", stream(false), `"stream":true,"stream_options":{"include_usage":true},`, ledger.Exact, 59, 59, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if strings.HasPrefix(c.body, "data:") {
					w.Header().Set("Content-Type", "text/event-stream")
				}
				_, _ = io.WriteString(w, c.body)
			}))
			defer up.Close()
			h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("house", up.URL) + "prices:\n  house/*: {input: \"3\", output: \"11\"}\n"})
			r := h.Do(harness.Ask{Path: "/v1/chat/completions", Body: `{"model":"house/m",` + c.members + `"n":3,"max_tokens":40,"messages":[{"role":"user","content":"Hi"}]}`})
			e := h.Entry(t, r.Header.Get("X-Request-Id"))
			if got := e.Usage.OutputTokens(); e.Provenance != c.provenance || got < c.least || got > c.most {
				t.Errorf("got %d tokens out, %s; want %d to %d, %s", got, e.Provenance, c.least, c.most, c.provenance)
			}
			if truth := llm.Money(45*3000 + 59*11000); e.MostCost() < truth {
				t.Errorf("at most $%s, and $%s is charged", e.MostCost(), truth)
			}
			if got := strings.Count(r.Body, `"choices":[]`); got != c.usages {
				t.Errorf("the client sees %d chunks of usage alone, want %d: %s", got, c.usages, r.Body)
			}
		})
	}
}
