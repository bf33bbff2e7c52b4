package hostile_test

import (
	"net/http"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
)

// TestOwnFieldsInDisguise sends a field of the gateway's own whose name is spelt with escapes: it still counts, and no
// provider receives it.
func TestOwnFieldsInDisguise(t *testing.T) {
	t.Parallel()
	s := harness.NewStoryProvider(t)
	h := harness.Open(t, harness.Setup{YAML: "default_model: one/go\nproviders:" + harness.ProviderYAML("one", s.URL)})
	for _, field := range []string{`"fall\u0062acks":["one/go"]`, `"resc\u0075e":"off"`} {
		r := h.Do(harness.Ask{Path: "/v1/chat/completions", Body: `{` + field + `,"model":"one/whole","messages":[{"role":"user","content":"Tell me."}]}`})
		got := s.Take()
		if r.Status != http.StatusOK || len(got) != 1 || strings.Contains(got[0], `\u00`) {
			t.Errorf("%s: %d, the provider got %s", field, r.Status, got)
		}
	}
	r := h.Do(harness.Ask{Path: "/v1/chat/completions", Body: `{"fall\u0062acks":["nobody/m"],"model":"one/whole","messages":[{"role":"user","content":"x"}]}`})
	if r.Status != http.StatusNotFound {
		t.Errorf("an unknown fallback: %d %s, want 404", r.Status, r.Body)
	}
}

// TestSameFallbackOnce sends a request that names one model many times: it is called once, so that no single request
// opens its circuit for all clients.
func TestSameFallbackOnce(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(up.URL)})
	r := h.Do(harness.Ask{Path: "/v1/chat", Body: `{"fallbacks":["house/chat:status=503","house/chat:status=503","house/chat:status=503","house/chat:status=503"],"model":"house/chat:status=503","messages":[{"role":"user","prompt":"x"}]}`})
	if n := r.Header.Get("X-Weir-Attempts"); n != "1" {
		t.Errorf("%s attempts, want 1: %s", n, r.Body)
	}
}

// TestDroppedNames sends a request whose unknown fields have names that are invalid in headers, or too many.
func TestDroppedNames(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	yaml := "default_model: one/chat\nproviders:" + strings.Replace(harness.ProviderYAML("one", up.URL), "dialect: openai", "dialect: anthropic", 1)
	h := harness.Open(t, harness.Setup{YAML: yaml})
	for name, want := range map[string]string{`a\u0000b\u001b[31m\r\nX-Evil: 1`: "a?b?[31m??X-Evil: 1", strings.Repeat("z", 200_000): strings.Repeat("z", 64)} {
		r := h.Do(harness.Ask{Path: "/v1/chat/completions", Body: `{"model":"one/chat","` + name + `":1,"messages":[{"role":"user","content":"x"}]}`})
		if got := r.Header.Get("X-Weir-Dropped"); r.Status != http.StatusOK || got != want {
			t.Errorf("%d, dropped %.100q, want %q", r.Status, got, want)
		}
	}
}

// TestDeferredAnswersAreRefused sends a vendor's option with which its provider returns no answer yet: it is refused, so
// that no circuit opens for it.
func TestDeferredAnswersAreRefused(t *testing.T) {
	t.Parallel()
	s := harness.NewStoryProvider(t)
	h := harness.Open(t, harness.Setup{YAML: "default_model: one/go\nproviders:" + harness.ProviderYAML("one", s.URL)})
	for _, field := range []string{`"deferred":true`, `"def\u0065rred":true`, `"deferred":1`} {
		r := h.Do(harness.Ask{Path: "/v1/chat/completions", Body: `{` + field + `,"model":"one/whole","messages":[{"role":"user","content":"Tell me."}]}`})
		if got := s.Take(); r.Status != http.StatusBadRequest || !strings.Contains(r.Body, `"param":"deferred"`) || len(got) > 0 {
			t.Errorf("%s: %d %s, the provider got %s; want 400", field, r.Status, r.Body, got)
		}
	}
	r := h.Do(harness.Ask{Path: "/v1/chat/completions", Body: `{"deferred":false,"model":"one/whole","messages":[{"role":"user","content":"Tell me."}]}`})
	if r.Status != http.StatusOK {
		t.Errorf("false: %d %s, want 200", r.Status, r.Body)
	}
}
