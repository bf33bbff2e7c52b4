package faults_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
)

// TestOverflowOfOwnServers checks that an alias falls back to a larger window if llama.cpp's server, or Ollama's,
// reports that a request is too long, and that each client API reports it in the text that its programs recognize.
func TestOverflowOfOwnServers(t *testing.T) {
	t.Parallel()
	const words = "request (1222 tokens) exceeds the available context size (512 tokens), try increasing it"
	refusing := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":{"code":400,"message":"`+words+`","type":"exceed_context_size_error","n_prompt_tokens":1222,"n_ctx":512}}`)
	}
	small := httptest.NewServer(http.HandlerFunc(refusing))
	defer small.Close()
	large := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, harness.Answered(harness.Thousand))
	}))
	defer large.Close()
	h := harness.Open(t, harness.Setup{YAML: "aliases: {any: {targets: [small/m, large/m]}}\nmodels: {small/m: {context: 512}, large/m: {context: 8192}}\nproviders:" +
		harness.ProviderYAML("small", small.URL) + harness.ProviderYAML("large", large.URL)})
	const body = `","max_tokens":9,"messages":[{"role":"user","content":"Hi"}]}`
	if r := h.Do(harness.Ask{Path: "/v1/chat/completions", Body: `{"model":"any` + body}); r.Status != http.StatusOK || r.Header.Get("X-Weir-Model") != "large/m" {
		t.Errorf("an alias: got %d by %q: %s, want 200 by large/m", r.Status, r.Header.Get("X-Weir-Model"), r.Body)
	}
	for path, want := range map[string]string{
		"/v1/chat/completions": `"code":"context_length_exceeded"`,
		"/v1/messages":         `"message":"prompt is too long: 1222 tokens > 512 maximum. ` + words,
	} {
		r := h.Do(harness.Ask{Path: path, Body: `{"model":"small/m` + body})
		if r.Status != http.StatusBadRequest || !strings.Contains(r.Body, want) || !strings.Contains(r.Body, words) {
			t.Errorf("%s: got %d %s, want 400 with %s", path, r.Status, r.Body, want)
		}
	}
}
