package gemini_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"weir/internal/dialect/dialecttest"
	"weir/internal/dialect/gemini"
	"weir/internal/llm"
	"weir/internal/must"
)

// arrived builds a request of a route, with the value of the route's wildcard.
func arrived(target, query string) *http.Request {
	r := &http.Request{Pattern: "POST /v1beta/models/{target...}", URL: &url.URL{RawQuery: query}}
	r.SetPathValue("target", target)
	return r
}

const hi = `{"contents":[{"parts":[{"text":"Hi"}]}]}`

func TestScanReadsHead(t *testing.T) {
	t.Parallel()
	body := ` {"contents":[],"generation_config":{"max_output_tokens":5,"candidateCount":3}}`
	got := must.Get(gemini.Scan([]byte(body), arrived("google/gemini-x:1:streamGenerateContent", "alt=sse&key=k")))(t)
	want := llm.Head{Model: "google/gemini-x:1", Stream: true, IncludeUsage: true, Choices: 3, MaxOutput: 5, Open: 2}
	got.Conversation = llm.ConversationSpans{}
	must.Equal(t, got, want, "head of %s", body)
}

func TestScanPath(t *testing.T) {
	t.Parallel()
	vertex := arrived("claude-x:generateContent", "")
	vertex.SetPathValue("publisher", "anthropic")
	if h, err := gemini.Scan([]byte(hi), vertex); err != nil || h.Model != "anthropic/claude-x" {
		t.Errorf("another publisher's model: %q, %v", h.Model, err)
	}
	for _, tt := range []struct {
		target, query string
		model         string
		stream        bool
		code          llm.Code // of the refusal
	}{
		{"gemini-x:generateContent", "", "gemini-x", false, ""},
		{"gemini-x:generateContent", "alt=json", "gemini-x", false, ""},
		{"gemini-x:streamGenerateContent", "alt=sse", "gemini-x", true, ""},
		{"gemini-x:streamGenerateContent", "%24alt=sse", "gemini-x", true, ""},
		{"gemini-x:streamGenerateContent", "", "", false, llm.CodeInvalidRequest},
		{"gemini-x:streamGenerateContent", "alt=json", "", false, llm.CodeInvalidRequest},
		{"gemini-x:countTokens", "", "", false, llm.CodeNotFound},
		{"gemini-x", "", "", false, llm.CodeNotFound},
		{":generateContent", "", "", false, llm.CodeNotFound},
		{"generateContent", "", "", false, llm.CodeNotFound},
		{"", "", "", false, llm.CodeNotFound},
	} {
		h, err := gemini.Scan([]byte(hi), arrived(tt.target, tt.query))
		if h.Model != tt.model || h.Stream != tt.stream || (err != nil) != (tt.code != "") || err != nil && llm.AsError(err).Code != tt.code {
			t.Errorf("%s?%s: %+v, %v; want %q, stream %t, code %q", tt.target, tt.query, h, err, tt.model, tt.stream, tt.code)
		}
	}
}

func TestPathOfModel(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		model  string
		stream bool
		want   string
	}{
		{"gemini-2.5-flash", false, "/models/gemini-2.5-flash:generateContent"},
		{"gemini-2.5-flash", true, "/models/gemini-2.5-flash:streamGenerateContent?alt=sse"},
		{"models/gemini-2.5-flash", false, "/models/gemini-2.5-flash:generateContent"},
		{"tunedModels/mine", false, "/tunedModels/mine:generateContent"},
		{"../cachedContents/x", false, "/models/%2E%2E/cachedContents/x:generateContent"},
		{"a b?c#d%2e/.", false, "/models/a%20b%3Fc%23d%252e/%2E:generateContent"},
	} {
		if got := gemini.Path(tt.model, tt.stream); got != tt.want {
			t.Errorf("path of %q: %q, want %q", tt.model, got, tt.want)
		}
	}
}

