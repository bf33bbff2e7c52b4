package chat_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
)

// TestErrorsNameTheClientsFields sends fields that the provider's format lacks: the error names the place in the
// client's own body, without messages that the gateway adds or joins.
func TestErrorsNameTheClientsFields(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: harness.DialectYAML("cohere", up.URL)})
	for _, tt := range []struct{ path, body, want string }{
		{"/v1/messages", `{"model":"house/m","max_tokens":9,"system":"Be kind","messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":[{"type":"odd"}]}]}`, "messages[2]"},
		{"/v1/messages", `{"model":"house/m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"odd"}]}]}`, "messages[0]"},
		{"/v1/messages", `{"model":"house/m","max_tokens":9,"system":"Be kind","messages":[{"role":"user","content":[{"type":"document","context":"c","source":{"type":"text","media_type":"text/plain","data":"x"}},{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0="}}]}]}`, "messages[0].content[1]"},
		{"/v1/messages", `{"model":"house/m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"search_result","source":"s","title":"t","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0="}}]}]}`, "messages[0].content[1]"},
		{"/v1/messages", `{"model":"house/m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"document","context":"c","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0="},"citations":{"enabled":true}}]}]}`, "messages[0].content[0]"},
		{"/v1/responses", `{"model":"house/m","instructions":"Be kind","input":[{"role":"user","content":"a"},{"type":"function_call","call_id":"a","name":"f","arguments":"{}"},{"type":"function_call","call_id":"b","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"a","output":"r"},{"role":"user","content":[{"type":"odd"}]}]}`, "input[4]"},
		{"/v1beta/models/house/m:generateContent", `{"systemInstruction":{"parts":[{"text":"Be kind"}]},"contents":[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{"text":"b"}]},{"role":"model","parts":[{"text":"c"}]},{"role":"user","parts":[{"executableCode":{"language":"PYTHON","code":"1"}}]}]}`, "contents[3]"},
		{"/v1/messages", `{"model":"house/m","max_tokens":9,"stop_sequences":["a","b","c","d","e","f"],"messages":[{"role":"user","content":"a"}]}`, "stop_sequences: "},
		{"/v1beta/models/house/m:generateContent", `{"generationConfig":{"candidateCount":2},"contents":[{"role":"user","parts":[{"text":"a"}]}]}`, "generationConfig.candidateCount"},
		{"/v1beta/models/house/m:generateContent", `{"generationConfig":{"stopSequences":["a","b","c","d","e","f"]},"contents":[{"role":"user","parts":[{"text":"a"}]}]}`, "generationConfig.stopSequences"},
		{"/v1/responses", `{"model":"house/m","input":[{"role":"user","content":"` + strings.Repeat("a", 2<<20) + `"},{"type":"custom_tool_call","call_id":"a","name":"c","input":"i"},{"type":"custom_tool_call_output","call_id":"a","output":"r"},{"type":"custom_tool_call","call_id":"b","name":"c","input":"i"},{"type":"custom_tool_call_output","call_id":"b","output":"r"},{"role":"user","content":[{"type":"odd"}]}]}`, "input[5]"},
	} {
		got := h.Do(harness.Ask{Path: tt.path, Body: tt.body})
		var e any
		if err := json.Unmarshal([]byte(got.Body), &e); got.Status != http.StatusBadRequest || err != nil || !strings.Contains(got.Body, tt.want) {
			t.Errorf("%s %.1000s: %d %s, want %s", tt.path, tt.body, got.Status, got.Body, tt.want)
		}
	}
}
