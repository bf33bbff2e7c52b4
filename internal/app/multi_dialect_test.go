package app_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestMultiDialectProvider asks a provider that speaks several wire formats at one address:
// each client API's own where it can, so that nothing is translated, else its usual
// one.
func TestMultiDialectProvider(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	h := open(t, setup{yaml: strings.Replace(providersYAML(up.url), "dialect: openai\n", "dialect: openai\n    also: [responses, anthropic]\n", 1)})
	for _, tt := range []struct{ path, body, want, holds string }{
		{"/v1/responses", `{"model":"house/chat","input":"Hi","tools":[{"type":"namespace","name":"agents","tools":[]},{"type":"web_search"}]}`, "responses", `"object":"response"`},
		{"/v1/responses", `{"model":"house/chat","input":"Hi","stream":true}`, "responses", "response.completed"},
		{"/v1/messages", `{"model":"house/chat","max_tokens":9,"messages":[{"role":"user","content":"Hi"}]}`, "anthropic", `"type":"message"`},
		{"/v1/chat/completions", completion("house/chat", ""), "openai", `"object":"chat.completion"`},
		{"/v1/chat", hello("house/chat"), "openai", `"responsetype"`},
		{"/v1/embeddings", `{"model":"house/chat","input":"Hi"}`, "openai", `"embedding"`},
		{"/v1beta/models/house/chat:generateContent", `{"contents":[{"parts":[{"text":"Hi"}]}]}`, "openai", `"candidates"`},
	} {
		r := h.do(ask{path: tt.path, body: tt.body})
		all := up.records(t)
		if got := all[len(all)-1].Dialect; r.status != http.StatusOK || got != tt.want || !strings.Contains(r.body, tt.holds) || !strings.Contains(r.body, `"cost":`) && tt.path != "/v1/chat" {
			t.Errorf("%s: status %d, the provider was asked in %s, want %s: %s", tt.path, r.status, got, tt.want, r.body)
		}
	}
	r := h.do(ask{path: "/v1/messages", body: `{"model":"house/chat:status=429,retry_after=1","max_tokens":9,"messages":[{"role":"user","content":"Hi"}]}`})
	if r.status != http.StatusTooManyRequests || !strings.Contains(r.body, "rate_limit_error") {
		t.Errorf("an error: status %d, %s", r.status, r.body)
	}
}

// TestMultiDialectFallback rescues an answer that one provider began in the client's
// own words, and the other goes on with in its usual ones.
func TestMultiDialectFallback(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	one := strings.Replace(providerYAML("one", up.url), "dialect: openai\n", "dialect: openai\n    also: [responses]\n", 1)
	h := open(t, setup{yaml: "providers:" + one + providerYAML("two", up.url) + "aliases:\n  tale: {targets: [\"one/story:fault=cut,at=9\", \"two/story\"]}\n  safe: {targets: [\"two/story\"]}\n"})
	want, _, err := storyClients["responses"](t, h, "safe")
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := storyClients["responses"](t, h, "tale")
	if err != nil || got != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}