// TestModernModelsGetLevels checks which models get the newer form of thinking, by the budget or the level in their
// request.
func TestModernModelsGetLevels(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]bool{
		"gemini-2.5-flash": false, "gemini-2.0-flash-001": false, "gemini-flash-1.5": false, "gemini-live-2.5-flash": false,
		"gemini-pro": false, "gemma-4-31b-it": false, "tunedModels/x": false, "": false, "gemini-": false,
		"gemini-3-pro-preview": true, "gemini-3.8-flash": true, "gemini-4-hydrogen": true, "gemini-10-x": true,
		"gemini-flash-latest": true, "models/gemini-3-pro": true, "google/gemini-3-pro": true, "gemini-omni-flash-3": true,
	} {
		r := &llm.Request{
			Model: model, Reasoning: &llm.ReasoningOptions{Effort: "low"},
			Messages: []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{{Kind: llm.PartText, Text: "Hi"}}}},
		}
		body, _, err := gemini.EncodeRequest(r, nil)
		if got := strings.Contains(string(body), "thinkingLevel"); err != nil || got != want {
			t.Errorf("%q is modern: %t, want %t (%s, %v)", model, got, want, body, err)
		}
	}
}

// TestErrorDetails checks the details read from an error in addition to its text.
func TestErrorDetails(t *testing.T) {
	t.Parallel()
	retry := func(delay string) string {
		return `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"m","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"` + delay + `"}]}}`
	}
	for _, tt := range []struct {
		body   string
		status int
		after  time.Duration
	}{
		{retry("48s"), 0, 48 * time.Second},
		{retry("0.5s"), 0, 500 * time.Millisecond},
		{retry("-5s"), 0, 0},
		{retry("soon"), 0, 0},
		{`{"error":{"code":400,"message":"API key expired. Please renew the API key.","status":"INVALID_ARGUMENT"}}`, 401, 0},
		{`{"error":{"code":400,"message":"User location is not supported for the API use.","status":"FAILED_PRECONDITION"}}`, 403, 0},
		{`{"error":{"code":400,"message":"Bad.","status":"INVALID_ARGUMENT"}}`, 0, 0},
	} {
		if got := gemini.DecodeError([]byte(tt.body)); got.Status != tt.status || got.RetryAfter != tt.after {
			t.Errorf("%s: status %d, after %v; want %d, %v", tt.body, got.Status, got.RetryAfter, tt.status, tt.after)
		}
	}
}

// TestReportedErrors checks the codes of errors with status 200.
func TestReportedErrors(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]llm.Code{
		`{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"m"}}`:      llm.CodeInvalidRequest,
		`{"error":{"code":400,"status":"FAILED_PRECONDITION","message":"m"}}`:   llm.CodeProviderError,
		`{"error":{"code":401,"status":"UNAUTHENTICATED","message":"m"}}`:       llm.CodeProviderError,
		`{"error":{"code":403,"status":"PERMISSION_DENIED","message":"m"}}`:     llm.CodeProviderError,
		`{"error":{"code":404,"status":"NOT_FOUND","message":"m"}}`:             llm.CodeModelNotFound,
		`{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"m"}}`:    llm.CodeRateLimited,
		`{"error":{"code":499,"status":"CANCELLED","message":"m"}}`:             llm.CodeProviderError,
		`{"error":{"code":500,"status":"INTERNAL","message":"m"}}`:              llm.CodeProviderError,
		`{"error":{"code":503,"status":"UNAVAILABLE","message":"m"}}`:           llm.CodeProviderUnavailable,
		`{"error":{"code":504,"status":"DEADLINE_EXCEEDED","message":"m"}}`:     llm.CodeProviderTimeout,
		`{"error":{"code":400,"message":"m"}}`:                                  llm.CodeInvalidRequest,
		`{"error":{"code":401,"message":"m"}}`:                                  llm.CodeProviderError,
		`{"error":{"code":404,"message":"m"}}`:                                  llm.CodeModelNotFound,
		`{"error":{"code":408,"message":"m"}}`:                                  llm.CodeProviderTimeout,
		`{"error":{"code":429,"message":"m"}}`:                                  llm.CodeRateLimited,
		`{"error":{"code":503,"message":"m"}}`:                                  llm.CodeProviderUnavailable,
		`{"error":"out of memory"}`:                                             llm.CodeProviderError,
		`{"error":{"code":500,"message":"the input token count is too large"}}`: llm.CodeInvalidRequest,
	} {
		_, err := gemini.DecodeReply([]byte(body), nil)
		if e, ok := errors.AsType[*llm.Error](err); !ok || e.Code != want || e.Message == "" {
			t.Errorf("%s: %v, want %s with a message", body, err, want)
		}
	}
}

