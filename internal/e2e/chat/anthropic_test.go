package chat_test

import (
	"strings"
	"testing"

	"weir/internal/e2e/harness"
	"weir/internal/llm"
)

// TestAnthropicProvider asks a provider of Anthropic's wire format at the client APIs
// of others, and holds the books against what it truly served.
func TestAnthropicProvider(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	yaml := strings.Replace(harness.ProvidersYAML(up.URL), "dialect: openai", "dialect: anthropic", 1)
	h := harness.Open(t, harness.Setup{YAML: yaml})
	completion := func(model string, stream bool) harness.Ask {
		body := `{"model":"house/` + model + `","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"}]`
		if stream {
			body += `,"stream":true,"stream_options":{"include_usage":true}`
		}
		return harness.Ask{Path: "/v1/chat/completions", Body: body + "}"}
	}
	native := func(model string, stream bool) harness.Ask {
		a := harness.Ask{Path: "/v1/chat", Body: harness.Hello("house/" + model)}
		if stream {
			a.Header = []string{"Accept", "text/event-stream"}
		}
		return a
	}
	tests := []struct {
		model, outcome, provenance string
		whole                      bool // also what is not streamed ends so
	}{
		{"chat", "ok", "exact", true},
		{"chat:prompt=1000,cached=800,reasoning=30", "ok", "exact", true},
		{"reason", "ok", "exact", true},
		{"chat:usage=missing,prompt=500", "ok", "estimated", true},
		{"chat:usage=negative,prompt=500", "ok", "estimated", true},
		{"chat:usage=twice", "ok", "exact", true},
		{"chat:usage=decreasing", "ok", "exact", true},
		{"chat:usage=nodetails,reasoning=30", "ok", "exact", true},
		{"chat:fault=no-end", "ok", "exact", true},
		{"chat:fault=cut,prompt=500", "cut", "estimated", false},
		{"chat:fault=eof,prompt=500", "cut", "estimated", false},
		{"chat:fault=error-event,prompt=500", "cut", "estimated", false},
		{"chat:fault=malformed,prompt=500", "cut", "estimated", false},
	}
	for _, tt := range tests {
		for name, clientAPI := range map[string]func(string, bool) harness.Ask{"native": native, "openai": completion} {
			for _, stream := range []bool{false, true} {
				if !stream && !tt.whole {
					continue
				}
				up.Reset()
				r := h.Do(clientAPI(tt.model, stream))
				rec, got := up.Records(t)[0], h.Row(r.Header.Get("X-Request-Id"))
				if r.Status != 200 || got.Outcome != tt.outcome || got.Provenance != tt.provenance {
					t.Errorf("%s in the %s API, stream %t: %d, %+v\n%s", tt.model, name, stream, r.Status, got, r.Body)
				}
				if tt.provenance == "exact" && (got.In != rec.Usage.InputTokens() || got.Out != rec.Usage.OutputTokens()) {
					t.Errorf("%s in the %s API, stream %t: %+v, truly %v", tt.model, name, stream, got, rec.Usage)
				}
				// A stream that breaks off has said before what went in.
				if tt.outcome == "cut" && got.In != rec.Usage[llm.Input] {
					t.Errorf("%s in the %s API: %d tokens in, truly %v", tt.model, name, got.In, rec.Usage)
				}
			}
		}
	}
}
