package openai_test

import (
	"encoding/json"
	"errors"
	"testing"

	"weir/internal/dialect/dialecttest"
	"weir/internal/dialect/openai"
	"weir/internal/llm"
	"weir/internal/must"
)

func TestScanReadsHead(t *testing.T) {
	t.Parallel()
	body := `{"stream":true,"stream_options":{"include_usage":true},"model":"gpt","n":3,"max_tokens":5,"max_completion_tokens":9,"messages":[]}`
	got := must.Get(openai.Scan([]byte(body), nil))(t)
	if m, o := body[got.ModelSpan.Start:got.ModelSpan.End], body[got.StreamOptionsSpan.Start:got.StreamOptionsSpan.End]; m != `"gpt"` || o != `{"include_usage":true}` {
		t.Errorf("spans cover %s and %s", m, o)
	}
	got.ModelSpan, got.StreamOptionsSpan = llm.Span{}, llm.Span{}
	want := llm.Head{Model: "gpt", Stream: true, IncludeUsage: true, Choices: 3, MaxOutput: 9, Open: 1}
	got.Conversation = llm.ConversationSpans{}
	must.Equal(t, got, want, "head of %s", body)
}

// TestDroppedFieldsAreNamed checks the names of fields lost from a request of another wire format.
func TestDroppedFieldsAreNamed(t *testing.T) {
	t.Parallel()
	k, n := int64(5), int64(10)
	r := &llm.Request{
		ExtraOf: "anthropic", Extra: []llm.Field{{Name: "container", Value: json.RawMessage(`"c"`)}},
		TopK: &k, MaxOutput: &n, Reasoning: &llm.ReasoningOptions{Budget: 5000},
		Messages: []llm.Message{
			{Role: llm.RoleUser, Parts: []llm.Part{
				{Kind: llm.PartToolResult, Result: &llm.ToolResult{CallID: "c1", IsError: true, Parts: []llm.Part{{Kind: llm.PartText, Text: "no"}}}},
				{Kind: llm.PartText, Text: "Hi", CacheControl: json.RawMessage(`{"type":"ephemeral"}`)},
			}},
			{Role: llm.RoleAssistant, Parts: []llm.Part{
				{Kind: llm.PartReasoning, Text: "hm", Signature: "s"},
				{Kind: llm.PartReasoning, Redacted: "x"},
				{Kind: llm.PartText, Text: "Yes"},
				{Kind: llm.PartOther, Raw: json.RawMessage(`{"type":"server_tool_use"}`)},
			}},
			{Role: llm.RoleUser, Parts: []llm.Part{
				{Kind: llm.PartImage, Media: &llm.Media{MIME: "image/gif", Data: "AAAA"}},
				{Kind: llm.PartAudio, Media: &llm.Media{MIME: "audio/mpeg", Data: "BBBB"}},
			}},
		},
	}
	body, dropped, err := openai.EncodeRequest(r, nil)
	must.Do(t, err)
	const want = `{"model":"","messages":[{"role":"tool","tool_call_id":"c1","content":"no"},{"role":"user","content":"Hi"},` +
		`{"role":"assistant","content":"Yes"},{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/gif;base64,AAAA"}},` +
		`{"type":"input_audio","input_audio":{"data":"BBBB","format":"mp3"}}]}],"max_completion_tokens":10,"reasoning_effort":"medium"}`
	must.Equal(t, string(body), want, "body")
	wantDropped := []string{
		"content parts of another API", "tool result is_error", "cache_control",
		"reasoning signature", "reasoning", "redacted reasoning", "top_k", "reasoning budget", "container",
	}
	must.Equal(t, dropped, wantDropped, "dropped")
}

