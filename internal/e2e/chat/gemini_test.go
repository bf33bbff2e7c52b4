package chat_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"weir/internal/e2e/harness"
	"weir/internal/llm"
)

// geminiGateway is a configuration with one provider of Gemini's wire format.
func geminiGateway(url string) string {
	yaml := strings.Replace(harness.ProvidersYAML(url), "dialect: openai", "dialect: gemini", 1)
	return strings.Replace(yaml, "base_url: "+url+"/v1", "base_url: "+url+"/v1beta", 1)
}

// TestGeminiProvider asks a provider of Gemini's wire format at the client APIs of
// others, and holds the books against what it truly served.
func TestGeminiProvider(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: geminiGateway(up.URL)})
	for _, tt := range []struct {
		model, outcome, provenance string
		whole                      bool // also what is not streamed ends so
	}{
		{"chat", "ok", "exact", true},
		{"chat:prompt=1000,cached=800,reasoning=30", "ok", "exact", true},
		{"reason", "ok", "exact", true},
		{"chat:fault=content-filter", "ok", "exact", true},
		{"chat:fault=no-end", "ok", "exact", true},
		{"chat:fault=cut,prompt=500", "cut", "estimated", false},
		{"chat:fault=eof,prompt=500", "cut", "estimated", false},
		{"chat:fault=error-event,prompt=500", "cut", "estimated", false},
		{"chat:fault=malformed,prompt=500", "cut", "estimated", false},
	} {
		for _, stream := range []bool{false, true} {
			if !stream && !tt.whole {
				continue
			}
			said := fmt.Sprintf("Hi, stream %t", stream)
			completion := harness.Ask{Path: "/v1/chat/completions", Body: fmt.Sprintf(`{"model":"house/%s","messages":[{"role":"user","content":"%s"}],"stream":%t}`, tt.model, said, stream)}
			native := harness.Ask{Path: "/v1/chat", Body: fmt.Sprintf(`{"model":"house/%s","messages":[{"role":"user","prompt":"%s, natively"}]}`, tt.model, said)}
			if stream {
				native.Header = []string{"Accept", "text/event-stream"}
			}
			for _, a := range []harness.Ask{completion, native} {
				up.Reset()
				r := h.Do(a)
				rec, got := up.Records(t)[0], h.Row(r.Header.Get("X-Request-Id"))
				if r.Status != 200 || got.Outcome != tt.outcome || got.Provenance != tt.provenance {
					t.Errorf("%s at %s, stream %t: %d, %+v\n%s", tt.model, a.Path, stream, r.Status, got, r.Body)
				}
				if tt.provenance == "exact" && (got.In != rec.Usage.InputTokens() || got.Out != rec.Usage.OutputTokens()) {
					t.Errorf("%s at %s, stream %t: %+v, truly %v", tt.model, a.Path, stream, got, rec.Usage)
				}
				if rec.Stream != stream || rec.Usage[llm.Input] == 0 {
					t.Errorf("%s at %s, stream %t: record %+v", tt.model, a.Path, stream, rec)
				}
			}
		}
	}
}

// signer is a provider that wants its thought signature back.
type signer struct {
	mu   sync.Mutex
	sent []string
}

func (s *signer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, string(body))
	const answer = `{"candidates":[{"content":{"parts":[{"text":"Let me look.","thoughtSignature":"QUJD"},{"functionCall":{"id":"x7","name":"look","args":{}},"thoughtSignature":"REVG"}],"role":"model"},"finishReason":"STOP"}],` +
		`"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":7,"totalTokenCount":12}}`
	if strings.HasSuffix(r.URL.Path, ":streamGenerateContent") {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: "+answer+"\r\n\r\n")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, answer)
}

// TestThoughtSignatures holds that a client of OpenAI's format gets the thought
// signatures, and that they come back to where they were.
func TestThoughtSignatures(t *testing.T) {
	t.Parallel()
	up := &signer{}
	ts := httptest.NewServer(up)
	t.Cleanup(ts.Close)
	h := harness.Open(t, harness.Setup{YAML: geminiGateway(ts.URL)})
	const first = `{"role":"user","content":"Hi"}`
	const tools = `,"tools":[{"type":"function","function":{"name":"look"}}]`
	for _, stream := range []string{"", `,"stream":true`} {
		r := h.Do(harness.Ask{Path: "/v1/chat/completions", Body: `{"model":"house/gemini-3-pro","messages":[` + first + `]` + tools + stream + `}`})
		for _, want := range []string{`"extra_content":{"google":{"thought_signature":"QUJD"}}`, `"extra_content":{"google":{"thought_signature":"REVG"}}`, `"id":"x7"`} {
			if r.Status != 200 || !strings.Contains(r.Body, want) {
				t.Errorf("%d without %s: %s", r.Status, want, r.Body)
			}
		}
	}
	h.Do(harness.Ask{Path: "/v1/chat/completions", Body: `{"model":"house/gemini-3-pro","messages":[` + first + `,{"role":"assistant","content":"Let me look.","extra_content":{"google":{"thought_signature":"QUJD"}},` +
		`"tool_calls":[{"id":"x7","type":"function","function":{"name":"look","arguments":"{}"},"extra_content":{"google":{"thought_signature":"REVG"}}}]},{"role":"tool","tool_call_id":"x7","content":"a wall"}]` + tools + `}`})
	const want = `{"role":"model","parts":[{"text":"Let me look.","thoughtSignature":"QUJD"},{"functionCall":{"id":"x7","name":"look","args":{}},"thoughtSignature":"REVG"}]},` +
		`{"role":"user","parts":[{"functionResponse":{"id":"x7","name":"look","response":{"output":"a wall"}}}]}`
	if got := up.sent[len(up.sent)-1]; !strings.Contains(got, want) {
		t.Errorf("the provider got %s, want in it %s", got, want)
	}
}
