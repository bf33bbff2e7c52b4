package gemini_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/dialect/gemini"
	"weir/internal/llm"
	"weir/internal/sse"
)

// arrived is a request as it came by a route, with what the route's wildcard
// stands for.
func arrived(target, query string) *http.Request {
	r := &http.Request{Pattern: "POST /v1beta/models/{target...}", URL: &url.URL{RawQuery: query}}
	r.SetPathValue("target", target)
	return r
}

const hi = `{"contents":[{"parts":[{"text":"Hi"}]}]}`

func TestScan(t *testing.T) {
	t.Parallel()
	body := ` {"contents":[],"generation_config":{"max_output_tokens":5,"candidateCount":3}}`
	got, err := gemini.Scan([]byte(body), arrived("google/gemini-x:1:streamGenerateContent", "alt=sse&key=k"))
	if err != nil {
		t.Fatal(err)
	}
	want := llm.Head{Model: "google/gemini-x:1", Stream: true, IncludeUsage: true, Choices: 3, MaxOutput: 5, Open: 2}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("head of %s (-got +want)\n%s", body, diff)
	}
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

func TestPath(t *testing.T) {
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

// TestModern holds which models are spoken to in the newer way, by the budget
// or the level that they get.
func TestModern(t *testing.T) {
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

func TestStamp(t *testing.T) {
	t.Parallel()
	cost := llm.Money(300_000_000)
	priced := &llm.Final{Cost: &cost, Attempts: 1}
	for _, tt := range []struct {
		in, want string
		final    *llm.Final
	}{
		{`{"candidates":[{"usageMetadata":{}}], "usageMetadata" : {"promptTokenCount":1} }`, `{"candidates":[{"usageMetadata":{}}], "usageMetadata" : {"cost":0.3,"promptTokenCount":1} }`, priced},
		{`{"usageMetadata":null}`, `{"usageMetadata":null}`, priced},
		{`{"responseId":"x"}`, `{"responseId":"x"}`, priced},
		{`{"usageMetadata":{}}`, `{"usageMetadata":{}}`, &llm.Final{Attempts: 1}},
		{
			`{"usageMetadata":{},"responseId":1 }`, `{"usageMetadata":{"cost":0.3},"responseId":1,"weir":{"attempts":2,"models":["a/x","b/y"]} }`,
			&llm.Final{Cost: &cost, Attempts: 2, Models: []string{"a/x", "b/y"}},
		},
	} {
		if got := string(gemini.Stamp([]byte(">"), []byte(tt.in), tt.final)); got != ">"+tt.want {
			t.Errorf("%s: %s, want %s", tt.in, got, tt.want)
		}
	}
}

// TestErrorDetails holds what is read of an error beside its words.
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

// TestReportedErrors holds how an error that came with status 200 is taken.
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

// TestReplyStays holds that what Google says in its own words is still there
// after a passage through the tree.
func TestReplyStays(t *testing.T) {
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
		if diff := cmp.Diff(string(gemini.EncodeReply(nil, r)), body); diff != "" {
			t.Errorf("(-got +want)\n%s", diff)
		}
	}
}

// TestForeignReply writes what other providers answer.
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
	if diff := cmp.Diff(string(gemini.EncodeReply(nil, r)), want); diff != "" {
		t.Errorf("(-got +want)\n%s", diff)
	}
}

// TestEncoder holds that calls stand in the last object, whole, and that a
// broken one is said to be broken.
func TestEncoder(t *testing.T) {
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
	if diff := cmp.Diff(string(out), want); diff != "" {
		t.Errorf("(-got +want)\n%s", diff)
	}
}

// TestLongArguments holds the bound of what an encoder keeps.
func TestLongArguments(t *testing.T) {
	t.Parallel()
	e := gemini.NewEncoder(llm.Meta{})
	piece := llm.Event{Kind: llm.EventToolCall, Tool: llm.ToolDelta{Name: "f"}, Text: strings.Repeat(" ", 1<<20)}
	for range 20 {
		e.Append(nil, &piece)
	}
	out := e.Finish(nil, &llm.Final{Finish: []llm.FinishReason{llm.FinishToolCalls}})
	if !strings.Contains(string(out), "MALFORMED_FUNCTION_CALL") || len(out) > 1<<10 {
		t.Errorf("%d bytes, want a call that is said to be malformed: %.300s", len(out), out)
	}
}

