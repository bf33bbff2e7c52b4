package chat_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
)

// future holds an exchange in a wire format with unknown new fields, kinds of content and events of its vendor.
type future struct {
	clientAPI string
	request   string // with the model's name as MODEL
	reply     string
	stream    string
}

// futures returns exchanges with a member "next" in every object.
func futures() []future {
	return []future{
		{
			clientAPI: "openai",
			request: `{"next":{"a":[1.50,null]},"model":"MODEL","stream_options":{"include_usage":true,"next":1},"n":1,` +
				`"messages":[{"role":"user","next":1,"content":[{"type":"text","text":"Hi","next":{}},{"type":"next","next":1}]},{"role":"next","content":"?"},` +
				`{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","next":1,"function":{"name":"f","arguments":"{}","next":1}}]},{"role":"tool","tool_call_id":"c","content":"x","next":1}],` +
				`"tools":[{"type":"function","next":1,"function":{"name":"f","next":1,"parameters":{"type":"object","next":1}}},{"type":"next"}],"tool_choice":{"type":"next"},"response_format":{"type":"next","next":1},"reasoning_effort":"next","later":true}`,
			reply: `{"id":"c","next":{"a":1.50},"object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"next":1,"message":{"role":"assistant","content":"Yes.","next":[],"annotations":[{"type":"next"}]},"finish_reason":"next","logprobs":null}],` +
				`"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5,"next":1,"prompt_tokens_details":{"next_tokens":0}}}`,
			stream: `data: {"id":"c","next":1,"choices":[{"index":0,"next":1,"delta":{"role":"assistant","content":"Yes.","next":1}}]}

data: {"id":"c","choices":[{"index":0,"delta":{"next":{"a":1.50}}}]}

event: next
data: {"next":1,"choices":[]}

data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"next","next":1}]}

data: {"id":"c","next":1,"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5,"next":1}}

data: [DONE]

`,
		},
		{
			clientAPI: "responses",
			request: `{"next":{"a":[1.50,null]},"model":"MODEL","input":[{"role":"user","next":1,"content":[{"type":"input_text","text":"Hi","next":1},{"type":"next","next":1}]},{"type":"next","next":1}],` +
				`"tools":[{"type":"function","name":"f","next":1,"parameters":{"next":1}},{"type":"next"}],"tool_choice":{"type":"next"},"text":{"next":1,"format":{"type":"next"}},"reasoning":{"effort":"next","next":1},"later":true}`,
			reply: `{"id":"r","next":1,"object":"response","created_at":1,"status":"completed","model":"m","output":[{"type":"next","id":"n"},{"type":"message","id":"m","next":1,"status":"completed","role":"assistant","content":[{"type":"output_text","text":"Yes.","next":1,"annotations":[]},{"type":"next"}]}],` +
				`"usage":{"input_tokens":3,"output_tokens":2,"total_tokens":5,"next":1,"input_tokens_details":{"next":1}}}`,
			stream: `event: response.created
data: {"type":"response.created","sequence_number":0,"next":1,"response":{"id":"r","next":1,"status":"in_progress","output":[]}}

event: response.next
data: {"type":"response.next","sequence_number":1,"next":{"a":1.50}}

event: response.output_text.delta
data: {"type":"response.output_text.delta","sequence_number":2,"item_id":"m","output_index":0,"content_index":0,"delta":"Yes.","next":1}

event: response.completed
data: {"type":"response.completed","sequence_number":3,"next":1,"response":{"id":"r","next":1,"status":"completed","output":[{"type":"message","id":"m","next":1,"role":"assistant","content":[{"type":"output_text","text":"Yes.","annotations":[]}]}],"usage":{"input_tokens":3,"output_tokens":2,"total_tokens":5,"next":1}}}

`,
		},
		{
			clientAPI: "anthropic",
			request: `{"next":{"a":[1.50,null]},"model":"MODEL","max_tokens":9,"system":[{"type":"text","text":"Brief.","next":1}],"messages":[{"role":"user","next":1,"content":[{"type":"text","text":"Hi","next":1,"cache_control":{"type":"next"}},{"type":"next","next":1}]}],` +
				`"tools":[{"name":"f","next":1,"input_schema":{"type":"object","next":1}},{"type":"next_20300101","name":"n"}],"tool_choice":{"type":"next"},"thinking":{"type":"next","next":1},"output_config":{"next":1},"metadata":{"next":1},"later":true}`,
			reply: `{"id":"msg_1","next":1,"type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Yes.","next":1},{"type":"next","next":1}],"stop_reason":"next","stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":2,"next":1,"cache_creation":{"next":0}}}`,
			stream: `event: message_start
data: {"type":"message_start","next":1,"message":{"id":"msg_1","next":1,"type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":3,"output_tokens":0,"next":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"next":1,"content_block":{"type":"text","text":"","next":1}}

event: next
data: {"type":"next","next":{"a":1.50}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Yes.","next":1}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"next_delta","next":1}}

event: content_block_stop
data: {"type":"content_block_stop","index":0,"next":1}

event: message_delta
data: {"type":"message_delta","next":1,"delta":{"stop_reason":"end_turn","next":1},"usage":{"output_tokens":2,"next":1}}

event: message_stop
data: {"type":"message_stop","next":{"a":1.50}}

`,
		},
		{
			clientAPI: "gemini",
			request: `{"next":{"a":[1.50,null]},"contents":[{"role":"user","next":1,"parts":[{"text":"Hi","next":1},{"next":{"a":1}}]}],"systemInstruction":{"parts":[{"text":"Brief."}],"next":1},` +
				`"tools":[{"functionDeclarations":[{"name":"f","next":1}],"next":{}},{"next":{}}],"toolConfig":{"next":1,"functionCallingConfig":{"mode":"NEXT"}},"generationConfig":{"next":1,"thinkingConfig":{"next":1},"responseModalities":["NEXT"]},"safetySettings":[{"category":"NEXT","threshold":"NEXT"}]}`,
			reply: `{"next":1,"candidates":[{"next":1,"index":0,"content":{"role":"model","next":1,"parts":[{"text":"Yes.","next":1},{"next":{}}]},"finishReason":"STOP","nextRatings":[]}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":2,"totalTokenCount":5,"next":1},"modelVersion":"m","responseId":"r"}`,
			stream: `data: {"next":1,"candidates":[{"next":1,"index":0,"content":{"role":"model","parts":[{"text":"Yes.","next":1}]}}],"usageMetadata":{"promptTokenCount":3,"next":1}}

data: {"next":{"a":1.50}}

data: {"next":1,"candidates":[{"next":1,"content":{"role":"model","next":1,"parts":[{"text":"","next":1}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":2,"totalTokenCount":5,"next":1}}

`,
		},
	}
}

