package ollama_test

import (
	"encoding/json"
	"strings"
	"testing"

	"weir/internal/dialect/ollama"
	"weir/internal/dialect/ollama/ollamatest"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/sse"
)

func TestScanReadsHead(t *testing.T) {
	t.Parallel()
	tests := []struct {
		body string
		want llm.Head
	}{
		{`{"model":"qwen3","messages":[]}`, llm.Head{Model: "qwen3", Stream: true, Usual: true}},
		{`{"model":"qwen3","stream":null}`, llm.Head{Model: "qwen3", Stream: true, Usual: true}},
		{`{"model":"qwen3","stream":true}`, llm.Head{Model: "qwen3", Stream: true, Usual: true}},
		{`{"model":"qwen3","stream":false,"options":{"num_predict":5}}`, llm.Head{Model: "qwen3", MaxOutput: 5}},
		{`{"stream":false,"options":{"num_predict":-1},"model":"qwen3"}`, llm.Head{Model: "qwen3"}},
		{`{"model":"qwen3","options":null}`, llm.Head{Model: "qwen3", Stream: true}},
	}
	for _, tt := range tests {
		got := must.Get(ollamatest.Scan([]byte(tt.body), nil))(t)
		if m := tt.body[got.ModelSpan.Start:got.ModelSpan.End]; m != `"qwen3"` {
			t.Errorf("the span covers %s", m)
		}
		got.ModelSpan = llm.Span{}
		tt.want.Choices, tt.want.IncludeUsage, tt.want.Open = 1, true, 1
		must.Equal(t, got, tt.want, "head of %s", tt.body)
	}
}

// TestDroppedFieldsAreNamed checks the names of fields lost from a request of another wire format.
func TestDroppedFieldsAreNamed(t *testing.T) {
	t.Parallel()
	r := &llm.Request{
		ExtraOf: "anthropic", Extra: []llm.Field{{Name: "container", Value: json.RawMessage(`"c"`)}, {Name: "options.seed", Value: json.RawMessage(`1`)}},
		Format: &llm.Format{Kind: llm.FormatJSON, Description: "d", Extra: []llm.Field{{Name: "x", Value: json.RawMessage(`1`)}}},
		Tools: []llm.Tool{{
			Name: "f", Parameters: json.RawMessage(`{}`), CacheControl: json.RawMessage(`{}`),
			Extra: []llm.Field{{Name: "x", Value: json.RawMessage(`1`)}},
		}},
		Reasoning: &llm.ReasoningOptions{Budget: 20000},
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
			{Role: llm.RoleUser, Parts: []llm.Part{
				{Kind: llm.PartToolResult, Result: &llm.ToolResult{CallID: "c2"}},
				{Kind: llm.PartToolResult, Result: &llm.ToolResult{Name: "f"}},
			}},
		},
	}
	body, dropped, err := ollama.EncodeRequest(r, nil)
	must.Do(t, err)
	const want = `{"model":"","messages":[{"role":"tool","tool_call_id":"c1","content":"no"},{"role":"user","content":"Hi"},` +
		`{"role":"assistant","content":"YesNo","thinking":"hm",` +
		`"tool_calls":[{"id":"c2","type":"function","function":{"index":0,"name":"f","arguments":{}}}]},` +
		`{"role":"tool","tool_name":"f","tool_call_id":"c2","content":""},{"role":"tool","tool_name":"f","content":""}],` +
		`"tools":[{"type":"function","function":{"name":"f","parameters":{}}}],"format":"json","think":"high","stream":false}`
	must.Equal(t, string(body), want, "body")
	wantDropped := []string{
		"tool result is_error", "tool result fields of another API", "cache_control", "reasoning signature", "redacted reasoning",
		"annotations", "tool call fields of another API", "tool fields of another API",
		"response_format.json_schema.description", "response_format fields of another API", "reasoning budget", "container", "options.seed",
	}
	must.Equal(t, dropped, wantDropped, "dropped")
}

