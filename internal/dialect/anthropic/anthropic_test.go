package anthropic_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"weir/internal/dialect/anthropic"
	"weir/internal/dialect/dialecttest"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/rawjson"
	"weir/internal/sse"
)

func TestScanReadsHead(t *testing.T) {
	t.Parallel()
	body := ` {"stream":true,"model":"claude","max_tokens":5,"n":3,"messages":[]}`
	got, err := anthropic.Scan([]byte(body), &http.Request{})
	must.Do(t, err)
	if m := body[got.ModelSpan.Start:got.ModelSpan.End]; m != `"claude"` {
		t.Errorf("span covers %s", m)
	}
	got.ModelSpan = llm.Span{}
	want := llm.Head{Model: "claude", Stream: true, IncludeUsage: true, Choices: 1, MaxOutput: 5, Open: 2}
	got.Conversation = llm.ConversationSpans{}
	must.Equal(t, got, want, "head of %s", body)
	if got, err := anthropic.ScanCount([]byte(`{"stream":null,"model":null,"max_tokens":null}`), nil); err != nil || got.Stream || got.IncludeUsage || got.Model != "" {
		t.Errorf("nulls: %+v, %v", got, err)
	}
	for _, without := range []string{`{"model":"claude"}`, `{"max_tokens":null}`} {
		if _, err := anthropic.Scan([]byte(without), nil); err == nil || llm.AsError(err).Param != "max_tokens" {
			t.Errorf("%s: %v, want an error about max_tokens", without, err)
		}
	}
}

