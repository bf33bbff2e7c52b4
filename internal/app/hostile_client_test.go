package app_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestOwnFieldsInDisguise is a field of the gateway's own whose name is spelt
// with escapes: it counts all the same, and no provider gets to see it.
func TestOwnFieldsInDisguise(t *testing.T) {
	t.Parallel()
	s := newStoryProvider(t)
	h := open(t, setup{yaml: "default_model: one/go\nproviders:" + providerYAML("one", s.url)})
	for _, field := range []string{`"fall\u0062acks":["one/go"]`, `"resc\u0075e":"off"`} {
		r := h.do(ask{path: "/v1/chat/completions", body: `{` + field + `,"model":"one/whole","messages":[{"role":"user","content":"Tell me."}]}`})
		got := s.take()
		if r.status != http.StatusOK || len(got) != 1 || strings.Contains(got[0], `\u00`) {
			t.Errorf("%s: %d, the provider got %s", field, r.status, got)
		}
	}
	r := h.do(ask{path: "/v1/chat/completions", body: `{"fall\u0062acks":["nobody/m"],"model":"one/whole","messages":[{"role":"user","content":"x"}]}`})
	if r.status != http.StatusNotFound {
		t.Errorf("an unknown fallback: %d %s, want 404", r.status, r.body)
	}
}

// TestSameFallbackOnce is a request that names one model over and over: it is
// asked once, so that no single request opens its circuit for everybody.
func TestSameFallbackOnce(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	h := open(t, setup{yaml: providersYAML(up.url)})
	r := h.do(ask{path: "/v1/chat", body: `{"fallbacks":["house/chat:status=503","house/chat:status=503","house/chat:status=503","house/chat:status=503"],"model":"house/chat:status=503","messages":[{"role":"user","prompt":"x"}]}`})
	if n := r.header.Get("X-Weir-Attempts"); n != "1" {
		t.Errorf("%s attempts, want 1: %s", n, r.body)
	}
}

// TestDroppedNames is a request whose unknown fields have names that no header
// can carry, or too many of them.
func TestDroppedNames(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	yaml := "default_model: one/chat\nproviders:" + strings.Replace(providerYAML("one", up.url), "dialect: openai", "dialect: anthropic", 1)
	h := open(t, setup{yaml: yaml})
	for name, want := range map[string]string{`a\u0000b\u001b[31m\r\nX-Evil: 1`: "a?b?[31m??X-Evil: 1", strings.Repeat("z", 200_000): strings.Repeat("z", 64)} {
		r := h.do(ask{path: "/v1/chat/completions", body: `{"model":"one/chat","` + name + `":1,"messages":[{"role":"user","content":"x"}]}`})
		if got := r.header.Get("X-Weir-Dropped"); r.status != http.StatusOK || got != want {
			t.Errorf("%d, dropped %.100q, want %q", r.status, got, want)
		}
	}
}

// TestDeferred is a switch of a vendor that has its provider answer with something else than
// an answer: it is refused, so that no circuit opens for it.
func TestDeferred(t *testing.T) {
	t.Parallel()
	s := newStoryProvider(t)
	h := open(t, setup{yaml: "default_model: one/go\nproviders:" + providerYAML("one", s.url)})
	for _, field := range []string{`"deferred":true`, `"def\u0065rred":true`, `"deferred":1`} {
		r := h.do(ask{path: "/v1/chat/completions", body: `{` + field + `,"model":"one/whole","messages":[{"role":"user","content":"Tell me."}]}`})
		if got := s.take(); r.status != http.StatusBadRequest || !strings.Contains(r.body, `"param":"deferred"`) || len(got) > 0 {
			t.Errorf("%s: %d %s, the provider got %s; want 400", field, r.status, r.body, got)
		}
	}
	r := h.do(ask{path: "/v1/chat/completions", body: `{"deferred":false,"model":"one/whole","messages":[{"role":"user","content":"Tell me."}]}`})
	if r.status != http.StatusOK {
		t.Errorf("false: %d %s, want 200", r.status, r.body)
	}
}
