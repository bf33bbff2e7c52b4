package chat_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
)

const responsesAnswer = `{"id":"r","object":"response","status":"completed","model":"m","output":[{"type":"message","id":"m1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Hi","annotations":[]}]}],"usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2}}`

// TestHeadersOfAgentsAndTraces sends agents' headers: the vendor's own go to providers with the client's wire format,
// the trace to providers that are configured for it.
func TestHeadersOfAgentsAndTraces(t *testing.T) {
	t.Parallel()
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for wire, own := range map[string]bool{"responses": true, "anthropic": false} {
		got := make(chan http.Header, 1)
		ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			got <- r.Header.Clone()
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, responsesAnswer)
		}))
		yaml := harness.DialectYAML(wire, ts.URL+"/v1")
		if own {
			yaml = strings.Replace(yaml, "retries: 0", "retries: 0\n    trace_context: true", 1)
		}
		h := harness.Open(t, harness.Setup{YAML: yaml})
		h.Do(harness.Ask{Path: "/v1/responses", Body: `{"model":"house/x","input":"Hi"}`, Header: []string{
			"OpenAI-Beta", "responses_multi_agent=v1", "X-OpenAI-Internal-Codex-Responses-Lite", "true", "X-Codex-Turn-State", "s",
			"traceparent", parent, "tracestate", "a=b", "Cookie", "secret", "OpenAI-Organization", "org",
		}})
		sent := <-got
		for name, want := range map[string]string{
			"OpenAI-Beta": "responses_multi_agent=v1", "X-OpenAI-Internal-Codex-Responses-Lite": "true", "X-Codex-Turn-State": "s",
		} {
			if !own {
				want = ""
			}
			if sent.Get(name) != want {
				t.Errorf("%s was sent %s %q, want %q", wire, name, sent.Get(name), want)
			}
		}
		trace := map[bool]string{true: parent + "a=b"}[own]
		if sent.Get("Traceparent")+sent.Get("Tracestate") != trace || sent.Get("Cookie")+sent.Get("OpenAI-Organization") != "" {
			t.Errorf("%s was sent %v", wire, sent)
		}
		ts.Close()
	}
}

// TestRateLimitHeadersOfTheVendor checks that a client of the same wire format receives the vendor's rate-limit
// headers, within bounds, and no other headers of the provider.
func TestRateLimitHeadersOfTheVendor(t *testing.T) {
	t.Parallel()
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Anthropic-Ratelimit-Unified-5h-Utilization", "0.4")
		w.Header().Set("anthropic-ratelimit-unified-status", "allowed")
		w.Header().Set("Anthropic-Ratelimit-Long", strings.Repeat("x", 999))
		w.Header().Set("Anthropic-Ratelimit-Odd", "caf\xc3\xa9")
		w.Header().Set("Anthropic-Organization-Id", "secret")
		w.Header().Set("Set-Cookie", "a=b")
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), `"stream":true`) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"x\",\"content\":[],\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n"+
				"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":1}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"m","type":"message","role":"assistant","model":"x","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`)
	}))
	t.Cleanup(ts.Close)
	h := harness.Open(t, harness.Setup{YAML: harness.DialectYAML("anthropic", ts.URL+"/v1")})
	for _, a := range []struct {
		path, body string
		want       string
	}{
		{"/v1/messages", `{"model":"house/x","max_tokens":9,"messages":[{"role":"user","content":"Hi"}]}`, "0.4"},
		{"/v1/messages", `{"model":"house/x","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"Hi"}]}`, "0.4"},
		{"/v1/chat/completions", `{"model":"house/x","messages":[{"role":"user","content":"Hi"}]}`, ""},
	} {
		got := h.Do(harness.Ask{Path: a.path, Body: a.body})
		if used := got.Header.Get("Anthropic-Ratelimit-Unified-5h-Utilization"); got.Status != http.StatusOK || used != a.want {
			t.Errorf("%s %s: status %d, utilization %q, want %q", a.path, a.body, got.Status, used, a.want)
		}
		for _, name := range []string{"Anthropic-Ratelimit-Long", "Anthropic-Ratelimit-Odd", "Anthropic-Organization-Id", "Set-Cookie"} {
			if got.Header.Get(name) != "" {
				t.Errorf("%s: the client got %s: %s", a.path, name, got.Header.Get(name))
			}
		}
	}
}

// TestWebSocketIsRefusedAtOnce checks that a client that requests a WebSocket where there is none receives 426, and
// continues with plain HTTP.
func TestWebSocketIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	h, _ := harness.OpenSimulated(t)
	got := h.Do(harness.Ask{Path: "/v1/chat/completions", Header: []string{"Upgrade", "websocket", "Connection", "Upgrade", "Sec-WebSocket-Version", "13"}})
	if got.Status != http.StatusUpgradeRequired || got.Header.Get("Upgrade") == "" || !strings.EqualFold(got.Header.Get("Connection"), "upgrade") ||
		!strings.Contains(got.Body, `"invalid_request_error"`) {
		t.Errorf("got %d, %v, %s", got.Status, got.Header, got.Body)
	}
	if plain := h.Do(harness.Ask{Path: "/v1/chat/completions"}); plain.Status != http.StatusMethodNotAllowed {
		t.Errorf("a plain GET: status %d, want 405", plain.Status)
	}
}