// TestSpliceCap inserts a cap into a request of another client API than the one that requires it.
func TestSpliceCap(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"model":"a","messages":[]}`:                        `{"max_tokens":9,"model":"m","messages":[]}`,
		`{"model":"a", "max_tokens" : null , "messages":[]}`: `{"model":"m", "max_tokens" : 9 , "messages":[]}`,
		`{"model":"a","max_tokens":0,"messages":[]}`:         `{"model":"m","max_tokens":0,"messages":[]}`,
		`{"model":"a","max_tokens":5,"messages":[]}`:         `{"model":"m","max_tokens":5,"messages":[]}`,
	} {
		head := must.Get(anthropic.ScanCount([]byte(in), nil))(t)
		if got := anthropic.Splice(nil, []byte(in), &head, llm.Splice{Model: "m", MaxOutput: 9}, nil); string(got) != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

// TestThreadIsRefused requests a conversation that the vendor stores between requests. The gateway does not store it:
// the SDKs send all of it again after this error.
func TestThreadIsRefused(t *testing.T) {
	t.Parallel()
	const messages = `"model":"claude","max_tokens":5,"messages":[{"role":"user","content":"Hi"}]`
	for _, thread := range []string{`{"type":"create"}`, `{"type":"continue","previous_message_id":"msg_1"}`} {
		_, err := anthropic.DecodeRequest([]byte(`{` + messages + `,"thread":` + thread + `}`))
		e, ok := errors.AsType[*llm.Error](err)
		if !ok || e.Code != llm.CodeInvalidRequest || e.Param != "thread" {
			t.Fatalf("%s: got %v, want an invalid request that names thread", thread, err)
		}
		body := anthropic.EncodeError(nil, e, "req-1")
		if got, want := rawjson.Text(rawjson.Get(body, "error", "details", "error_code")), "thread_unsupported_request"; got != want {
			t.Errorf("%s: error_code %q, want %q: %s", thread, got, want, body)
		}
		if got, want := anthropic.DecodeError(body).Word, "thread_unsupported_request"; got != want {
			t.Errorf("%s: read back %q, want %q", body, got, want)
		}
	}
	if _, err := anthropic.DecodeRequest([]byte(`{` + messages + `,"thread":null}`)); err != nil {
		t.Errorf("no thread: %v", err)
	}
}

func TestErrorCode(t *testing.T) {
	t.Parallel()
	if body := anthropic.EncodeError(nil, llm.Invalid("model", "No."), ""); rawjson.Present(rawjson.Get(body, "error", "details")) {
		t.Errorf("details without a reason: %s", body)
	}
	for _, code := range []string{``, `5`, `null`, `"a b"`, `"sk-Secret"`, `"` + strings.Repeat("a", 65) + `"`} {
		body := `{"type":"error","error":{"type":"invalid_request_error","message":"No.","details":{"error_code":` + code + `}}}`
		if got := anthropic.DecodeError([]byte(body)).Word; got != "" {
			t.Errorf("%s: reason %q, want none", body, got)
		}
	}
}

// TestModelNames reads a model's version in the names of all vendors, by the request that such a model gets.
func TestModelNames(t *testing.T) {
	t.Parallel()
	const (
		none     = `{}`
		budget   = `{"budget_tokens":8192,"type":"enabled"}`
		adaptive = `{"type":"adaptive"}`
	)
	tests := []struct{ model, thinking string }{
		{"claude-2.1", none},
		{"claude-instant-1.2", none},
		{"claude-3-haiku-20240307", none},
		{"claude-3-5-sonnet-20241022", none},
		{"claude-3-7-sonnet-latest", budget},
		{"claude-sonnet-4-20250514", budget},
		{"claude-opus-4-1@20250805", budget},
		{"us.anthropic.claude-haiku-4-5-20251001-v1:0", budget},
		{"anthropic/claude-opus-4.5", budget},
		{"claude-opus-4-6", adaptive},
		{"claude-opus-4-7", adaptive},
		{"claude-sonnet-5", adaptive},
		{"claude-haiku-5-5-20261001", adaptive},
		{"claude-mythos-preview", adaptive},
		{"glm-5", budget},
		{"", budget},
	}
	for _, tt := range tests {
		r := &llm.Request{
			Model: tt.model, Reasoning: &llm.ReasoningOptions{Effort: "medium"},
			Messages: []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{{Kind: llm.PartText, Text: "Hi"}}}},
		}
		body, _, err := anthropic.EncodeRequest(r, nil)
		must.Do(t, err)
		var got struct{ Thinking map[string]any }
		must.Do(t, json.Unmarshal(body, &got))
		thinking, _ := json.Marshal(got.Thinking)
		if string(thinking) != strings.Replace(tt.thinking, none, "null", 1) {
			t.Errorf("%q: thinking %s, want %s", tt.model, thinking, tt.thinking)
		}
	}
}

// TestDroppedFieldsAreNamed checks the names of fields lost from a request of another wire format, and the translated
// rest.
func TestDroppedFieldsAreNamed(t *testing.T) {
	t.Parallel()
	k, p := int64(5), json.Number("0.5")
	r := &llm.Request{
		Model: "gemini-like", ExtraOf: "gemini", Extra: []llm.Field{{Name: "safetySettings", Value: json.RawMessage(`[]`)}},
		TopK: &k, TopP: &p, FrequencyPenalty: &p, PresencePenalty: &p, Seed: &k,
		Reasoning: &llm.ReasoningOptions{Budget: 5000, Raw: json.RawMessage(`{"thinkingBudget":5000}`)},
		Tools: []llm.Tool{{
			Name: "f", Parameters: json.RawMessage(`{"type":"object"}`),
			Extra: []llm.Field{{Name: "behavior", Value: json.RawMessage(`1`)}},
		}},
		Messages: []llm.Message{
			{Role: llm.RoleUser, Name: "ann", Parts: []llm.Part{{Kind: llm.PartText, Text: "Hi", Annotations: json.RawMessage(`[]`)}}},
			{Role: llm.RoleAssistant, Parts: []llm.Part{
				{Kind: llm.PartReasoning, Text: "hm", Signature: "s"},
				{Kind: llm.PartToolCall, Call: &llm.ToolCall{ID: "c_1", Name: "f", Extra: []llm.Field{{Name: "thoughtSignature", Value: json.RawMessage(`"x"`)}}}},
			}},
			{Role: llm.RoleUser, Extra: []llm.Field{{Name: "x", Value: json.RawMessage(`1`)}}, Parts: []llm.Part{
				{Kind: llm.PartToolResult, Result: &llm.ToolResult{CallID: "c_1", IsError: true, Parts: []llm.Part{
					{Kind: llm.PartText, Text: "no"}, {Kind: llm.PartImage, Media: &llm.Media{Data: "AAAA"}},
				}}},
				{Kind: llm.PartText, Text: "And?", Extra: []llm.Field{{Name: "y", Value: json.RawMessage(`1`)}}},
			}},
			{Role: llm.RoleAssistant, Parts: []llm.Part{{Kind: llm.PartText, Text: "So"}}},
			{Role: llm.RoleUser, Parts: []llm.Part{{Kind: llm.PartText, Text: "Go on"}}},
		},
	}
	before, _ := json.Marshal(r)
	body, dropped, err := anthropic.EncodeRequest(r, nil)
	must.Do(t, err)
	const want = `{"model":"gemini-like","max_tokens":13192,"messages":[{"role":"user","content":"Hi"},` +
		`{"role":"assistant","content":[{"type":"tool_use","id":"c_1","name":"f","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c_1","content":[{"type":"text","text":"no"},` +
		`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}],"is_error":true},{"type":"text","text":"And?"}]},` +
		`{"role":"assistant","content":"So"},{"role":"user","content":"Go on"}],"tools":[{"name":"f","input_schema":{"type":"object"}}],"thinking":{"type":"enabled","budget_tokens":5000}}`
	must.Equal(t, string(body), want, "body")
	wantDropped := []string{
		"name", "reasoning", "message fields of another API", "annotations", "tool call fields of another API",
		"content fields of another API", "tool fields of another API", "top_p", "top_k", "frequency_penalty", "presence_penalty", "seed", "safetySettings",
	}
	must.Equal(t, dropped, wantDropped, "dropped")
	if after, _ := json.Marshal(r); !bytes.Equal(before, after) {
		t.Errorf("the tree was changed: %s, before %s", after, before)
	}
}

// TestReportedErrors checks the codes of errors with status 200.
func TestReportedErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		kind string
		want llm.Code
	}{
		{"invalid_request_error", llm.CodeInvalidRequest},
		{"authentication_error", llm.CodeProviderError},
		{"billing_error", llm.CodeProviderError},
		{"permission_error", llm.CodeProviderError},
		{"not_found_error", llm.CodeModelNotFound},
		{"request_too_large", llm.CodeRequestTooLarge},
		{"rate_limit_error", llm.CodeRateLimited},
		{"api_error", llm.CodeProviderError},
		{"timeout_error", llm.CodeProviderTimeout},
		{"overloaded_error", llm.CodeProviderUnavailable},
		{"yet_to_be_invented", llm.CodeProviderError},
	}
	for _, tt := range tests {
		body := []byte(`{"type":"error","error":{"type":"` + tt.kind + `","message":"m"},"request_id":"r"}`)
		_, whole := anthropic.DecodeReply(body, nil)
		_, streamed := anthropic.NewDecoder(nil).Decode(nil, sse.Event{Name: []byte("error"), Data: body})
		for _, err := range []error{whole, streamed} {
			if e, ok := errors.AsType[*llm.Error](err); !ok || e.Code != tt.want || e.Message == "" {
				t.Errorf("%s: %v, want %s with a message", tt.kind, err, tt.want)
			}
		}
	}
}

// TestDecoderBounds checks that a stream cannot make the decoder grow without end.
func TestDecoderBounds(t *testing.T) {
	t.Parallel()
	d := anthropic.NewDecoder(nil)
	calls := 0
	for range 5000 {
		events, err := d.Decode(nil, sse.Event{Data: []byte(`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a","name":"f"}}`)})
		must.Do(t, err)
		for _, ev := range events {
			if ev.Tool.Index >= 1024 {
				t.Fatalf("call %d of at most 1024", ev.Tool.Index)
			}
			calls++
		}
	}
	if calls != 1024 {
		t.Errorf("got %d calls, want 1024", calls)
	}
}

