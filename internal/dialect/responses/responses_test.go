package responses_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"weir/internal/dialect/responses"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/sse"
)

func TestScanReadsHead(t *testing.T) {
	t.Parallel()
	body := `{"stream":true,"model":"gpt","max_output_tokens":9,"input":"x"}`
	got := must.Get(responses.Scan([]byte(body), nil))(t)
	if m := body[got.ModelSpan.Start:got.ModelSpan.End]; m != `"gpt"` {
		t.Errorf("the span covers %s", m)
	}
	if m := got.Conversation.Messages; body[m.Start:m.End] != `"x"` {
		t.Errorf("the span of the input covers %s", body[m.Start:m.End])
	}
	got.ModelSpan, got.Conversation = llm.Span{}, llm.ConversationSpans{}
	want := llm.Head{Model: "gpt", Stream: true, IncludeUsage: true, Choices: 1, MaxOutput: 9, Open: 1, Usual: true}
	must.Equal(t, got, want, "head of %s", body)
}

// TestForeignRequestIsEncoded checks the translation of a request of an API that is not OpenAI's: results within the
// user's message, thinking of two makers.
func TestForeignRequestIsEncoded(t *testing.T) {
	t.Parallel()
	k := int64(5)
	words := []llm.Part{{Kind: llm.PartText, Text: "no"}}
	r := &llm.Request{
		ExtraOf: "anthropic", Extra: []llm.Field{{Name: "container", Value: json.RawMessage(`"c"`)}},
		TopK: &k, Reasoning: &llm.ReasoningOptions{Budget: 5000},
		Messages: []llm.Message{
			{Role: llm.RoleSystem, Parts: words},
			{Role: llm.RoleUser, Parts: []llm.Part{
				{Kind: llm.PartToolResult, Result: &llm.ToolResult{CallID: "c1", IsError: true, Parts: words}},
				{Kind: llm.PartText, Text: "Hi", CacheControl: json.RawMessage(`{"type":"ephemeral"}`)},
				{Kind: llm.PartDocument, Media: &llm.Media{URL: "https://example.com/a.pdf"}},
			}},
			{Role: llm.RoleAssistant, Parts: []llm.Part{
				{Kind: llm.PartReasoning, Text: "hm", Signature: "s"},
				{Kind: llm.PartReasoning, Text: "ours", Signature: "rs_1", Redacted: "gAAA", Maker: "responses"},
				{Kind: llm.PartOther, Raw: json.RawMessage(`{"type":"server_tool_use"}`)},
				{Kind: llm.PartText, Text: "Yes"},
				{Kind: llm.PartToolCall, Call: &llm.ToolCall{ID: "c2", Name: "f", Arguments: "{}"}},
				{Kind: llm.PartText, Text: "So", Annotations: json.RawMessage(`[]`)},
			}},
		},
	}
	body, dropped, err := responses.EncodeRequest(r, nil)
	must.Do(t, err)
	const want = `{"model":"","input":[{"role":"system","content":"no"},{"type":"function_call_output","call_id":"c1","output":"no"},` +
		`{"role":"user","content":[{"type":"input_text","text":"Hi"},{"type":"input_file","file_url":"https://example.com/a.pdf"}]},` +
		`{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"ours"}],"encrypted_content":"gAAA"},` +
		`{"role":"assistant","content":"Yes"},{"type":"function_call","call_id":"c2","name":"f","arguments":"{}"},{"role":"assistant","content":"So"}],` +
		`"reasoning":{"effort":"medium"},"store":false,"include":["reasoning.encrypted_content"]}`
	must.Equal(t, string(body), want, "body")
	wantDropped := []string{"content parts of another API", "tool result is_error", "cache_control", "reasoning", "annotations", "top_k", "reasoning budget", "container"}
	must.Equal(t, dropped, wantDropped, "dropped")
}