func FuzzRequest(f *testing.F) {
	f.Add([]byte(`{"system_instruction":{"parts":{"text":"a"}},"contents":[{"role":"model","parts":[{"functionCall":{"name":"f"}},{"inline_data":{"mime_type":"image/png","data":"-_"}}]},{"parts":[{"functionResponse":{"name":"f","response":{"output":"x"}}}]}]}`))
	f.Add([]byte(`{"contents":[{"parts":[{"text":"a"}]}],"generationConfig":{"maxOutputTokens":5,"responseMimeType":"application/json","responseSchema":{"type":"OBJECT"},"thinkingConfig":{"thinkingBudget":0}},"tools":[{"functionDeclarations":[{"name":"f","parameters":{"type":"STRING","nullable":true}}],"googleSearch":{}}],"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}}`))
	f.Add([]byte(`{"Generation_Config":{}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		head, err := gemini.Scan(body, nil)
		if err != nil {
			if _, ok := errors.AsType[*llm.Error](err); !ok {
				t.Fatalf("Scan(%q): %v is not for a client", body, err)
			}
			_, _ = gemini.DecodeRequest(body) // must not panic all the same
			return
		}
		spliced := gemini.Splice(nil, body, &head, llm.Splice{Model: "m", Stream: true, MaxOutput: 9}, nil)
		want := head.MaxOutput
		if want == 0 {
			want = 9
		}
		if again, err := gemini.Scan(spliced, nil); err != nil || again.MaxOutput != want {
			t.Fatalf("Splice(%q) = %q: cap %d, %v", body, spliced, again.MaxOutput, err)
		}
		checkStable(t, body)
	})
}

// checkStable holds that a request in its own words is the same after the
// second passage as after the first, and that another's words never break it.
func checkStable(t *testing.T, body []byte) {
	t.Helper()
	r, err := gemini.DecodeRequest(body)
	if err != nil {
		if e, ok := errors.AsType[*llm.Error](err); !ok || e.Param == "" {
			t.Fatalf("DecodeRequest(%q): %v names no parameter", body, err)
		}
		return
	}
	first, _, err := gemini.EncodeRequest(r, nil)
	if e, refused := errors.AsType[*llm.Error](err); refused {
		if e.Param == "" {
			t.Fatalf("EncodeRequest of %q: %v names no parameter", body, err)
		}
		return
	}
	if err != nil || !json.Valid(first) {
		t.Fatalf("EncodeRequest of %q: %q, %v", body, first, err)
	}
	again, err := gemini.DecodeRequest(first)
	if err != nil {
		t.Fatalf("%q became %q: %v", body, first, err)
	}
	second, dropped, err := gemini.EncodeRequest(again, nil)
	if err != nil || len(dropped) > 0 || string(second) != string(first) {
		t.Fatalf("%q became %q, and then %q: dropped %q, %v", body, first, second, dropped, err)
	}
	r.ExtraOf, r.Model = "openai", "gemini-3-pro"
	if out, _, err := gemini.EncodeRequest(r, &llm.Quirks{Drop: []string{"seed"}}); err == nil && !json.Valid(out) {
		t.Fatalf("in another's words %q became %q", body, out)
	}
}

func FuzzReply(f *testing.F) {
	f.Add([]byte(`{"candidates":[{"content":{"parts":[{"text":"x","thoughtSignature":"QUJD"},{"functionCall":{"name":"f","args":[]}},{"inlineData":{}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"promptTokensDetails":[{"modality":"AUDIO","tokenCount":1}]}}`))
	f.Add([]byte(`[{"error":{"code":429,"message":"m","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1s"}]}}]`))
	f.Add([]byte(`{"promptFeedback":{"blockReason":"OTHER"}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		e := gemini.DecodeError(body)
		for _, s := range []string{e.Message, e.Code, e.Param} {
			if len(s) > 500 || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) || strings.ToValidUTF8(s, "") != s {
				t.Fatalf("DecodeError(%q): %q is not fit to be shown", body, s)
			}
		}
		r, err := gemini.DecodeReply(body, nil)
		if err != nil {
			return
		}
		out := gemini.EncodeReply(nil, r)
		if !json.Valid(out) {
			t.Fatalf("EncodeReply of %q: %q is not JSON", body, out)
		}
		if again, err := gemini.DecodeReply(out, nil); err != nil || again.Usage.TotalTokens() != r.Usage.TotalTokens() {
			t.Fatalf("%q became %q: usage %v, %v", body, out, again, err)
		}
		if out := gemini.Stamp(nil, body, &llm.Final{Cost: new(llm.Money), Attempts: 2}); !json.Valid(out) {
			t.Fatalf("Stamp of %q: %q is not JSON", body, out)
		}
		if r.Reported && !r.Usage.Plausible() {
			t.Fatalf("usage of %q: %v", body, r.Usage)
		}
	})
}

func FuzzStream(f *testing.F) {
	f.Add(`{"candidates":[{"content":{"parts":[{"text":"x"},{"functionCall":{"name":"f"}}]},"index":1}],"usageMetadata":{"promptTokenCount":1}}`, `{"candidates":[{"finishReason":"STOP"}]}`)
	f.Add(`[{"error":{}}]`, `{"promptFeedback":{"blockReason":"SAFETY"}}`)
	f.Fuzz(func(t *testing.T, first, second string) {
		d, enc := gemini.NewDecoder(nil), gemini.NewEncoder(llm.Meta{})
		for _, data := range []string{first, second} {
			events, err := d.Decode(nil, sse.Event{Data: []byte(data)})
			for i := range events {
				checkFrames(t, enc.Append(nil, &events[i]))
				if events[i].Kind == llm.EventUsage && !events[i].Usage.Plausible() {
					t.Fatalf("usage of %q: %v", data, events[i].Usage)
				}
			}
			if e, ok := errors.AsType[*llm.Error](err); ok {
				checkFrames(t, enc.Fail(nil, e))
			}
		}
		checkFrames(t, enc.Finish(nil, &llm.Final{Finish: []llm.FinishReason{llm.FinishStop, ""}, Reported: true, Attempts: 2}))
	})
}

// checkFrames holds that what is written is events of JSON.
func checkFrames(t *testing.T, out []byte) {
	t.Helper()
	r := sse.NewReader(strings.NewReader(string(out)), 1<<20)
	for {
		frame, err := r.Next()
		if err != nil {
			break
		}
		if !json.Valid(frame.Data) {
			t.Fatalf("frame %q is not JSON", frame.Data)
		}
	}
	if len(r.Rest()) > 0 {
		t.Fatalf("%q is no whole event", r.Rest())
	}
}
