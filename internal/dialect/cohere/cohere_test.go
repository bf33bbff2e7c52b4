package cohere_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/internal/dialect/cohere"
	"weir/internal/dialect/cohere/coheretest"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/sse"
)

func TestScanReadsHead(t *testing.T) {
	t.Parallel()
	body := `{"stream":true,"model":"command-a","max_tokens":5,"messages":[]}`
	got := must.Get(coheretest.Scan([]byte(body), nil))(t)
	if m := body[got.ModelSpan.Start:got.ModelSpan.End]; m != `"command-a"` {
		t.Errorf("the span covers %s", m)
	}
	got.ModelSpan = llm.Span{}
	want := llm.Head{Model: "command-a", Stream: true, IncludeUsage: true, Choices: 1, MaxOutput: 5, Open: 1, Usual: true}
	must.Equal(t, got, want, "head of %s", body)
}

// TestDroppedFieldsAreNamed checks the names of fields lost from a request of another wire format.
func TestDroppedFieldsAreNamed(t *testing.T) {
	t.Parallel()
	r := &llm.Request{
		ExtraOf: "anthropic", Extra: []llm.Field{{Name: "container", Value: json.RawMessage(`"c"`)}},
		Format: &llm.Format{Kind: llm.FormatJSON, Description: "d", Extra: []llm.Field{{Name: "x", Value: json.RawMessage(`1`)}}},
		Tools: []llm.Tool{{
			Name: "f", Parameters: json.RawMessage(`{}`), CacheControl: json.RawMessage(`{}`),
			Extra: []llm.Field{{Name: "x", Value: json.RawMessage(`1`)}},
		}},
		Reasoning: &llm.ReasoningOptions{Budget: 5000},
		Messages: []llm.Message{
			{Role: llm.RoleUser, Parts: []llm.Part{
				{Kind: llm.PartToolResult, Result: &llm.ToolResult{CallID: "c1", IsError: true, Extra: []llm.Field{{Name: "x"}}, Parts: []llm.Part{{Kind: llm.PartText, Text: "no"}}}},
				{Kind: llm.PartText, Text: "Hi", CacheControl: json.RawMessage(`{"type":"ephemeral"}`)},
			}},
			{Role: llm.RoleAssistant, Parts: []llm.Part{
				{Kind: llm.PartReasoning, Text: "hm", Signature: "s"},
				{Kind: llm.PartReasoning, Redacted: "x"},
				{Kind: llm.PartText, Text: "Yes", Annotations: json.RawMessage(`[]`)},
				{Kind: llm.PartRefusal, Text: "No"},
				{Kind: llm.PartToolCall, Signature: "s", Call: &llm.ToolCall{ID: "c2", Name: "f", Extra: []llm.Field{{Name: "x"}}}},
			}},
			{Role: llm.RoleUser, Parts: []llm.Part{{Kind: llm.PartToolResult, Result: &llm.ToolResult{CallID: "c2"}}}},
		},
	}
	body, dropped, err := cohere.EncodeRequest(r, nil)
	must.Do(t, err)
	const want = `{"model":"","messages":[{"role":"tool","tool_call_id":"c1","content":"no"},{"role":"user","content":"Hi"},` +
		`{"role":"assistant","content":[{"type":"text","text":"Yes"},{"type":"text","text":"No"}],` +
		`"tool_calls":[{"id":"c2","type":"function","function":{"name":"f","arguments":"{}"}}]},` +
		`{"role":"tool","tool_call_id":"c2","content":""}],"tools":[{"type":"function","function":{"name":"f","parameters":{}}}],` +
		`"response_format":{"type":"json_object"},"thinking":{"type":"enabled","token_budget":5000}}`
	must.Equal(t, string(body), want, "body")
	wantDropped := []string{
		"tool result is_error", "tool result fields of another API", "cache_control", "reasoning signature", "reasoning",
		"redacted reasoning", "annotations", "tool call fields of another API", "tool fields of another API",
		"response_format.json_schema.description", "response_format fields of another API", "container",
	}
	must.Equal(t, dropped, wantDropped, "dropped")
}

// TestEssentialPartsAreRefused checks the parts that must not be dropped.
func TestEssentialPartsAreRefused(t *testing.T) {
	t.Parallel()
	part := func(role llm.Role, p llm.Part) *llm.Request {
		return &llm.Request{Messages: []llm.Message{{Role: role, Parts: []llm.Part{{Kind: llm.PartText, Text: "a"}, p}}}}
	}
	for name, r := range map[string]*llm.Request{
		"image of the assistant": part(llm.RoleAssistant, llm.Part{Kind: llm.PartImage, Media: &llm.Media{URL: "https://example.com/a"}}),
		"image by file id":       part(llm.RoleUser, llm.Part{Kind: llm.PartImage, Media: &llm.Media{FileID: "f"}}),
		"sound of the assistant": part(llm.RoleAssistant, llm.Part{Kind: llm.PartAudio, Media: &llm.Media{FileID: "f"}}),
		"another API's content":  part(llm.RoleUser, llm.Part{Kind: llm.PartOther, Raw: json.RawMessage(`{}`)}),
	} {
		_, _, err := cohere.EncodeRequest(r, nil)
		if e, ok := errors.AsType[*llm.Error](err); !ok || e.Code != llm.CodeInvalidRequest || e.Param != "messages[0].content[1]" {
			t.Errorf("%s: %v, want a refusal that names the part", name, err)
		}
	}
}

