package chat_test

import (
	"net/http"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
)

// TestMultiDialectProvider uses a provider with several wire formats at one address: the client API's own if it has it,
// so that nothing is translated, otherwise its default.
func TestMultiDialectProvider(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: strings.Replace(harness.ProvidersYAML(up.URL), "dialect: openai\n", "dialect: openai\n    also: [responses, anthropic]\n", 1)})
	for _, tt := range []struct{ path, body, want, holds string }{
		{"/v1/responses", `{"model":"house/chat","input":"Hi","tools":[{"type":"namespace","name":"agents","tools":[]},{"type":"web_search"}]}`, "responses", `"object":"response"`},
		{"/v1/responses", `{"model":"house/chat","input":"Hi","stream":true}`, "responses", "response.completed"},
		{"/v1/messages", `{"model":"house/chat","max_tokens":9,"messages":[{"role":"user","content":"Hi"}]}`, "anthropic", `"type":"message"`},
		{"/v1/chat/completions", harness.Completion("house/chat", ""), "openai", `"object":"chat.completion"`},
		{"/v1/chat", harness.Hello("house/chat"), "openai", `"responsetype"`},
		{"/v1/embeddings", `{"model":"house/chat","input":"Hi"}`, "openai", `"embedding"`},
		{"/v1beta/models/house/chat:generateContent", `{"contents":[{"parts":[{"text":"Hi"}]}]}`, "openai", `"candidates"`},
	} {
		r := h.Do(harness.Ask{Path: tt.path, Body: tt.body})
		all := up.Records(t)
		if got := all[len(all)-1].Dialect; r.Status != http.StatusOK || got != tt.want || !strings.Contains(r.Body, tt.holds) || !strings.Contains(r.Body, `"cost":`) && tt.path != "/v1/chat" {
			t.Errorf("%s: status %d, the provider got %s, want %s: %s", tt.path, r.Status, got, tt.want, r.Body)
		}
	}
	r := h.Do(harness.Ask{Path: "/v1/messages", Body: `{"model":"house/chat:status=429,retry_after=1","max_tokens":9,"messages":[{"role":"user","content":"Hi"}]}`})
	if r.Status != http.StatusTooManyRequests || !strings.Contains(r.Body, "rate_limit_error") {
		t.Errorf("an error: status %d, %s", r.Status, r.Body)
	}
}
