package faults_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
)

// TestChoiceErrors uses errors that a provider reports inside a choice, as OpenRouter does
// (https://openrouter.ai/docs/api-reference/overview, 2026-11-25), with the gateway's credential in their text: clients
// of either format receive the error without the credential.
func TestChoiceErrors(t *testing.T) {
	t.Parallel()
	failure := fmt.Sprintf(`"error":{"code":502,"message":"no: Bearer %s","metadata":{"raw":"%s"}}`,
		harness.UpstreamKey, harness.UpstreamKey)
	const usage = `"usage":{"prompt_tokens":7,"completion_tokens":2,"total_tokens":9}`
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept") != "text/event-stream" {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"id":"g","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,`+
				`"message":{"role":"assistant","content":"Half"},"finish_reason":"error",%s}],%s}`, failure, usage)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		const begin = `{"id":"g","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{`
		_, _ = fmt.Fprintf(w, "data: %s\"role\":\"assistant\",\"content\":\"Half\"}}]}\n\ndata: %s},\"finish_reason\":\"error\",%s}],%s}\n\n",
			begin, begin, failure, usage)
	}))
	t.Cleanup(ts.Close)
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(ts.URL)})
	body := harness.Completion("house/m", `,"max_tokens":9`)
	for _, path := range []string{"/v1/chat/completions", "/v1/messages"} {
		for _, stream := range []bool{false, true} {
			ask := harness.Ask{Path: path, Body: body}
			if stream {
				ask.Body = strings.Replace(body, "{", `{"stream":true,`, 1)
			}
			r := h.Do(ask)
			if whole := r.Status == http.StatusBadGateway; whole == stream || !strings.Contains(r.Body, `"error"`) || strings.Contains(r.Body, "sk-up") {
				t.Errorf("%s, stream %v: got %d %s, want an error without the credential", path, stream, r.Status, r.Body)
			}
			row := h.Row(r.Header.Get("X-Request-Id"))
			if row.Outcome != "cut" || row.Provenance != "exact" || row.In != 7 || row.Out != 2 {
				t.Errorf("%s, stream %v: the ledger has %+v, want an exact row of an answer that was cut", path, stream, row)
			}
		}
	}
	if strings.Contains(h.Log.String(), harness.UpstreamKey) {
		t.Errorf("the log has the credential:\n%s", h.Log)
	}
}