// TestEncodeReply encodes answers of any provider in Ollama's format.
func TestEncodeReply(t *testing.T) {
	t.Parallel()
	cost := llm.Money(1_000_000)
	r := &llm.Reply{
		ID: "r1", Model: "m", Created: 1700000000, Reported: true, Cost: &cost, ExtraOf: "openai",
		Extra: []llm.Field{{Name: "system_fingerprint", Value: json.RawMessage(`"f"`)}},
		Usage: llm.Usage{llm.Input: 4, llm.CacheRead: 6, llm.Output: 3, llm.Reasoning: 2},
		Choices: []llm.Choice{{Finish: llm.FinishToolCalls, Logprobs: json.RawMessage(`{}`), Message: llm.Message{Parts: []llm.Part{
			{Kind: llm.PartReasoning, Text: "hm", Signature: "s"},
			{Kind: llm.PartText, Text: "Hello"},
			{Kind: llm.PartRefusal, Text: "No"},
			{Kind: llm.PartImage, Media: &llm.Media{Data: "AAAA"}},
			{Kind: llm.PartToolCall, Call: &llm.ToolCall{ID: "c1", Name: "f", Arguments: "{\"x\":\n1}"}},
			{Kind: llm.PartToolCall, Call: &llm.ToolCall{ID: "c2", Name: "g", Arguments: `{"x":`}},
			{Kind: llm.PartToolCall, Call: &llm.ToolCall{Name: "h"}},
		}}}},
	}
	const want = `{"model":"m","created_at":"2023-11-14T22:13:20Z","message":{"role":"assistant","content":"HelloNo","thinking":"hm","images":["AAAA"],` +
		`"tool_calls":[{"id":"c1","type":"function","function":{"index":0,"name":"f","arguments":{"x":1}}},` +
		`{"id":"c2","type":"function","function":{"index":1,"name":"g","arguments":"{\"x\":"}},` +
		`{"type":"function","function":{"index":2,"name":"h","arguments":{}}}]},"done":true,"done_reason":"stop",` +
		`"prompt_eval_count":10,"prompt_eval_cached_count":6,"eval_count":5,"cost":0.001}`
	must.Equal(t, string(ollamatest.EncodeReply(nil, r)), want, "reply")
	const empty = `{"model":"","created_at":"1970-01-01T00:00:00Z","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop"}`
	if got := string(ollamatest.EncodeReply(nil, &llm.Reply{})); got != empty {
		t.Errorf("a reply without a choice: %s, want %s", got, empty)
	}
}

// TestReplyRoundTrip checks that an answer in Ollama's format is encoded with all its decoded members.
func TestReplyRoundTrip(t *testing.T) {
	t.Parallel()
	const reply = `{"model":"m","created_at":"2023-11-14T22:13:20Z","message":{"role":"assistant","content":"Hi","thinking":"hm","images":["AAAA"],` +
		`"tool_calls":[{"id":"c1","type":"function","function":{"index":0,"name":"f","arguments":{"x":[1, 2]}},"y":1}],"mood":1},"done":true,"done_reason":"length",` +
		`"prompt_eval_count":10,"prompt_eval_cached_count":6,"eval_count":5,"logprobs":[],"remote_model":"n","total_duration":5,"load_duration":6}`
	r := must.Get(ollama.DecodeReply([]byte(reply), nil))(t)
	must.Equal(t, string(ollamatest.EncodeReply(nil, r)), reply, "the encoded reply")
}

