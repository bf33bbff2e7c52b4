package app_test

import "testing"

// message is a request at Anthropic's door.
func message(model, members string) ask {
	return ask{path: "/v1/messages", body: `{"model":"house/` + model + `","max_tokens":9,"messages":[{"role":"user","content":"Hi"}]` + members + "}"}
}

// TestAnthropicRequestID is the header in which Anthropic's SDKs look.
func TestAnthropicRequestID(t *testing.T) {
	t.Parallel()
	h, _ := openHoused(t)
	for _, model := range []string{"echo", "chat:status=500"} {
		r := h.do(message(model, ""))
		if got, want := r.header.Get("Request-Id"), r.header.Get("X-Request-Id"); got != want || got == "" {
			t.Errorf("%s: Request-Id %q, want %q", model, got, want)
		}
	}
	if r := h.do(ask{path: "/v1/chat/completions", body: `{"model":"house/echo","messages":[{"role":"user","content":"Hi"}]}`}); r.header.Get("Request-Id") != "" {
		t.Errorf("OpenAI's door: Request-Id %q, want none", r.header.Get("Request-Id"))
	}
}
