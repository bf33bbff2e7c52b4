package faults_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
)

// besideErrors are answers with status 200 that have an error, and beside it what the provider made or
// charges: they are not free.
var besideErrors = []struct {
	name, dialect, body string
	want                string // outcome and provenance of the row
}{
	{"words", "openai", `{"id":"g","choices":[{"message":{"role":"assistant","content":"Half of it"},"finish_reason":"stop"}],"error":{"code":502,"message":"no"}}`, "cut estimated"},
	{"no words", "openai", `{"id":"g","choices":[{"message":{"role":"assistant","content":""},"finish_reason":"error"}],"error":{"code":502,"message":"no"}}`, "rejected exact"},
	{"an odd choice", "openai", `{"id":"g","choices":[1],"error":{"code":502,"message":"no"}}`, "rejected exact"},
	{"usage", "openai", `{"id":"g","usage":{"prompt_tokens":7,"completion_tokens":9},"error":{"code":502,"message":"no"}}`, "cut exact"},
	{"a cost alone", "openai", `{"id":"g","usage":{"cost":0.5},"error":{"code":502,"message":"no"}}`, "cut estimated"},
	{"a stream's event", "openai", "event: error\ndata: {\"error\":{\"message\":\"no\"},\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":9}}\n\n", "cut estimated"},
	{"a stream's event with a cost", "openai", "event: error\ndata: {\"error\":{\"message\":\"no\"},\"usage\":{\"cost\":0.5}}\n\n", "cut estimated"},
	{"a stream's event that is no JSON", "openai", "event: error\ndata: no\n\n", "rejected exact"},
	{"Gemini's words", "gemini", `{"candidates":[{"content":{"parts":[{"text":"Half of it"}],"role":"model"},"finishReason":"STOP"}],"error":{"code":500,"message":"no"}}`, "cut estimated"},
	{"Gemini's odd candidate", "gemini", `{"candidates":[{"content":{"parts":3}}],"error":{"code":500,"message":"no"}}`, "rejected exact"},
	{"Anthropic's words", "anthropic", `{"type":"message","content":[{"type":"text","text":"Half of it"}],"error":{"type":"api_error","message":"no"}}`, "cut estimated"},
	{"Ollama's words", "ollama", `{"model":"m","message":{"role":"assistant","content":"Half of it"},"done":true,"error":"no"}`, "cut estimated"},
	{"Cohere's words", "cohere", `{"id":"g","message":{"role":"assistant","content":[{"type":"text","text":"Half of it"}]},"error":"no"}`, "cut estimated"},
}

// TestBesideErrors is an error that is not alone.
func TestBesideErrors(t *testing.T) {
	t.Parallel()
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var n int
		for i := range besideErrors {
			if strings.HasPrefix(r.URL.Path, fmt.Sprintf("/case-%d/", i)) {
				n = i
			}
		}
		w.Header().Set("Content-Type", "application/json")
		if strings.HasPrefix(besideErrors[n].body, "event:") {
			w.Header().Set("Content-Type", "text/event-stream")
		}
		_, _ = w.Write([]byte(besideErrors[n].body))
	}))
	t.Cleanup(ts.Close)
	var yaml strings.Builder
	yaml.WriteString("providers:\n")
	for i, tt := range besideErrors {
		fmt.Fprintf(&yaml, "  house%d: {dialect: %s, base_url: %q, allow_private: true, api_keys: [one], retries: 0}\n", i, tt.dialect, fmt.Sprintf("%s/case-%d/v1", ts.URL, i))
	}
	yaml.WriteString("prices:\n")
	for i := range besideErrors {
		fmt.Fprintf(&yaml, "  house%d/*: {input: \"0.15\", output: \"0.60\"}\n", i)
	}
	h := harness.Open(t, harness.Setup{YAML: yaml.String()})
	for i, tt := range besideErrors {
		stream := ""
		if strings.HasPrefix(tt.body, "event:") {
			stream = `,"stream":true`
		}
		r := h.Do(harness.Ask{Path: "/v1/chat/completions", Body: harness.Completion(fmt.Sprintf("house%d/m", i), stream)})
		row := h.Row(r.Header.Get("X-Request-Id"))
		if got := row.Outcome + " " + row.Provenance; got != tt.want || r.Status == http.StatusOK && stream == "" || strings.HasPrefix(tt.want, "cut") && row.Cost == "0" {
			t.Errorf("%s: got %d %s, and a row that is %s at %s; want %s", tt.name, r.Status, r.Body, got, row.Cost, tt.want)
		}
	}
}