// TestEncoderWritesStream writes a stream with each kind of piece.
func TestEncoderWritesStream(t *testing.T) {
	t.Parallel()
	cost := llm.Money(1_000_000)
	e := ollamatest.NewEncoder(llm.Meta{ID: "s1", Model: "m", Created: 1700000000})
	var out []byte
	for _, ev := range []llm.Event{
		{Kind: llm.EventStart, ID: "x"},
		{Kind: llm.EventReasoning, Text: "hm"},
		{Kind: llm.EventReasoning, Signature: "s"},
		{Kind: llm.EventText, Text: "Hel"},
		{Kind: llm.EventText, Text: "lo", Choice: 1},
		{Kind: llm.EventRefusal, Text: "No"},
		{Kind: llm.EventOther, Media: &llm.Media{Data: "AAAA"}},
		{Kind: llm.EventOther, Raw: json.RawMessage(`{}`), RawOf: "openai"},
		{Kind: llm.EventToolCall, Tool: llm.ToolDelta{ID: "c1", Name: "f"}},
		{Kind: llm.EventToolCall, Text: "{\"x\":\n"},
		{Kind: llm.EventToolCall, Tool: llm.ToolDelta{Index: 1, ID: "c2", Name: "g"}},
		{Kind: llm.EventToolCall, Text: `1}`},
		{Kind: llm.EventToolCall, Tool: llm.ToolDelta{Index: 2, ID: "c3", Name: "h"}, Text: `{"x"`},
		{Kind: llm.EventToolCall, Tool: llm.ToolDelta{Index: -1}, Text: "{}"},
		{Kind: llm.EventToolCall, Tool: llm.ToolDelta{Index: 5000}, Text: "{}"},
		{Kind: llm.EventUsage, Metered: &llm.Metered{}},
		{Kind: llm.EventFinish},
	} {
		out = e.Append(out, &ev)
	}
	out = e.Finish(out, &llm.Final{
		Finish: []llm.FinishReason{llm.FinishContentFilter}, Usage: llm.Usage{llm.Input: 1, llm.Output: 2}, Reported: true,
		Cost: &cost, Attempts: 2, Models: []string{"a/x", "b/y"},
	})
	const open = `{"model":"m","created_at":"2023-11-14T22:13:20Z","message":{"role":"assistant","content":`
	want := []string{
		open + `"","thinking":"hm"},"done":false}`,
		open + `"Hel"},"done":false}`,
		open + `"No"},"done":false}`,
		open + `"","images":["AAAA"]},"done":false}`,
		open + `"","tool_calls":[{"id":"c1","type":"function","function":{"index":0,"name":"f","arguments":{"x":1}}},` +
			`{"id":"c2","type":"function","function":{"index":1,"name":"g","arguments":{}}},` +
			`{"id":"c3","type":"function","function":{"index":2,"name":"h","arguments":"{\"x\""}}]},"done":false}`,
		open + `""},"done":true,"done_reason":"content_filter","prompt_eval_count":1,"eval_count":2,"cost":0.001,"weir":{"attempts":2,"models":["a/x","b/y"]}}`,
	}
	must.Equal(t, lines(t, out), want, "stream")
}

func TestEncoderFails(t *testing.T) {
	t.Parallel()
	out := ollamatest.NewEncoder(llm.Meta{}).Fail(nil, &llm.Error{Code: llm.CodeProviderError, Message: "Why.", Param: "p"})
	if got, want := string(out), `{"error":"p: Why."}`+"\n"; got != want {
		t.Errorf("failure %q, want %q", got, want)
	}
}

// TestLongArguments checks that arguments beyond the bound do not become an object.
func TestLongArguments(t *testing.T) {
	t.Parallel()
	e := ollamatest.NewEncoder(llm.Meta{})
	e.Append(nil, &llm.Event{Kind: llm.EventToolCall, Tool: llm.ToolDelta{ID: "c1", Name: "f"}, Text: `{"x":"`})
	piece := strings.Repeat("x", 1<<20)
	for range 9 {
		e.Append(nil, &llm.Event{Kind: llm.EventToolCall, Text: piece})
	}
	e.Append(nil, &llm.Event{Kind: llm.EventToolCall, Text: `"}`})
	out := string(e.Finish(nil, &llm.Final{}))
	if !strings.Contains(out, `"arguments":"{\"x\":\"xxx`) || len(out) > 9<<20 {
		t.Errorf("%d bytes, beginning with %.300s; want at most 9 MiB and the arguments in a string", len(out), out)
	}
}

// lines returns the lines of out, and checks that each is JSON.
func lines(t *testing.T, out []byte) (list []string) {
	t.Helper()
	for line := range strings.Lines(string(out)) {
		text, whole := strings.CutSuffix(line, "\n")
		if !whole || !json.Valid([]byte(text)) {
			t.Fatalf("%q is not a line of JSON", line)
		}
		list = append(list, text)
	}
	return list
}

// TestManyCalls checks that the calls of a stream are bounded.
func TestManyCalls(t *testing.T) {
	t.Parallel()
	d := ollama.NewDecoder(nil)
	opened := 0
	for range 300 {
		events, err := d.Decode(nil, sse.Event{Data: []byte(`{"message":{"tool_calls":[{},{},{},{},{},{},{},{},{},{}]}}`)})
		must.Do(t, err)
		for _, ev := range events {
			if ev.Kind == llm.EventToolCall {
				opened++
			}
		}
	}
	if opened != 1024 {
		t.Errorf("%d calls opened, want 1024", opened)
	}
}
