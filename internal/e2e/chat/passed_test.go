package chat_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"weir/internal/e2e/harness"
)

// TestPassedHeaders sends the headers of a vendor's betas: they go only to providers of that vendor's kind, and no
// other header of the client does.
func TestPassedHeaders(t *testing.T) {
	t.Parallel()
	got := make(chan http.Header, 2)
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got <- r.Header.Clone()
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/v1/messages" {
			_, _ = io.WriteString(w, `{"id":"m","type":"message","role":"assistant","model":"x","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`)
			return
		}
		_, _ = io.WriteString(w, `{"choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}]}`)
	}))
	t.Cleanup(ts.Close)
	for wire, want := range map[string]string{"anthropic": "one,two", "openai": ""} {
		h := harness.Open(t, harness.Setup{YAML: harness.DialectYAML(wire, ts.URL+"/v1")})
		r := h.Request(harness.Ask{Path: "/v1/messages", Body: `{"model":"house/x","max_tokens":9,"messages":[{"role":"user","content":"Hi"}]}`})
		r.Header.Add("Anthropic-Beta", "one")
		r.Header.Add("Anthropic-Beta", "two")
		r.Header.Set("Anthropic-Version", "2026-10-21")
		r.Header.Set("Cookie", "session=secret")
		r.Header.Set("X-Forwarded-For", "192.0.2.1")
		if reply := h.Send(r); reply.Status != http.StatusOK {
			t.Fatalf("%s: status %d, %s", wire, reply.Status, reply.Body)
		}
		asked := <-got
		if version := asked.Values("Anthropic-Version"); wire == "anthropic" && (len(version) != 1 || version[0] != "2026-10-21") {
			t.Errorf("the provider was sent the versions %v", version)
		}
		if beta := asked.Get("Anthropic-Beta"); beta != want || asked.Get("Cookie") != "" || asked.Get("X-Forwarded-For") != "" {
			t.Errorf("%s: the provider was sent %v", wire, asked)
		}
	}
}
