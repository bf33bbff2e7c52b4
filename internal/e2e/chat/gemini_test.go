package chat_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"weir/internal/e2e/harness"
)

// signer is a provider that requires its thought signature in the next request.
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

// TestThoughtSignatures checks that a client of OpenAI's format receives the thought signatures, and that they return
// to their places.
func TestThoughtSignatures(t *testing.T) {
	t.Parallel()
	up := &signer{}
	ts := httptest.NewServer(up)
	t.Cleanup(ts.Close)
	h := harness.Open(t, harness.Setup{YAML: harness.DialectYAML("gemini", ts.URL+"/v1beta")})
	const first = `{"role":"user","content":"Hi"}`
	const tools = `,"tools":[{"type":"function","function":{"name":"look"}}]`
	for _, stream := range []string{"", `,"stream":true`} {
		r := h.Do(harness.Ask{Path: "/v1/chat/completions", Body: `{"model":"house/gemini-3-pro","messages":[` + first + `]` + tools + stream + `}`})
		for _, want := range []string{`"extra_content":{"google":{"thought_signature":"weir1.gemini.0.4.QUJD"}}`, `"extra_content":{"google":{"thought_signature":"weir1.gemini.0.4.REVG"}}`, `"id":"x7"`} {
			if r.Status != 200 || !strings.Contains(r.Body, want) {
				t.Errorf("%d without %s: %s", r.Status, want, r.Body)
			}
		}
	}
	h.Do(harness.Ask{Path: "/v1/chat/completions", Body: `{"model":"house/gemini-3-pro","messages":[` + first + `,{"role":"assistant","content":"Let me look.","extra_content":{"google":{"thought_signature":"weir1.gemini.0.4.QUJD"}},` +
		`"tool_calls":[{"id":"x7","type":"function","function":{"name":"look","arguments":"{}"},"extra_content":{"google":{"thought_signature":"REVG"}}}]},{"role":"tool","tool_call_id":"x7","content":"a wall"}]` + tools + `}`})
	const want = `{"role":"model","parts":[{"text":"Let me look.","thoughtSignature":"QUJD"},{"functionCall":{"id":"x7","name":"look","args":{}},"thoughtSignature":"REVG"}]},` +
		`{"role":"user","parts":[{"functionResponse":{"id":"x7","name":"look","response":{"output":"a wall"}}}]}`
	if got := up.sent[len(up.sent)-1]; !strings.Contains(got, want) {
		t.Errorf("the provider got %s, want in it %s", got, want)
	}
}