// TestEssentialPartsAreRefused checks the parts without which the answer would change.
func TestEssentialPartsAreRefused(t *testing.T) {
	t.Parallel()
	user := func(p llm.Part) *llm.Request {
		return &llm.Request{ExtraOf: "anthropic", Messages: []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{p}}}}
	}
	image := llm.Part{Kind: llm.PartImage, Media: &llm.Media{MIME: "image/png", Data: "AAAA"}}
	tests := []struct {
		name, param string
		r           *llm.Request
	}{
		{"a tool that is no function", "tools[0]", &llm.Request{ExtraOf: "anthropic", Tools: []llm.Tool{{Raw: json.RawMessage(`{"type":"web_search"}`)}}}},
		{"a part of another API", "messages[0].content", user(llm.Part{Kind: llm.PartOther, Raw: json.RawMessage(`{"type":"search_result"}`)})},
		{"a document by address", "messages[0].content", user(llm.Part{Kind: llm.PartDocument, Media: &llm.Media{URL: "https://example.com/a.pdf"}})},
		{"a document of another provider", "messages[0].content", user(llm.Part{Kind: llm.PartDocument, Media: &llm.Media{FileID: "file_1"}})},
		{"an image of another provider", "messages[0].content", user(llm.Part{Kind: llm.PartImage, Media: &llm.Media{FileID: "file_1"}})},
		{"a sound by address", "messages[0].content", user(llm.Part{Kind: llm.PartAudio, Media: &llm.Media{URL: "https://example.com/a.mp3"}})},
		{"an image that the assistant made", "messages[0].content", &llm.Request{ExtraOf: "gemini", Messages: []llm.Message{{Role: llm.RoleAssistant, Parts: []llm.Part{image}}}}},
	}
	for _, tt := range tests {
		_, _, err := openai.EncodeRequest(tt.r, nil)
		if got, ok := errors.AsType[*llm.Error](err); !ok || got.Param != tt.param || got.Code != llm.CodeInvalidRequest {
			t.Errorf("%s: got %v, want it refused as %s", tt.name, err, tt.param)
		}
	}
}

func FuzzRequest(f *testing.F) {
	(&dialecttest.Requests{
		Scan: openai.Scan, Splice: openai.Splice, Decode: openai.DecodeRequest, Encode: openai.EncodeRequest,
		NoModel: true, Loses: true,
		Quirks: &llm.Quirks{MaxOutputField: "max_tokens", Rename: map[string]string{"seed": "random_seed"}, Drop: []string{"user"}},
		Spliced: func(before, after *llm.Head, quirks bool) bool {
			return after.Model == "m" && (quirks || dialecttest.Capped(before, after))
		},
	}).Fuzz(f,
		`{"model":"a","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:a;base64,x"}}]}],"tools":[{}]}`,
		`{"messages":[{"role":"assistant","function_call":{}},{"role":"function"}],"stream":true,"n":2}`,
		`{"Max_Tokens":1}`,
		`{"plugins":[{"id":"web","include_domains":["a"]}],"search_domain_filter":["-b"],"messages":[{"role":"user","content":"x"}],"tools":[{"type":"web_search"}]}`,
		`{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{}}]},{"role":"assistant","reasoning_details":[{"type":"reasoning.text","text":"a","signature":"weir1.gemini.0.1.s"}],"images":[{"image_url":"x"}]}]}`,
	)
}

func FuzzReply(f *testing.F) {
	(&dialecttest.Replies{
		Decode: openai.DecodeReply, Encode: openai.EncodeReply, Stamp: openai.Stamp, HasUsage: openai.HasUsage, DecodeError: openai.DecodeError,
		Loses: true,
	}).Fuzz(f,
		`{"id":"a","choices":[{"message":{"content":[{"type":"text","text":"x"}],"tool_calls":[{}],"audio":{}}}],"usage":{"prompt_tokens":1}}`,
		`{"error":{"code":429,"message":{"detail":[{"loc":["a",1]}]}}}`,
		`{"error":{"message":"sk-aaaaaaaaaaaaaaaaaaa\u0000","code":5,"type":"x"}}`,
		`{"detail":[{"loc":["body",0],"msg":"m"}]}`,
		`{"id":"a","choices":[{"message":{"content":[{"type":"text","text":"ü"},{"type":"reference","reference_ids":[0,"b"]}],`+
			`"executed_tools":[{"type":"search","arguments":"{\"query\":\"q\"}","search_results":{"results":[{"url":"https://a"}]}}]}}]}`,
	)
}

