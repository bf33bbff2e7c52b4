package faults_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/internal/dialect/bedrock"
	"weir/internal/dialect/bedrock/bedrocktest"
	"weir/internal/e2e/harness"
)

// besideErrors lists answers with status 200 that have an error, and also output or a charge: they are not free.
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
	{"a role in a stream", "openai", `data: {"id":"g","choices":[{"index":0,"delta":{"role":"assistant","content":"","tool_calls":null},"finish_reason":null}]}` + failed, "rejected exact"},
	{"what was filtered of the prompt", "openai", `data: {"id":"","choices":[],"prompt_filter_results":[{"prompt_index":0}]}` + failed, "rejected exact"},
	{"a tool's name in a stream", "openai", `data: {"id":"g","choices":[{"index":0,"delta":{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":""}}]},"finish_reason":null}]}` + failed, "cut estimated"},
	{"an old call's name in a stream", "openai", `data: {"id":"g","choices":[{"index":0,"delta":{"function_call":{"name":"f","arguments":""}}}]}` + failed, "cut estimated"},
	{"an end in a stream", "openai", `data: {"id":"g","choices":[{"index":0,"delta":{},"finish_reason":"length"}]}` + failed, "cut estimated"},
	{"a field of a delta that nobody knows", "openai", `data: {"id":"g","choices":[{"index":0,"delta":{"thinking_blocks":[{"type":"x"}]}}]}` + failed, "cut estimated"},
	{"a response that begins", "responses", begins + `data: {"type":"response.failed","response":{"id":"r","status":"failed","output":[],"error":{"code":"server_error","message":"no"}}}` + "\n\n", "rejected exact"},
	{"a frame that is no JSON", "responses", begins + `data: {"type":"` + "\n\n", "failed estimated"},
	{"an item of a response", "responses", begins + `data: {"type":"response.output_item.added","output_index":0,"item":{"id":"i","type":"reasoning","summary":[]}}` + failed, "cut estimated"},
	{"a search of a response", "responses", begins + `data: {"type":"response.web_search_call.searching","output_index":0,"item_id":"i"}` + failed, "cut estimated"},
	{"an item at the end of a response", "responses", begins + `data: {"type":"response.failed","response":{"id":"r","status":"failed","output":[{"type":"web_search_call","id":"i","status":"completed"}],"error":{"code":"server_error","message":"no"}}}` + "\n\n", "cut estimated"},
	{"Gemini's empty thought", "gemini", `data: {"candidates":[{"content":{"parts":[{"thought":true,"text":""}],"role":"model"}}]}` + failed, "cut estimated"},
	{"Gemini's end", "gemini", `data: {"candidates":[{"finishReason":"MAX_TOKENS"}]}` + failed, "cut estimated"},
	{"Gemini's searches", "gemini", `data: {"candidates":[{"groundingMetadata":{"webSearchQueries":["q"]}}]}` + failed, "cut estimated"},
	{"Gemini's refusal", "gemini", failed[2:], "rejected exact"},
	{"Anthropic's start", "anthropic", `data: {"type":"message_start","message":{"id":"m","type":"message","content":[]}}` + "\n\n" + `data: {"type":"ping"}` + failed, "rejected exact"},
	{"Anthropic's block", "anthropic", `data: {"type":"message_start","message":{"id":"m","type":"message","content":[]}}` + "\n\n" + `data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}` + failed, "cut estimated"},
	{"Cohere's start", "cohere", `data: {"type":"message-start","id":"m","delta":{"message":{"role":"assistant"}}}` + failed, "rejected exact"},
	{"Cohere's content", "cohere", `data: {"type":"message-start","id":"m","delta":{"message":{"role":"assistant"}}}` + "\n\n" + `data: {"type":"content-start","index":0,"delta":{"message":{"content":{"type":"text","text":""}}}}` + failed, "cut estimated"},
	{"Gemini's words", "gemini", `{"candidates":[{"content":{"parts":[{"text":"Half of it"}],"role":"model"},"finishReason":"STOP"}],"error":{"code":500,"message":"no"}}`, "cut estimated"},
	{"Gemini's odd candidate", "gemini", `{"candidates":[{"content":{"parts":3}}],"error":{"code":500,"message":"no"}}`, "rejected exact"},
	{"Anthropic's words", "anthropic", `{"type":"message","content":[{"type":"text","text":"Half of it"}],"error":{"type":"api_error","message":"no"}}`, "cut estimated"},
	{"Ollama's words", "ollama", `{"model":"m","message":{"role":"assistant","content":"Half of it"},"done":true,"error":"no"}`, "cut estimated"},
	{"Cohere's words", "cohere", `{"id":"g","message":{"role":"assistant","content":[{"type":"text","text":"Half of it"}]},"error":"no"}`, "cut estimated"},
	{"Ollama's counts alone", "ollama", `{"model":"m","error":"no","done":true,"prompt_eval_count":7,"eval_count":9}`, "cut exact"},
	{"Bedrock's words", "bedrock", `{"output":{"message":{"role":"assistant","content":[{"text":"Half of it"}]}},"stopReason":"end_turn","error":{"message":"no"}}`, "cut estimated"},
	{"Bedrock's words, and no usage", "bedrock", `{"error":"no","usage":null,"output":{"message":{"role":"assistant","content":[{"text":"Half of it"}]}}}`, "cut estimated"},
	{"Bedrock's words, and a status", "bedrock", `{"error":{"message":"no","code":500},"output":{"message":{"role":"assistant","content":[{"text":"Half of it"}]}}}`, "cut estimated"},
	{"Bedrock's words, and an exception", "bedrock", `{"__type":"ModelErrorException","message":"no","output":{"message":{"role":"assistant","content":[{"text":"Half of it"}]}}}`, "cut estimated"},
	{"Bedrock's tool", "bedrock", `{"output":{"message":{"role":"assistant","content":[{"toolUse":{"toolUseId":"t","name":"f","input":{}}}]}},"error":{"message":"no"}}`, "cut estimated"},
	{"Bedrock's usage", "bedrock", `{"error":{"message":"no"},"usage":{"inputTokens":7,"outputTokens":9,"totalTokens":16}}`, "cut exact"},
	{"Bedrock's odd content", "bedrock", `{"output":{"message":{"content":3}},"error":{"message":"no"}}`, "rejected exact"},
	{"Bedrock's empty message", "bedrock", `{"output":{"message":{"role":"assistant","content":[]}},"error":{"message":"no"}}`, "rejected exact"},
	{"Bedrock's refusal", "bedrock", `{"__type":"ModelErrorException","message":"no"}`, "rejected exact"},
	{"Bedrock's start", "bedrock", frame("messageStart", `{"role":"assistant"}`) + frame("modelStreamErrorException", `{"message":"no"}`), "rejected exact"},
	{"Bedrock's words in a stream", "bedrock", frame("messageStart", `{"role":"assistant"}`) + frame("contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":"Half"}}`) + frame("modelStreamErrorException", `{"message":"no"}`), "cut estimated"},
	{"Bedrock's tool in a stream", "bedrock", frame("contentBlockStart", `{"contentBlockIndex":0,"start":{"toolUse":{"toolUseId":"t","name":"f"}}}`) + frame("internalServerException", `{"message":"no"}`), "cut estimated"},
	{"Bedrock's end in a stream", "bedrock", frame("messageStop", `{"stopReason":"max_tokens"}`) + frame("internalServerException", `{"message":"no"}`), "cut estimated"},
	{"Bedrock's usage in a stream", "bedrock", frame("metadata", `{"usage":{"inputTokens":7,"outputTokens":9,"totalTokens":16}}`) + frame("internalServerException", `{"message":"no"}`), "cut estimated"},
}

// frame encodes one frame of Bedrock's streams.
func frame(name, data string) string { return string(bedrocktest.AppendFrame(nil, name, []byte(data))) }

// Events of a stream: an error after another event, and the beginning of a response.
const (
	failed = "\n\n" + `data: {"error":{"code":500,"type":"api_error","message":"no"}}` + "\n\n"
	begins = `data: {"type":"response.created","response":{"id":"r","status":"in_progress","output":[]}}` + "\n\n" +
		`data: {"type":"response.in_progress","response":{"id":"r","status":"in_progress","output":[]}}` + "\n\n"
)

// streamed reports whether an answer is a stream.
func streamed(body string) bool { return body[0] != '{' }

// TestErrorsWithOutputAreCharged checks the cost of answers with an error and output.
func TestErrorsWithOutputAreCharged(t *testing.T) {
	t.Parallel()
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var n int
		for i := range besideErrors {
			if strings.HasPrefix(r.URL.Path, fmt.Sprintf("/case-%d/", i)) {
				n = i
			}
		}
		w.Header().Set("Content-Type", "application/json")
		if streamed(besideErrors[n].body) {
			w.Header().Set("Content-Type", "text/event-stream")
		}
		if besideErrors[n].dialect == "bedrock" && streamed(besideErrors[n].body) {
			w.Header().Set("Content-Type", bedrock.ContentType)
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
	replies := make([]harness.Reply, len(besideErrors))
	for i, tt := range besideErrors {
		stream := ""
		if streamed(tt.body) {
			stream = `,"stream":true`
		}
		replies[i] = h.Do(harness.Ask{Path: "/v1/chat/completions", Body: harness.Completion(fmt.Sprintf("house%d/m", i), stream)})
	}
	for i, tt := range besideErrors {
		r := replies[i]
		row := h.Row(r.Header.Get("X-Request-Id"))
		if got := row.Outcome + " " + row.Provenance; got != tt.want || r.Status == http.StatusInternalServerError || r.Status == http.StatusOK && !streamed(tt.body) || strings.HasPrefix(tt.want, "cut") && row.Cost == "0" {
			t.Errorf("%s: got %d %s, and a row that is %s at %s; want %s", tt.name, r.Status, r.Body, got, row.Cost, tt.want)
		}
	}
}