// TestEssentialPartsAreRefused checks the parts that cannot be dropped.
func TestEssentialPartsAreRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, param string
		role        llm.Role
		part        llm.Part
	}{
		{"another vendor's part", "messages[0].content", llm.RoleUser, llm.Part{Kind: llm.PartOther, Raw: json.RawMessage(`{}`)}},
		{"another vendor's image", "messages[0].content", llm.RoleUser, llm.Part{Kind: llm.PartImage, Media: &llm.Media{FileID: "file_1"}}},
		{"another vendor's file", "messages[0].content", llm.RoleUser, llm.Part{Kind: llm.PartDocument, Media: &llm.Media{FileID: "file_1"}}},
		{"the assistant's image", "messages[0].content", llm.RoleAssistant, llm.Part{Kind: llm.PartImage, Media: &llm.Media{Data: "AAAA"}}},
		{"the assistant's file", "messages[0].content", llm.RoleAssistant, llm.Part{Kind: llm.PartDocument, Media: &llm.Media{Data: "AAAA"}}},
		{"a sound", "messages[0].content", llm.RoleUser, llm.Part{Kind: llm.PartAudio, Media: &llm.Media{Data: "AAAA"}}},
		{"a sound as result", "messages[0].content", llm.RoleTool, llm.Part{Kind: llm.PartToolResult, Result: &llm.ToolResult{
			Parts: []llm.Part{{Kind: llm.PartAudio, Media: &llm.Media{Data: "AAAA"}}},
		}}},
	}
	for _, tt := range tests {
		r := &llm.Request{ExtraOf: "anthropic", Messages: []llm.Message{{Role: tt.role, Parts: []llm.Part{tt.part}}}}
		_, _, err := responses.EncodeRequest(r, nil)
		if e := llm.AsError(err); err == nil || e.Code != llm.CodeInvalidRequest || e.Param != tt.param {
			t.Errorf("%s: %v, want a refusal that names %s", tt.name, err, tt.param)
		}
	}
}

// TestEncodeReply encodes an answer of another wire format.
func TestEncodeReply(t *testing.T) {
	t.Parallel()
	cost := llm.Money(300_000_000)
	r := &llm.Reply{
		ID: "r1", Created: 1700000000, Model: "b/y", Reported: true, Cost: &cost, Tier: "flex", ExtraOf: "anthropic",
		Extra: []llm.Field{{Name: "container", Value: json.RawMessage(`1`)}},
		Usage: llm.Usage{llm.Input: 4, llm.CacheRead: 6, llm.CacheWrite: 1, llm.CacheWrite1h: 2, llm.Output: 3, llm.Reasoning: 2},
		Choices: []llm.Choice{{Finish: llm.FinishLength, Message: llm.Message{Parts: []llm.Part{
			{Kind: llm.PartReasoning, Text: "hm", Redacted: "enc"},
			{Kind: llm.PartOther, Raw: json.RawMessage(`{}`)},
			{Kind: llm.PartText, Text: "Hello"},
			{Kind: llm.PartRefusal, Text: "no"},
			{Kind: llm.PartToolCall, Call: &llm.ToolCall{ID: "c1", Name: "f", Arguments: "{}"}},
		}}}},
	}
	const want = `{"id":"r1","object":"response","created_at":1700000000,"status":"incomplete","error":null,"incomplete_details":{"reason":"max_output_tokens"},"model":"b/y","output":[` +
		`{"type":"reasoning","id":"rs_r1_0","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"enc"},` +
		`{"type":"message","id":"msg_r1_1","status":"incomplete","role":"assistant","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":"Hello"},{"type":"refusal","refusal":"no"}]},` +
		`{"type":"function_call","id":"fc_r1_2","status":"incomplete","call_id":"c1","name":"f","arguments":"{}"}],` +
		`"usage":{"input_tokens":13,"input_tokens_details":{"cached_tokens":6,"cache_write_tokens":3},"output_tokens":5,"output_tokens_details":{"reasoning_tokens":2},"total_tokens":18,"cost":0.3},` +
		`"service_tier":"flex","background":false,"metadata":{},"parallel_tool_calls":true,"reasoning":{"effort":null,"summary":null},"store":false,"text":{"format":{"type":"text"}},"tool_choice":"auto","tools":[],` +
		`"top_logprobs":0,"truncation":"disabled","temperature":1.0,"top_p":1.0,"presence_penalty":0.0,"frequency_penalty":0.0,"completed_at":null,` +
		`"instructions":null,"max_output_tokens":null,"max_tool_calls":null,"previous_response_id":null,"prompt_cache_key":null,"safety_identifier":null}`
	must.Equal(t, string(responses.EncodeReply(nil, r)), want, "the encoded reply")
	r.Choices[0].Finish, r.Reported, r.Usage, r.Cost = llm.FinishError, false, llm.Usage{}, nil
	if got := string(responses.EncodeReply(nil, r)); !strings.Contains(got, `"status":"failed"`) || !strings.Contains(got, `"error":{"code":"server_error"`) || !strings.Contains(got, `"usage":null`) {
		t.Errorf("a failed answer: %s", got)
	}
}