// TestReplyRoundTrip checks that Google's own members remain after a passage through the tree.
func TestReplyRoundTrip(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"candidates":[{"content":{"parts":[{"text":"a","thought":true},{"text":"b","thoughtSignature":"QUJD"},{"functionCall":{"id":"x","name":"f","args":{"a":1}},"thoughtSignature":"QUJD"},{"functionCall":{"name":"f","args":{}}},{"executableCode":{"code":"1"}},{"inlineData":{"mimeType":"image/png","data":"AAAA"}}],"role":"model"},"finishReason":"STOP","index":0,"safetyRatings":[]}],"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":1,"totalTokenCount":10,"promptTokensDetails":[{"modality":"TEXT","tokenCount":9}]},"modelVersion":"m","createTime":"2026-08-19T14:34:35Z","responseId":"r","modelStatus":{}}`,
		`{"candidates":[{"content":{"parts":[],"role":"model"},"index":0,"finishMessage":"why","finishReason":"RECITATION"}],"modelVersion":"m","responseId":"r"}`,
		`{"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":0,"totalTokenCount":9,"promptTokensDetails":[{"modality":"TEXT","tokenCount":9}]},"modelVersion":"m","responseId":"r","promptFeedback":{"blockReason":"SAFETY"}}`,
	} {
		r, err := gemini.DecodeReply([]byte(body), nil)
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		must.Equal(t, string(gemini.EncodeReply(nil, r)), body, "the encoded reply")
	}
}

// TestForeignReply encodes answers of other providers.
func TestForeignReply(t *testing.T) {
	t.Parallel()
	r := &llm.Reply{ID: "r", Model: "m", Choices: []llm.Choice{
		{Finish: llm.FinishToolCalls, Message: llm.Message{Parts: []llm.Part{
			{Kind: llm.PartReasoning, Text: "hm", Signature: "not base64!"},
			{Kind: llm.PartReasoning, Redacted: "AAAA"},
			{Kind: llm.PartRefusal, Text: "no"},
			{Kind: llm.PartToolCall, Call: &llm.ToolCall{ID: "call_abc", Name: "f", Arguments: ""}},
			{Kind: llm.PartToolCall, Call: &llm.ToolCall{ID: "call_def", Name: "g", Arguments: `{"a":`}},
			{Kind: llm.PartAudio, Text: "spoken", Media: &llm.Media{}},
		}}},
		{Index: 1, Finish: llm.FinishContentFilter},
	}}
	const want = `{"candidates":[{"content":{"parts":[{"text":"hm","thought":true},{"text":"no"},{"functionCall":{"id":"call_abc","name":"f","args":{}}},{"text":"spoken"}],"role":"model"},` +
		`"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"The arguments of the call of g are not a JSON object.","index":0},` +
		`{"content":{"parts":[],"role":"model"},"finishReason":"SAFETY","index":1}],"modelVersion":"m","responseId":"r"}`
	must.Equal(t, string(gemini.EncodeReply(nil, r)), want, "the encoded reply")
}

// TestEncoderWritesCallsLast checks that calls are whole and in the last object, and that a broken one is reported as
// broken.
func TestEncoderWritesCallsLast(t *testing.T) {
	t.Parallel()
	e := gemini.NewEncoder(llm.Meta{ID: "r", Model: "m"})
	var out []byte
	for _, ev := range []llm.Event{
		{Kind: llm.EventStart},
		{Kind: llm.EventToolCall, Tool: llm.ToolDelta{ID: "x", Name: "f"}, Signature: "QUJD"},
		{Kind: llm.EventToolCall, Tool: llm.ToolDelta{Index: 1, ID: "y", Name: "g"}},
		{Kind: llm.EventToolCall, Text: `{"a"`},
		{Kind: llm.EventToolCall, Tool: llm.ToolDelta{Index: 1}, Text: `{}`},
		{Kind: llm.EventToolCall, Text: `:1}`},
		{Kind: llm.EventText, Text: "Hi", Signature: "QUJD"},
		{Kind: llm.EventText, Signature: "no base64!"},
		{Kind: llm.EventToolCall, Choice: 1, Tool: llm.ToolDelta{ID: "z", Name: "h"}, Text: `{"a":`},
		{Kind: llm.EventOther, Raw: json.RawMessage(`{"x":1}`), RawOf: "openai"},
		{Kind: llm.EventText, Choice: 1 << 20, Text: "nobody"},
	} {
		out = e.Append(out, &ev)
	}
	out = e.Finish(out, &llm.Final{Finish: []llm.FinishReason{llm.FinishToolCalls, llm.FinishToolCalls}, Attempts: 1})
	const want = `data: {"candidates":[{"content":{"parts":[{"text":"Hi","thoughtSignature":"QUJD"}],"role":"model"},"index":0}],"modelVersion":"m","responseId":"r"}

data: {"candidates":[{"content":{"parts":[{"functionCall":{"id":"x","name":"f","args":{"a":1}},"thoughtSignature":"QUJD"},{"functionCall":{"id":"y","name":"g","args":{}}}],"role":"model"},"finishReason":"STOP","index":0},` +
		`{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"The arguments of the call of h are not a JSON object.","index":1}],"modelVersion":"m","responseId":"r"}

`
	must.Equal(t, string(out), want, "the stream")
}

// TestLongArguments checks the bound of an encoder's retained data.
func TestLongArguments(t *testing.T) {
	t.Parallel()
	e := gemini.NewEncoder(llm.Meta{})
	piece := llm.Event{Kind: llm.EventToolCall, Tool: llm.ToolDelta{Name: "f"}, Text: strings.Repeat(" ", 1<<20)}
	for range 20 {
		e.Append(nil, &piece)
	}
	out := e.Finish(nil, &llm.Final{Finish: []llm.FinishReason{llm.FinishToolCalls}})
	if !strings.Contains(string(out), "MALFORMED_FUNCTION_CALL") || len(out) > 1<<10 {
		t.Errorf("%d bytes: want a call with the finish reason of a malformed one: %.300s", len(out), out)
	}
}

func FuzzRequest(f *testing.F) {
	(&dialecttest.Requests{
		Scan: gemini.Scan, Splice: gemini.Splice, Decode: gemini.DecodeRequest, Encode: gemini.EncodeRequest,
		Quirks: &llm.Quirks{Drop: []string{"seed"}},
		Spliced: func(before, after *llm.Head, _ bool) bool {
			return dialecttest.Capped(before, after)
		},
		Refused: func(param string) bool { return param != "" }, Loses: true, Models: []string{"gemini-3-pro"},
	}).Fuzz(f,
		`{"system_instruction":{"parts":{"text":"a"}},"contents":[{"role":"model","parts":[{"functionCall":{"name":"f"}},{"inline_data":{"mime_type":"image/png","data":"-_"}}]},{"parts":[{"functionResponse":{"name":"f","response":{"output":"x"}}}]}]}`,
		`{"contents":[{"parts":[{"text":"a"}]}],"generationConfig":{"maxOutputTokens":5,"responseMimeType":"application/json","responseSchema":{"type":"OBJECT"},"thinkingConfig":{"thinkingBudget":0}},"tools":[{"functionDeclarations":[{"name":"f","parameters":{"type":"STRING","nullable":true}}],"googleSearch":{}}],"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}}`,
		`{"Generation_Config":{}}`,
	)
}

func FuzzReply(f *testing.F) {
	(&dialecttest.Replies{
		Decode: gemini.DecodeReply, Encode: gemini.EncodeReply, Stamp: gemini.Stamp, HasUsage: gemini.HasUsage, DecodeError: gemini.DecodeError,
		Loses: true,
	}).Fuzz(f,
		`{"candidates":[{"content":{"parts":[{"text":"x","thoughtSignature":"QUJD"},{"functionCall":{"name":"f","args":[]}},{"inlineData":{}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"promptTokensDetails":[{"modality":"AUDIO","tokenCount":1}]}}`,
		`[{"error":{"code":429,"message":"m","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1s"}]}}]`,
		`{"promptFeedback":{"blockReason":"OTHER"}}`,
	)
}

func FuzzStream(f *testing.F) {
	(&dialecttest.Streams{
		Decoder: func() dialecttest.Decoder { return gemini.NewDecoder(nil) },
		Encoder: func() dialecttest.Encoder { return gemini.NewEncoder(llm.Meta{}) },
		Final:   llm.Final{Finish: []llm.FinishReason{llm.FinishStop, ""}, Reported: true, Attempts: 2},
	}).Fuzz(f,
		"\t"+`{"candidates":[{"content":{"parts":[{"text":"x"},{"functionCall":{"name":"f"}}]},"index":1}],"usageMetadata":{"promptTokenCount":1}}`+"\n"+"\t"+`{"candidates":[{"finishReason":"STOP"}]}`,
		"\t"+`[{"error":{}}]`+"\n"+"\t"+`{"promptFeedback":{"blockReason":"SAFETY"}}`,
	)
}
