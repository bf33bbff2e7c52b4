package chat_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
	"weir/internal/rawjson"
)

// message builds a request at Anthropic's client API.
func message(model, members string) harness.Ask {
	return harness.Ask{Path: "/v1/messages", Body: `{"model":"house/` + model + `","max_tokens":9,"messages":[{"role":"user","content":"Hi"}]` + members + "}"}
}

// refusing starts a provider of Anthropic's wire format that answers with the status in the model's name, and the
// reason.
func refusing(t *testing.T) string {
	t.Helper()
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		status, _ := strconv.Atoi(rawjson.Text(rawjson.Get(body, "model")))
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"type":"error","error":{"type":"not_found_error","message":"No such thread.","details":{"error_code":"thread_not_found"}}}`)
	}))
	t.Cleanup(ts.Close)
	return ts.URL
}

// TestAnthropicReason checks that Anthropic's SDKs receive the error type by which they choose an exception class,
// except for errors between the provider and the gateway.
func TestAnthropicReason(t *testing.T) {
	t.Parallel()
	h := harness.Open(t, harness.Setup{YAML: harness.DialectYAML("anthropic", refusing(t)+"/v1")})
	for status, want := range map[int]string{400: "thread_not_found", 404: "thread_not_found", 409: "thread_not_found", 401: "", 402: "", 403: ""} {
		r := h.Do(message(fmt.Sprint(status), ""))
		if got := rawjson.Text(rawjson.Get([]byte(r.Body), "error", "details", "error_code")); got != want {
			t.Errorf("%d: error_code %q, want %q: %s", status, got, want, r.Body)
		}
	}
	if r := h.Do(message("404", "")); r.Status != http.StatusNotFound || !strings.Contains(r.Body, "No such thread.") {
		t.Errorf("404: got %d, %s; want the provider's own words", r.Status, r.Body)
	}
}

// TestAnthropicThread asks a provider that stores no conversations to store one: the SDKs then send all of it.
func TestAnthropicThread(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	for _, wire := range []string{"openai", "anthropic"} {
		h := harness.Open(t, harness.Setup{YAML: harness.DialectYAML(wire, up.URL+"/v1")})
		r := h.Do(message("echo", `,"thread":{"type":"create"}`))
		if got := rawjson.Text(rawjson.Get([]byte(r.Body), "error", "details", "error_code")); r.Status != http.StatusBadRequest || got != "thread_unsupported_request" {
			t.Errorf("%s: got %d, %s; want 400 and thread_unsupported_request", wire, r.Status, r.Body)
		}
	}
}

// TestAnthropicRequestID checks the header that Anthropic's SDKs read.
func TestAnthropicRequestID(t *testing.T) {
	t.Parallel()
	h, _ := harness.OpenSimulated(t)
	for _, model := range []string{"echo", "chat:status=500"} {
		r := h.Do(message(model, ""))
		if got, want := r.Header.Get("Request-Id"), r.Header.Get("X-Request-Id"); got != want || got == "" {
			t.Errorf("%s: Request-Id %q, want %q", model, got, want)
		}
	}
	if r := h.Do(harness.Ask{Path: "/v1/chat/completions", Body: `{"model":"house/echo","messages":[{"role":"user","content":"Hi"}]}`}); r.Header.Get("Request-Id") != "" {
		t.Errorf("OpenAI API: Request-Id %q, want none", r.Header.Get("Request-Id"))
	}
}