// TestEncodeReply encodes answers of any provider in Cohere's format.
func TestEncodeReply(t *testing.T) {
	t.Parallel()
	cost := llm.Money(1_000_000)
	r := &llm.Reply{
		ID: "r1", Model: "m", Created: 5, Reported: true, Cost: &cost, ExtraOf: "openai",
		Extra: []llm.Field{{Name: "system_fingerprint", Value: json.RawMessage(`"f"`)}},
		Usage: llm.Usage{llm.Input: 4, llm.CacheRead: 6, llm.Output: 3, llm.Reasoning: 2, llm.Searches: 1},
		Choices: []llm.Choice{{Finish: llm.FinishToolCalls, Logprobs: json.RawMessage(`{}`), Message: llm.Message{Parts: []llm.Part{
			{Kind: llm.PartReasoning, Text: "hm", Signature: "s"},
			{Kind: llm.PartReasoning, Redacted: "x"},
			{Kind: llm.PartText, Text: "Hello", Annotations: json.RawMessage(`[]`)},
			{Kind: llm.PartRefusal, Text: "No"},
			{Kind: llm.PartOther, Raw: json.RawMessage(`{}`)},
			{Kind: llm.PartToolCall, Call: &llm.ToolCall{ID: "c1", Name: "f", Arguments: `{"x":1}`, Extra: []llm.Field{{Name: "y", Value: json.RawMessage(`1`)}}}},
		}}}},
	}
	const want = `{"id":"r1","message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"Hello"},{"type":"text","text":"No"}],` +
		`"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]},"finish_reason":"TOOL_CALL",` +
		`"usage":{"billed_units":{"input_tokens":10,"output_tokens":5,"search_units":1},"tokens":{"input_tokens":10,"output_tokens":5,"reasoning_tokens":2},"cached_tokens":6,"cost":0.001}}`
	must.Equal(t, string(coheretest.EncodeReply(nil, r)), want, "reply")
	const empty = `{"id":"","message":{"role":"assistant"},"finish_reason":"COMPLETE"}`
	if got := string(coheretest.EncodeReply(nil, &llm.Reply{})); got != empty {
		t.Errorf("a reply without a choice: %s, want %s", got, empty)
	}
}

// TestReplyRoundTrip checks that an answer in Cohere's format is encoded as it was decoded.
func TestReplyRoundTrip(t *testing.T) {
	t.Parallel()
	const reply = `{"id":"r1","message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"Hi","x":1},{"type":"new"}],` +
		`"tool_plan":"I will.","tool_calls":[{"id":"f_1","type":"function","function":{"name":"f","arguments":"{}"},"x":1}],"citations":[{"start":0}],"mood":1},` +
		`"finish_reason":"TOOL_CALL","usage":{"billed_units":{"input_tokens":8,"output_tokens":5},"tokens":{"input_tokens":8,"output_tokens":5,"reasoning_tokens":2},"cached_tokens":0},"logprobs":[],"meta":{}}`
	r := must.Get(cohere.DecodeReply([]byte(reply), nil))(t)
	must.Equal(t, string(coheretest.EncodeReply(nil, r)), reply, "the encoded reply")
}