// pieces returns the events of an answer with all parts of the format.
func pieces() []llm.Event {
	return []llm.Event{
		{Kind: llm.EventStart},
		{Kind: llm.EventReasoning, Text: "h"},
		{Kind: llm.EventReasoning, Text: "m"},
		{Kind: llm.EventReasoning, Redacted: "enc"},
		{Kind: llm.EventText, Text: "Hel"},
		{Kind: llm.EventText, Text: "lo"},
		{Kind: llm.EventRefusal, Text: "no"},
		{Kind: llm.EventText, Choice: 1, Text: "another answer"},
		{Kind: llm.EventToolCall, Tool: llm.ToolDelta{ID: "c1", Name: "f"}},
		{Kind: llm.EventToolCall, Text: `{"x":`},
		{Kind: llm.EventToolCall, Tool: llm.ToolDelta{Index: 1, ID: "c2", Name: "g"}},
		{Kind: llm.EventToolCall, Text: `1}`},
		{Kind: llm.EventOther, RawOf: responses.Name, Raw: json.RawMessage(`{"type":"web_search_call","id":"ws_1","status":"completed"}`)},
		{Kind: llm.EventOther, RawOf: "openai", Raw: json.RawMessage(`{}`)},
	}
}

// life returns the kinds of a stream's events, and the last event's data.
func life(t *testing.T, stream []byte) (kinds []string, last []byte) {
	t.Helper()
	r := sse.NewReader(strings.NewReader(string(stream)), 1<<20)
	for {
		frame, err := r.Next()
		if err != nil {
			break
		}
		var e struct {
			Type     string
			Sequence int `json:"sequence_number"`
		}
		if err := json.Unmarshal(frame.Data, &e); err != nil || e.Type != string(frame.Name) || e.Sequence != len(kinds) {
			t.Errorf("event %d is %q, number %d, named %q: %v", len(kinds), e.Type, e.Sequence, frame.Name, err)
		}
		kinds = append(kinds, strings.TrimPrefix(e.Type, "response."))
		last = append(last[:0], frame.Data...)
	}
	return kinds, last
}

func TestEncoderWritesStream(t *testing.T) {
	t.Parallel()
	enc := responses.NewEncoder(llm.Meta{ID: "r1", Created: 1700000000, Model: "b/y"})
	var out []byte
	for _, ev := range pieces() {
		out = enc.Append(out, &ev)
	}
	cost := llm.Money(300_000_000)
	out = enc.Finish(out, &llm.Final{
		Finish: []llm.FinishReason{llm.FinishToolCalls}, Usage: llm.Usage{llm.Input: 4, llm.Output: 3}, Reported: true,
		Cost: &cost, Attempts: 2, Models: []string{"a/x", "b/y"},
	})
	kinds, last := life(t, out)
	want := []string{
		"created", "in_progress",
		"output_item.added", "reasoning_summary_part.added", "reasoning_summary_text.delta", "reasoning_summary_text.delta",
		"reasoning_summary_text.done", "reasoning_summary_part.done", "output_item.done",
		"output_item.added", "content_part.added", "output_text.delta", "output_text.delta", "output_text.done", "content_part.done",
		"content_part.added", "refusal.delta", "refusal.done", "content_part.done", "output_item.done",
		"output_item.added", "function_call_arguments.delta", "output_item.added", "function_call_arguments.delta",
		"output_item.added", "output_item.done",
		"function_call_arguments.done", "output_item.done", "function_call_arguments.done", "output_item.done",
		"completed",
	}
	must.Equal(t, kinds, want, "events")
	for _, part := range []string{
		`{"type":"reasoning","id":"rs_r1_0","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"enc"}`,
		`{"type":"message","id":"msg_r1_1","status":"completed","role":"assistant","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":"Hello"},{"type":"refusal","refusal":"no"}]}`,
		`{"type":"function_call","id":"fc_r1_2","status":"completed","call_id":"c1","name":"f","arguments":"{\"x\":1}"}`,
		`{"type":"function_call","id":"fc_r1_3","status":"completed","call_id":"c2","name":"g","arguments":""}`,
		`{"type":"web_search_call","id":"ws_1","status":"completed"}`,
		`"usage":{"input_tokens":4`, `"cost":0.3`, `"weir":{"attempts":2,"models":["a/x","b/y"]}`,
	} {
		if !strings.Contains(string(last), part) {
			t.Errorf("the last event lacks %s: %s", part, last)
		}
	}
}

