package app_test

import (
	"strings"
	"testing"

	"weir/internal/llm"
)

// TestAnthropicProvider asks a provider of Anthropic's wire format at the client APIs
// of others, and holds the books against what it truly served.
func TestAnthropicProvider(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	yaml := strings.Replace(providersYAML(up.url), "dialect: openai", "dialect: anthropic", 1)
	h := open(t, setup{yaml: yaml})
	completion := func(model string, stream bool) ask {
		body := `{"model":"house/` + model + `","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"}]`
		if stream {
			body += `,"stream":true,"stream_options":{"include_usage":true}`
		}
		return ask{path: "/v1/chat/completions", body: body + "}"}
	}
	native := func(model string, stream bool) ask {
		a := ask{path: "/v1/chat", body: hello("house/" + model)}
		if stream {
			a.header = []string{"Accept", "text/event-stream"}
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
		for name, clientAPI := range map[string]func(string, bool) ask{"native": native, "openai": completion} {
			for _, stream := range []bool{false, true} {
				if !stream && !tt.whole {
					continue
				}
				up.Reset()
				r := h.do(clientAPI(tt.model, stream))
				rec, got := up.records(t)[0], h.row(r.header.Get("X-Request-Id"))
				if r.status != 200 || got.outcome != tt.outcome || got.provenance != tt.provenance {
					t.Errorf("%s in the %s API, stream %t: %d, %+v\n%s", tt.model, name, stream, r.status, got, r.body)
				}
				if tt.provenance == "exact" && (got.in != rec.Usage.InputTokens() || got.out != rec.Usage.OutputTokens()) {
					t.Errorf("%s in the %s API, stream %t: %+v, truly %v", tt.model, name, stream, got, rec.Usage)
				}
				// A stream that breaks off has said before what went in.
				if tt.outcome == "cut" && got.in != rec.Usage[llm.Input] {
					t.Errorf("%s in the %s API: %d tokens in, truly %v", tt.model, name, got.in, rec.Usage)
				}
			}
		}
	}
}