// TestEncoderWritesStream writes a stream with each kind of piece.
func TestEncoderWritesStream(t *testing.T) {
	t.Parallel()
	cost := llm.Money(1_000_000)
	e := coheretest.NewEncoder(llm.Meta{ID: "s1"})
	var out []byte
	for _, ev := range []llm.Event{
		{Kind: llm.EventStart, ID: "x"},
		{Kind: llm.EventReasoning, Text: "hm"},
		{Kind: llm.EventReasoning, Signature: "s"},
		{Kind: llm.EventText, Text: "Hel"},
		{Kind: llm.EventText, Text: "lo", Choice: 1},
		{Kind: llm.EventRefusal, Text: "No"},
		{Kind: llm.EventOther, Raw: json.RawMessage(`{"start":0}`), RawOf: "cohere"},
		{Kind: llm.EventOther, Raw: json.RawMessage(`{}`), RawOf: "openai"},
		{Kind: llm.EventToolCall, Tool: llm.ToolDelta{ID: "c1", Name: "f"}},
		{Kind: llm.EventToolCall, Text: `{"x":`},
		{Kind: llm.EventToolCall, Text: `1}`},
		{Kind: llm.EventToolCall, Tool: llm.ToolDelta{Index: 1, ID: "c2", Name: "g"}, Text: "{}"},
		{Kind: llm.EventUsage, Metered: &llm.Metered{}},
		{Kind: llm.EventFinish},
	} {
		out = e.Append(out, &ev)
	}
	out = e.Finish(out, &llm.Final{
		Finish: []llm.FinishReason{llm.FinishToolCalls}, Usage: llm.Usage{llm.Input: 1, llm.Output: 2}, Reported: true,
		Cost: &cost, Attempts: 2, Models: []string{"a/x", "b/y"},
	})
	want := []string{
		`{"id":"s1","type":"message-start","delta":{"message":{"role":"assistant","content":[],"tool_plan":"","tool_calls":[],"citations":[]}}}`,
		`{"type":"content-start","index":0,"delta":{"message":{"content":{"type":"thinking","thinking":""}}}}`,
		`{"type":"content-delta","index":0,"delta":{"message":{"content":{"thinking":"hm"}}}}`,
		`{"type":"content-end","index":0}`,
		`{"type":"content-start","index":1,"delta":{"message":{"content":{"type":"text","text":""}}}}`,
		`{"type":"content-delta","index":1,"delta":{"message":{"content":{"text":"Hel"}}}}`,
		`{"type":"content-delta","index":1,"delta":{"message":{"content":{"text":"No"}}}}`,
		`{"type":"citation-start","index":0,"delta":{"message":{"citations":{"start":0}}}}`,
		`{"type":"citation-end","index":0}`,
		`{"type":"content-end","index":1}`,
		`{"type":"tool-call-start","index":0,"delta":{"message":{"tool_calls":{"id":"c1","type":"function","function":{"name":"f","arguments":""}}}}}`,
		`{"type":"tool-call-delta","index":0,"delta":{"message":{"tool_calls":{"function":{"arguments":"{\"x\":"}}}}}`,
		`{"type":"tool-call-delta","index":0,"delta":{"message":{"tool_calls":{"function":{"arguments":"1}"}}}}}`,
		`{"type":"tool-call-end","index":0}`,
		`{"type":"tool-call-start","index":1,"delta":{"message":{"tool_calls":{"id":"c2","type":"function","function":{"name":"g","arguments":""}}}}}`,
		`{"type":"tool-call-delta","index":1,"delta":{"message":{"tool_calls":{"function":{"arguments":"{}"}}}}}`,
		`{"type":"tool-call-end","index":1}`,
		`{"type":"message-end","id":"s1","delta":{"finish_reason":"TOOL_CALL","usage":{"billed_units":{"input_tokens":1,"output_tokens":2},"tokens":{"input_tokens":1,"output_tokens":2},"cached_tokens":0,"cost":0.001}},"weir":{"attempts":2,"models":["a/x","b/y"]}}`,
		`[DONE]`,
	}
	must.Equal(t, frames(t, out), want, "stream")
}

func TestEncoderFails(t *testing.T) {
	t.Parallel()
	e := coheretest.NewEncoder(llm.Meta{ID: "s1"})
	out := e.Append(nil, &llm.Event{Kind: llm.EventText, Text: "Hel"})
	failure := e.Fail(nil, &llm.Error{Code: llm.CodeProviderError, Message: "Why.", Param: "p"})
	want := []string{`{"type":"message-end","delta":{"finish_reason":"ERROR","error":"p: Why."}}`}
	if diff := cmp.Diff(frames(t, failure), want); diff != "" || len(out) == 0 {
		t.Errorf("failure (-got +want)\n%s", diff)
	}
}

// frames returns the data of the events in out, and checks that each has its type as its name.
func frames(t *testing.T, out []byte) (list []string) {
	t.Helper()
	r := sse.NewReader(strings.NewReader(string(out)), 1<<20)
	for {
		frame, err := r.Next()
		if err != nil {
			break
		}
		data := string(frame.Data)
		if data != "[DONE]" && !strings.Contains(data, `"type":"`+string(frame.Name)+`"`) {
			t.Errorf("the event %q is named %q", data, frame.Name)
		}
		if data != "[DONE]" && !json.Valid(frame.Data) {
			t.Errorf("%q is not JSON", data)
		}
		list = append(list, data)
	}
	if len(r.Rest()) > 0 {
		t.Errorf("%q is not a whole event", r.Rest())
	}
	return list
}

// TestManyCalls checks that the calls of a stream are bounded.
func TestManyCalls(t *testing.T) {
	t.Parallel()
	d := cohere.NewDecoder(nil)
	opened := 0
	for range 3000 {
		events, err := d.Decode(nil, sse.Event{Data: []byte(`{"type":"tool-call-start","index":5,"delta":{"message":{"tool_calls":{"function":{"name":"f"}}}}}`)})
		must.Do(t, err)
		opened += len(events)
	}
	if _, err := d.Decode(nil, sse.Event{Data: []byte(`{"type":"tool-call-delta","index":2000}`)}); opened != 1024 || err != nil {
		t.Errorf("%d calls opened, want 1024; then %v", opened, err)
	}
}