// TestFutureFieldsPass checks that a vendor's new features pass at its client API at once.
func TestFutureFieldsPass(t *testing.T) {
	t.Parallel()
	for _, f := range futures() {
		t.Run(f.clientAPI, func(t *testing.T) {
			t.Parallel()
			s := &replayer{}
			ts := httptest.NewServer(s)
			t.Cleanup(ts.Close)
			prices := strings.Replace(harness.PricesYAML, "}", `, other_tool: "0.01"}`, 1) // a tool of next year has no cost without a price
			h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.SpokenBy("house", f.clientAPI, ts.URL, harness.Spoken()[f.clientAPI]) + prices})
			for _, stream := range []bool{false, true} {
				s.answer = recorded{status: http.StatusOK, contentType: "application/json", response: f.reply}
				if stream {
					s.answer.contentType, s.answer.response = "text/event-stream", f.stream
				}
				a, want := f.asked(stream)
				r := h.Do(a)
				wantSame(t, "the request", s.got, want)
				wantSame(t, "the reply", uncosted(r.Body), s.answer.response)
				if r.Status != http.StatusOK || !strings.Contains(r.Body, `"cost":`) {
					t.Errorf("stream %t: %d %s", stream, r.Status, r.Body)
				}
			}
		})
	}
}

// asked returns the request at the client API, and the expected request to the provider.
func (f *future) asked(stream bool) (a harness.Ask, want string) {
	for _, clientAPI := range harness.VendorAPIs() {
		if clientAPI.Dialect == f.clientAPI {
			a.Path = clientAPI.At("house/m", stream)
		}
	}
	body := f.request
	if stream {
		body = strings.Replace(body, `"later"`, `"stream"`, 1)
	}
	a.Body = strings.Replace(body, "MODEL", "house/m", 1)
	return a, strings.Replace(body, "MODEL", "m", 1)
}
