package chat_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/internal/dialect/bedrock"
	"weir/internal/dialect/bedrock/bedrocktest"
	"weir/internal/e2e/harness"
	"weir/internal/rawjson"
)

// TestStopSequenceOfBedrock checks that the gateway asks Claude at Bedrock for the stop sequence that ended its answer,
// by its path in the whole answer or in the stream, and that a client of Messages receives it.
func TestStopSequenceOfBedrock(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 10)
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked <- string(rawjson.Get(body, "additionalModelResponseFieldPaths"))
		if !strings.HasSuffix(r.URL.Path, "-stream") {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"additionalModelResponseFields":{"stop_sequence":"EN\"D"},"output":{"message":{"role":"assistant","content":[{"text":"So"}]}},`+
				`"stopReason":"stop_sequence","usage":{"inputTokens":7,"outputTokens":9,"totalTokens":16}}`)
			return
		}
		w.Header().Set("Content-Type", bedrock.ContentType)
		for _, e := range [][2]string{
			{"messageStart", `{"role":"assistant"}`},
			{"contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":"So"}}`},
			{"contentBlockStop", `{"contentBlockIndex":0}`},
			{"messageStop", `{"additionalModelResponseFields":{"delta":{"stop_sequence":"EN\"D"}},"stopReason":"stop_sequence"}`},
			{"metadata", `{"usage":{"inputTokens":7,"outputTokens":9,"totalTokens":16}}`},
		} {
			_, _ = w.Write(bedrocktest.AppendFrame(nil, e[0], []byte(e[1])))
		}
	}))
	t.Cleanup(ts.Close)
	h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.SpokenBy("house", "bedrock", ts.URL, "")})
	const claude, nova = "anthropic.claude-sonnet-4-5-20250929-v1:0", "amazon.nova-pro-v1:0"
	told := []string{`"stop_reason":"stop_sequence"`, `"stop_sequence":"EN\"D"`}
	for _, tt := range []struct {
		name, path, model, members, paths string
		holds                             []string
	}{
		{"whole", "/v1/messages", claude, `,"stop_sequences":["EN\"D","X"]`, `["/stop_sequence"]`, told},
		{"stream", "/v1/messages", claude, `,"stop_sequences":["EN\"D","X"],"stream":true`, `["/delta/stop_sequence"]`, told},
		{"no stop sequences", "/v1/messages", claude, "", "", nil},
		{"another vendor's model", "/v1/messages", nova, `,"stop_sequences":["EN\"D"]`, "", nil},
		{"Chat Completions", "/v1/chat/completions", claude, `,"stop":["EN\"D"]`, `["/stop_sequence"]`, []string{`"finish_reason":"stop"`}},
		{
			"Chat Completions, stream", "/v1/chat/completions", claude, `,"stop":["EN\"D"],"stream":true`, `["/delta/stop_sequence"]`,
			[]string{`"finish_reason":"stop"`},
		},
	} {
		r := h.Do(harness.Ask{
			Path: tt.path, Body: `{"model":"house/` + tt.model + `","max_tokens":9,"messages":[{"role":"user","content":"Hi"}]` + tt.members + `}`,
		})
		if got := <-asked; r.Status != http.StatusOK || got != tt.paths {
			t.Errorf("%s: %d %.300s; requested %q, want %q", tt.name, r.Status, r.Body, got, tt.paths)
		}
		for _, want := range tt.holds {
			if !strings.Contains(r.Body, want) {
				t.Errorf("%s: got %s, want %s in it", tt.name, r.Body, want)
			}
		}
	}
}