// TestEncoderIgnores checks the parts of an answer that this format lacks.
func TestEncoderIgnores(t *testing.T) {
	t.Parallel()
	for _, ev := range []llm.Event{
		{Kind: llm.EventStart, ID: "x"},
		{Kind: llm.EventText},
		{Kind: llm.EventReasoning},
		{Kind: llm.EventText, Choice: 1, Text: "other"},
		{Kind: llm.EventToolCall, Tool: llm.ToolDelta{Index: -1, ID: "a"}},
		{Kind: llm.EventToolCall, Tool: llm.ToolDelta{Index: 1 << 20, ID: "a"}},
		{Kind: llm.EventOther, RawOf: "openai", Raw: json.RawMessage(`{"delta":1}`)},
		{Kind: llm.EventOther, RawOf: anthropic.Name, Raw: json.RawMessage(`{"type":"ping"}`)},
		{Kind: llm.EventFinish, Finish: llm.FinishStop},
	} {
		if out := anthropic.NewEncoder(llm.Meta{}).Append(nil, &ev); len(out) > 0 {
			t.Errorf("%+v: %s", ev, out)
		}
	}
}

func FuzzRequest(f *testing.F) {
	(&dialecttest.Requests{
		Scan: anthropic.Scan, Splice: anthropic.Splice, Decode: anthropic.DecodeRequest, Encode: anthropic.EncodeRequest,
		NoModel: true,
		Quirks:  &llm.Quirks{Rename: map[string]string{"top_k": "k"}, Drop: []string{"metadata", "thinking"}},
		Spliced: func(before, after *llm.Head, _ bool) bool {
			return after.Model == "m" && after.MaxOutput == before.MaxOutput // which is there
		},
	}).Fuzz(f,
		`{"model":"claude-opus-4-5","max_tokens":0,"system":[{"type":"text","text":"x"}],"messages":[{"role":"user","content":[{"type":"document","source":{"type":"text","data":"x"}}]}],"tools":[{"name":"f"}]}`,
		`{"messages":[{"role":"assistant","content":[{"type":"tool_use","input":"x"},{"type":"thinking"}]},{"role":"user","content":[{"type":"tool_result","content":"y"}]}],"thinking":{"type":"enabled","budget_tokens":9},"output_config":{"effort":"low","x":1}}`,
		`{"Max_Tokens":1}`,
	)
}