func FuzzStream(f *testing.F) {
	(&dialecttest.Streams{
		Decoder: func() dialecttest.Decoder { return openai.NewDecoder(nil) },
		Encoder: func() dialecttest.Encoder { return openai.NewEncoder(llm.Meta{IncludeUsage: true}) },
	}).Fuzz(f,
		"\t"+`{"id":"a","choices":[{"delta":{"content":"x","tool_calls":[{"index":0,"id":"b","function":{"name":"f"}}]}}]}`+"\n"+"\t"+`[DONE]`,
		"error\t"+`{"message":"m"}`+"\n"+"error\t"+`{"error":{"code":"x"},"choices":[{"finish_reason":"error"}]}`,
		"\t"+`{"id":"a","choices":[{"delta":{"annotations":[{"type":"url_citation","url_citation":{"url":"https://a","start_index":0,"end_index":0}}],`+
			`"executed_tools":[{"type":"search","arguments":"{\"query\":\"q\"}"}]}}]}`+"\n"+
			"\t"+`{"id":"a","choices":[{"delta":{"content":[{"type":"text","text":"ü"},{"type":"reference","reference_ids":[0,"b"]}]},"finish_reason":"stop"}]}`,
	)
}

// TestReportedErrors checks the codes of errors with status 200.
func TestReportedErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		body string
		want llm.Code
	}{
		{`{"error":{"code":400,"message":"m"}}`, llm.CodeInvalidRequest},
		{`{"error":{"code":401,"message":"m"}}`, llm.CodeProviderError},
		{`{"error":{"code":404,"message":"m"}}`, llm.CodeModelNotFound},
		{`{"error":{"code":408,"message":"m"}}`, llm.CodeProviderTimeout},
		{`{"error":{"code":413,"message":"m"}}`, llm.CodeRequestTooLarge},
		{`{"error":{"code":"429","message":"m"}}`, llm.CodeRateLimited},
		{`{"error":{"code":429,"message":"m"}}`, llm.CodeRateLimited},
		{`{"error":{"code":500,"message":"m"}}`, llm.CodeProviderError},
		{`{"error":{"code":529,"message":"m"}}`, llm.CodeProviderUnavailable},
		{`{"error":{"code":500,"message":"maximum context length is 5 tokens"}}`, llm.CodeInvalidRequest},
		{`{"error":{"type":"rate_limit_error"}}`, llm.CodeRateLimited},
		{`{"error":{"type":"overloaded_error"}}`, llm.CodeProviderUnavailable},
		{`{"error":{"code":"timeout"}}`, llm.CodeProviderTimeout},
		{`{"error":{"code":"model_not_found"}}`, llm.CodeModelNotFound},
		{`{"error":{"code":"invalid_image_format"}}`, llm.CodeInvalidRequest},
		{`{"error":{"code":"vector_store_timeout"}}`, llm.CodeProviderTimeout},
		{`{"error":{"code":"credit_balance_exhausted","message":"m"}}`, llm.CodeProviderError},
		{`{"error":"out of memory"}`, llm.CodeProviderError},
		{`{"choices":[{"message":{"content":"a"}},{"error":{"code":429,"message":"m"}}]}`, llm.CodeRateLimited},
	}
	for _, tt := range tests {
		_, err := openai.DecodeReply([]byte(tt.body), nil)
		if e, ok := errors.AsType[*llm.Error](err); !ok || e.Code != tt.want || e.Message == "" {
			t.Errorf("%s: %v, want %s with a message", tt.body, err, tt.want)
		}
	}
}

// TestMistakesHaveCodes checks that a mistake may have a code of its own in addition to its type.
func TestMistakesHaveCodes(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"":          `{"error":{"message":"M.","type":"invalid_request_error","param":"p","code":"model_not_found"}}`,
		"not_there": `{"error":{"message":"M.","type":"invalid_request_error","param":"p","code":"not_there"}}`,
	} {
		e := &llm.Error{Code: llm.CodeModelNotFound, Message: "M.", Param: "p", Word: word}
		if got := string(openai.EncodeError(nil, e, "")); got != want {
			t.Errorf("word %q: %s, want %s", word, got, want)
		}
	}
}