// TestEncoderEndsIncompleteAnswers checks the end of an incomplete answer.
func TestEncoderEndsIncompleteAnswers(t *testing.T) {
	t.Parallel()
	text := llm.Event{Kind: llm.EventText, Text: "We"}
	for finish, want := range map[llm.FinishReason]string{
		llm.FinishLength:        `"status":"incomplete","error":null,"incomplete_details":{"reason":"max_output_tokens"}`,
		llm.FinishContentFilter: `"status":"incomplete","error":null,"incomplete_details":{"reason":"content_filter"}`,
		llm.FinishError:         `"status":"failed","incomplete_details":null,"model":"","error":{"code":"server_error"`,
	} {
		enc := responses.NewEncoder(llm.Meta{})
		_, last := life(t, enc.Finish(enc.Append(nil, &text), &llm.Final{Finish: []llm.FinishReason{finish}}))
		if !strings.Contains(string(last), want) || !strings.Contains(string(last), `"status":"incomplete","role":"assistant"`) {
			t.Errorf("%s: %s, want %s", finish, last, want)
		}
	}
	enc := responses.NewEncoder(llm.Meta{})
	failure := &llm.Error{Code: llm.CodeRateLimited, Message: "Slow down."}
	kinds, last := life(t, enc.Fail(enc.Append(nil, &text), failure))
	if n := len(kinds); kinds[n-2] != "error" || kinds[n-1] != "failed" || !strings.Contains(string(last), `"error":{"code":"rate_limit_exceeded","message":"Slow down."}`) {
		t.Errorf("a failure: %q, %s", kinds, last)
	}
	kinds, last = life(t, responses.NewEncoder(llm.Meta{}).Fail(nil, failure))
	const want = `{"type":"error","sequence_number":0,"message":"Slow down.","param":null,"code":"rate_limit_exceeded",` +
		`"error":{"message":"Slow down.","type":"rate_limit_error","param":null,"code":"rate_limit_exceeded"}}`
	if string(last) != want {
		t.Errorf("a failure before there was anything: %q, %s, want %s", kinds, last, want)
	}
}

// TestEncoderBound checks that an endless answer does not grow for ever.
func TestEncoderBound(t *testing.T) {
	t.Parallel()
	enc := responses.NewEncoder(llm.Meta{ID: "r1"})
	ev := llm.Event{Kind: llm.EventText, Text: strings.Repeat("x", 1<<20)}
	wrote := 0
	for range 40 {
		wrote += len(enc.Append(nil, &ev))
	}
	end := enc.Finish(nil, &llm.Final{Finish: []llm.FinishReason{llm.FinishStop}})
	if wrote > 17<<20 || !strings.Contains(string(end), "event: response.incomplete") {
		t.Errorf("%d bytes of deltas, and no incomplete answer", wrote)
	}
}

// TestStoredAnswerIsInLastEvent finds the answer in the event that ends a stream.
func TestStoredAnswerIsInLastEvent(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]string{
		`{"type":"response.completed","response":{"id":"resp_1"}}`: `{"id":"resp_1"}`,
		`{"response": {"a":1} ,"type":"response.incomplete"}`:      `{"a":1}`,
		`{"type":"response.failed","response":{"id":"resp_1"}}`:    "",
		`{"type":"response.created","response":{"id":"resp_1"}}`:   "",
		`{"type":"response.completed"}`:                            "",
		`{"delta":"{\"type\":\"response.completed\"}","type":"x"}`: "",
		`[DONE]`: "",
		``:       "",
	} {
		if got := string(responses.Kept([]byte(data))); got != want {
			t.Errorf("%s: got %s, want %s", data, got, want)
		}
	}
}

// TestEncoderReturnsAnswerToStore checks that an encoder returns the answer in its last event, and none of a failed
// one.
func TestEncoderReturnsAnswerToStore(t *testing.T) {
	t.Parallel()
	text := llm.Event{Kind: llm.EventText, Text: "Hello"}
	for _, finish := range []llm.FinishReason{llm.FinishStop, llm.FinishLength, llm.FinishError} {
		enc := responses.NewEncoder(llm.Meta{ID: "resp_1", Model: "m"})
		out := enc.Append(nil, &text)
		end := enc.Finish(nil, &llm.Final{Finish: []llm.FinishReason{finish}, Attempts: 2, Models: []string{"a/b", "c/d"}})
		var want []byte
		events := sse.NewReader(bytes.NewReader(append(out, end...)), 1<<20)
		for {
			event, err := events.Next()
			if err != nil {
				break
			}
			if found := responses.Kept(event.Data); found != nil {
				want = bytes.Clone(found)
			}
		}
		if got := enc.Kept(); !bytes.Equal(got, want) || (want == nil) != (finish == llm.FinishError) {
			t.Errorf("%s: got %s, want %s", finish, got, want)
		}
	}
}