func FuzzReply(f *testing.F) {
	(&dialecttest.Replies{
		Decode: anthropic.DecodeReply, Encode: anthropic.EncodeReply, Stamp: anthropic.Stamp, HasUsage: anthropic.HasUsage, DecodeError: anthropic.DecodeError,
	}).Fuzz(f,
		`{"id":"a","content":[{"type":"text","text":"x","citations":[]},{"type":"tool_use","input":{}},{"type":"thinking"},{"type":"x"}],"stop_reason":"pause_turn","usage":{"input_tokens":1,"output_tokens":2,"iterations":[{"type":"compaction"}]}}`,
		`{"type":"error","error":{"type":"overloaded_error","message":"m"}}`,
	)
}

func FuzzStream(f *testing.F) {
	(&dialecttest.Streams{
		Decoder: func() dialecttest.Decoder { return anthropic.NewDecoder(nil) },
		Encoder: func() dialecttest.Encoder { return anthropic.NewEncoder(llm.Meta{IncludeUsage: true}) },
		Final:   llm.Final{Reported: true}, Check: checkFrames,
	}).Fuzz(f,
		"message_start\t"+`{"type":"message_start","message":{"id":"a","usage":{"input_tokens":1,"output_tokens":1}}}`+"\n"+"message_start\t"+`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f","input":{"x":1}}}`+"\n"+"message_start\t"+`{"type":"content_block_stop","index":0}`,
		"\t"+`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"x"}}`+"\n"+"\t"+`{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta"}}`+"\n"+"\t"+`{"type":"message_delta","delta":{"stop_reason":"x"},"usage":{"output_tokens":1}}`,
		"error\t"+`{"error":{"message":"m"}}`+"\n"+"error\t"+`[DONE]`+"\n"+"error\t"+`{"type":"message_stop"}`,
	)
}

// checkFrames checks that the written events are JSON, and that blocks begin in order and every event is of a block
// that has begun.
func checkFrames(t *testing.T, out []byte) {
	t.Helper()
	r := sse.NewReader(bytes.NewReader(out), 1<<20)
	var blocks, open int64
	for {
		frame, err := r.Next()
		if err != nil {
			break
		}
		var data struct {
			Type  string
			Index int64
		}
		if err := json.Unmarshal(frame.Data, &data); err != nil || data.Type != string(frame.Name) {
			t.Fatalf("frame %q %q: %v", frame.Name, frame.Data, err)
		}
		switch data.Type {
		case "content_block_start":
			if data.Index != blocks || open != 0 {
				t.Fatalf("block %d begins as number %d, %d open: %q", data.Index, blocks, open, out)
			}
			blocks, open = blocks+1, open+1
		case "content_block_delta":
			if data.Index >= blocks {
				t.Fatalf("a piece of block %d of %d: %q", data.Index, blocks, out)
			}
		case "content_block_stop":
			if data.Index != blocks-1 || open != 1 {
				t.Fatalf("block %d ends, of %d, %d open: %q", data.Index, blocks, open, out)
			}
			open--
		}
	}
	if len(r.Rest()) > 0 || open != 0 {
		t.Fatalf("%q is not a whole event, or %d blocks are open", r.Rest(), open)
	}
}

// TestSpeedIsLeftToProvider lets the provider decide which speeds it has: their cost is a matter of its price.
func TestSpeedIsLeftToProvider(t *testing.T) {
	t.Parallel()
	for speed, param := range map[string]string{`"fast"`: "", `"faster"`: "", `5`: "speed", `"standard"`: "", `null`: ""} {
		_, err := anthropic.Scan([]byte(`{"model":"claude","max_tokens":5,"messages":[],"speed":`+speed+`}`), nil)
		if err == nil && param != "" || err != nil && llm.AsError(err).Param != param {
			t.Errorf("speed %s: %v, want an error about %q", speed, err, param)
		}
	}
}
