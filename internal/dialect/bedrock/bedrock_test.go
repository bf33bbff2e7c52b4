package bedrock_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"weir/internal/dialect/bedrock"
	"weir/internal/dialect/bedrock/bedrocktest"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/sse"
)

// at builds a request whose path matched POST /model/{target...}.
func at(target string) *http.Request {
	r := &http.Request{}
	r.SetPathValue("target", target)
	return r
}

func TestScanReadsHead(t *testing.T) {
	t.Parallel()
	const body = ` {"messages":[],"inferenceConfig":{"maxTokens":5,"topP":1},"additionalModelRequestFields":{"max_tokens":9,"inferenceConfig":{"max_new_tokens":7}},"x":1}`
	got := must.Get(bedrocktest.Scan([]byte(body), at("anthropic.claude-v2:1/converse-stream")))(t)
	want := llm.Head{Model: "anthropic.claude-v2:1", Stream: true, IncludeUsage: true, Choices: 1, MaxOutput: 9, Open: 2}
	must.Equal(t, got, want, "head of %s", body)
}

// TestTargetsInPathAreUnescaped uses the mux, which unescapes the path.
func TestTargetsInPathAreUnescaped(t *testing.T) {
	t.Parallel()
	var head llm.Head
	var err error
	mux := http.NewServeMux()
	mux.HandleFunc("POST /model/{target...}", func(_ http.ResponseWriter, r *http.Request) {
		head, err = bedrocktest.Scan([]byte(`{}`), r)
	})
	const arn = "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-sonnet-4-5-20250929-v1:0"
	for _, tt := range []struct {
		path, model string
		stream      bool
	}{
		{"/model/m/converse", "m", false},
		{"/model/m/converse-stream", "m", true},
		{"/model/us.amazon.nova-2-lite-v1%3A0/converse", "us.amazon.nova-2-lite-v1:0", false},
		{"/model/us.amazon.nova-2-lite-v1:0/converse", "us.amazon.nova-2-lite-v1:0", false},
		{bedrock.Path(arn, true), arn, true},
		{bedrock.Path("chat:fault=cut,at=3", false), "chat:fault=cut,at=3", false},
		{bedrock.Path("100% of a/b?#é", false), "100% of a/b?#é", false},
		{"/model/converse", "", false},
		{"/model/", "", false},
		{"/model//converse", "", false},
		{"/model/m/invoke", "", false},
		{"/model/m/converse/", "", false},
		{"/model/m/CONVERSE", "", false},
	} {
		head, err = llm.Head{}, nil
		mux.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "http://host"+tt.path, nil))
		if e, ok := errors.AsType[*llm.Error](err); ok && e.Code != llm.CodeNotFound {
			t.Errorf("%s: %v", tt.path, err)
		}
		if head.Model != tt.model || head.Stream != tt.stream {
			t.Errorf("%s: model %q, stream %v, %v; want %q, %v", tt.path, head.Model, head.Stream, err, tt.model, tt.stream)
		}
	}
}

func TestPathEscapesModel(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]string{
		"anthropic.claude-v2:1":             "/model/anthropic.claude-v2%3A1/converse",
		"arn:aws:bedrock:eu:1:x-profile/ab": "/model/arn%3Aaws%3Abedrock%3Aeu%3A1%3Ax-profile%2Fab/converse",
		"a_b~c d?e#f%é":                     "/model/a_b~c%20d%3Fe%23f%25%C3%A9/converse",
	} {
		got := bedrock.Path(model, false)
		if got != want {
			t.Errorf("path of %q: %s, want %s", model, got, want)
		}
		if stream := bedrock.Path(model, true); stream != want+"-stream" {
			t.Errorf("path of a stream of %q: %s", model, stream)
		}
		u, err := url.Parse("https://host" + got)
		if err != nil || u.EscapedPath() != got || u.Path != "/model/"+model+"/converse" {
			t.Errorf("%s is parsed as %q, %v", got, u.EscapedPath(), err)
		}
	}
}

// TestReplyRoundTrip checks that an answer in this format is encoded as it was decoded.
func TestReplyRoundTrip(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"metrics":{"latencyMs":7},"output":{"message":{"role":"assistant","content":[{"text":"Hi"}]}},"stopReason":"stop_sequence","usage":{"inputTokens":1,"outputTokens":2,"totalTokens":10,"cacheReadInputTokens":3,"cacheWriteInputTokens":4,"cacheDetails":[{"ttl":"1h","inputTokens":1},{"ttl":"5m","inputTokens":3}]},"serviceTier":{"type":"flex"},"trace":{"x":1}}`,
		`{"metrics":{"latencyMs":0},"output":{"message":{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"Hm.","signature":"s"}}},{"reasoningContent":{"redactedContent":"ZW5j"}},{"citationsContent":{"content":[{"text":"a"}],"citations":[{"title":"t"}]}},{"image":{"format":"png","source":{"bytes":"AAAA"}}},{"toolUse":{"toolUseId":"s1","name":"g","input":{},"type":"server_tool_use"}},{"toolResult":{"toolUseId":"s1","content":[]}},{"toolUse":{"toolUseId":"t1","name":"f","input":{"x":[1]}}},{"newBlock":{}}]}},"stopReason":"tool_use"}`,
		`{"metrics":{"latencyMs":0},"output":{"message":{"role":"assistant","content":[]}},"stopReason":"new_reason"}`,
	} {
		r, err := bedrock.DecodeReply([]byte(body), nil)
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		must.Equal(t, string(bedrocktest.EncodeReply(nil, r)), body, "the encoded reply")
	}
}

// TestForeignReply encodes another format's reply.
func TestForeignReply(t *testing.T) {
	t.Parallel()
	cost := llm.Money(1_250_000)
	r := &llm.Reply{
		ID: "r", Model: "m", ExtraOf: "openai", Extra: []llm.Field{{Name: "system_fingerprint", Value: json.RawMessage(`"x"`)}},
		Reported: true, Cost: &cost, Usage: llm.Usage{llm.Input: 4, llm.AudioIn: 1, llm.CacheWrite: 2, llm.Output: 3, llm.Reasoning: 2},
		Choices: []llm.Choice{{Finish: llm.FinishError, Message: llm.Message{Parts: []llm.Part{
			{Kind: llm.PartReasoning, Text: "Hm."},
			{Kind: llm.PartText, Text: "Hi", Annotations: json.RawMessage(`[{"type":"url_citation"}]`)},
			{Kind: llm.PartRefusal, Text: "No"},
			{Kind: llm.PartImage, Media: &llm.Media{URL: "https://example.com/a.png"}},
			{Kind: llm.PartAudio, Text: "Said", Media: &llm.Media{FileID: "audio_1"}},
			{Kind: llm.PartAudio, Media: &llm.Media{Data: "AAAA", Format: "wav"}},
			{Kind: llm.PartToolCall, Call: &llm.ToolCall{ID: "c1", Name: "f", Arguments: `{"x":`}},
			{Kind: llm.PartToolCall, Call: &llm.ToolCall{ID: "c2", Name: "f"}},
			{Kind: llm.PartOther, Raw: json.RawMessage(`{"type":"x"}`)},
		}}}, {}},
	}
	const want = `{"metrics":{"latencyMs":0},"output":{"message":{"role":"assistant","content":[` +
		`{"reasoningContent":{"reasoningText":{"text":"Hm."}}},{"text":"Hi"},{"text":"No"},{"text":"[The model answered with a file (unknown type): https://example.com/a.png]"},{"text":"Said"},{"audio":{"format":"wav","source":{"bytes":"AAAA"}}},` +
		`{"toolUse":{"toolUseId":"c1","name":"f","input":"{\"x\":"}},{"toolUse":{"toolUseId":"c2","name":"f","input":{}}}]}},"stopReason":"malformed_model_output",` +
		`"usage":{"inputTokens":5,"outputTokens":5,"totalTokens":12,"cacheReadInputTokens":0,"cacheWriteInputTokens":2,"cacheDetails":[{"ttl":"5m","inputTokens":2}],"cost":0.00125}}`
	must.Equal(t, string(bedrocktest.EncodeReply(nil, r)), want, "the encoded reply")
	if got := bedrocktest.EncodeReply(nil, &llm.Reply{}); !json.Valid(got) {
		t.Errorf("a reply without choices: %s", got)
	}
}

// frames lists a stream as lines of name and data.
func frames(t *testing.T, b []byte) (lines []string) {
	t.Helper()
	events, err := readAll(bytes.NewReader(b), bound)
	if err != nil {
		t.Fatalf("%v, in %q", err, b)
	}
	for _, ev := range events {
		if !json.Valid([]byte(ev.Data)) {
			t.Errorf("%s is not JSON: %s", ev.Name, ev.Data)
		}
		lines = append(lines, ev.Name+" "+ev.Data)
	}
	return lines
}

func TestEncoderWritesStream(t *testing.T) {
	t.Parallel()
	e := bedrocktest.NewEncoder(llm.Meta{ID: "r"})
	var out []byte
	for _, ev := range []llm.Event{
		{Kind: llm.EventStart},
		{Kind: llm.EventText, Text: ""},
		{Kind: llm.EventReasoning, Text: "Hm"},
		{Kind: llm.EventReasoning, Text: "."},
		{Kind: llm.EventReasoning, Signature: "s"},
		{Kind: llm.EventReasoning, Redacted: "ZW5j"},
		{Kind: llm.EventOther, RawOf: bedrock.Name, Raw: json.RawMessage(`{"citation":{}}`)},
		{Kind: llm.EventOther, RawOf: "openai", Raw: json.RawMessage(`{}`)},
		{Kind: llm.EventText, Text: "Hi"},
		{Kind: llm.EventRefusal, Text: "no"},
		{Kind: llm.EventText, Text: "other", Choice: 1},
		{Kind: llm.EventToolCall, Text: "lost", Tool: llm.ToolDelta{Index: 3}},
		{Kind: llm.EventToolCall, Tool: llm.ToolDelta{ID: "t1", Name: "f"}, Text: "{"},
		{Kind: llm.EventToolCall, Text: "}"},
		{Kind: llm.EventToolCall, Tool: llm.ToolDelta{Index: 1, ID: "t2", Name: "g"}},
		{Kind: llm.EventToolCall, Text: " "},
	} {
		out = e.Append(out, &ev)
	}
	cost := llm.Money(5)
	out = e.Finish(out, &llm.Final{
		Finish: []llm.FinishReason{llm.FinishToolCalls}, Usage: llm.Usage{llm.Input: 1, llm.Output: 2}, Reported: true,
		Cost: &cost, Attempts: 2, Models: []string{"a/x"},
	})
	want := []string{
		`messageStart {"role":"assistant"}`,
		`contentBlockDelta {"contentBlockIndex":0,"delta":{"reasoningContent":{"text":"Hm"}}}`,
		`contentBlockDelta {"contentBlockIndex":0,"delta":{"reasoningContent":{"text":"."}}}`,
		`contentBlockDelta {"contentBlockIndex":0,"delta":{"reasoningContent":{"signature":"s"}}}`,
		`contentBlockStop {"contentBlockIndex":0}`,
		`contentBlockDelta {"contentBlockIndex":1,"delta":{"reasoningContent":{"redactedContent":"ZW5j"}}}`,
		`contentBlockStop {"contentBlockIndex":1}`,
		`contentBlockDelta {"contentBlockIndex":2,"delta":{"citation":{}}}`,
		`contentBlockDelta {"contentBlockIndex":2,"delta":{"text":"Hi"}}`,
		`contentBlockDelta {"contentBlockIndex":2,"delta":{"text":"no"}}`,
		`contentBlockStop {"contentBlockIndex":2}`,
		`contentBlockStart {"contentBlockIndex":3,"start":{"toolUse":{"toolUseId":"t1","name":"f"}}}`,
		`contentBlockDelta {"contentBlockIndex":3,"delta":{"toolUse":{"input":"{"}}}`,
		`contentBlockDelta {"contentBlockIndex":3,"delta":{"toolUse":{"input":"}"}}}`,
		`contentBlockStop {"contentBlockIndex":3}`,
		`contentBlockStart {"contentBlockIndex":4,"start":{"toolUse":{"toolUseId":"t2","name":"g"}}}`,
		`contentBlockDelta {"contentBlockIndex":3,"delta":{"toolUse":{"input":" "}}}`,
		`contentBlockStop {"contentBlockIndex":4}`,
		`messageStop {"stopReason":"tool_use"}`,
		`metadata {"metrics":{"latencyMs":0},"usage":{"inputTokens":1,"outputTokens":2,"totalTokens":3,"cacheReadInputTokens":0,"cacheWriteInputTokens":0,"cost":0.000000005},"weir":{"attempts":2,"models":["a/x"]}}`,
	}
	must.Equal(t, frames(t, out), want, "the frames")
}

// TestEndsOfStreams checks an empty stream, and the end of a stream for each error.
func TestEndsOfStreams(t *testing.T) {
	t.Parallel()
	want := []string{`messageStart {"role":"assistant"}`, `messageStop {"stopReason":"end_turn"}`, `metadata {"metrics":{"latencyMs":0}}`}
	must.Equal(t, frames(t, bedrocktest.NewEncoder(llm.Meta{}).Finish(nil, &llm.Final{})), want, "the frames of an empty stream")
	for code, exception := range map[llm.Code]string{
		llm.CodeInvalidRequest: "validationException", llm.CodeRateLimited: "throttlingException", llm.CodeOverloaded: "serviceUnavailableException",
		llm.CodeProviderError: "modelStreamErrorException", llm.CodeInternal: "internalServerException", "NO_SUCH": "internalServerException",
	} {
		got := frames(t, bedrocktest.NewEncoder(llm.Meta{}).Fail(nil, &llm.Error{Code: code, Message: "Why."}))
		must.Equal(t, got, []string{exception + ` {"message":"Why."}`}, "%s", code)
	}
}

// TestManyCalls checks that no stream makes the decoder grow without bound.
func TestManyCalls(t *testing.T) {
	t.Parallel()
	d := bedrock.NewDecoder(nil)
	opened := 0
	for range 5000 {
		events, err := d.Decode(nil, sse.Event{Name: []byte("contentBlockStart"), Data: []byte(`{"contentBlockIndex":1,"start":{"toolUse":{"name":"f"}}}`)})
		must.Do(t, err)
		opened += len(events)
	}
	events, err := d.Decode(nil, sse.Event{Name: []byte("contentBlockDelta"), Data: []byte(`{"contentBlockIndex":9,"delta":{"toolUse":{"input":"x"}}}`)})
	if opened != 1024 || err != nil || len(events) > 0 {
		t.Errorf("%d calls opened, then %v, %v", opened, events, err)
	}
}

// TestHotPathAllocations checks the allocation budgets of the hot path.
func TestHotPathAllocations(t *testing.T) { // not parallel: it counts allocations
	piece := sse.Event{Name: []byte("contentBlockDelta"), Data: []byte(`{"contentBlockIndex":0,"delta":{"text":" scattered"},"p":"abcdefghijkl"}`)}
	stream := bytes.Repeat(bedrocktest.AppendFrame(nil, string(piece.Name), piece.Data), 1000)
	d, e := bedrock.NewDecoder(nil), bedrocktest.NewEncoder(llm.Meta{})
	var events []llm.Event
	var out []byte
	r := bedrock.NewReader(bytes.NewReader(stream), bound)
	body := []byte(`{"messages":[{"role":"user","content":[{"text":"Hello"}]}],"inferenceConfig":{"maxTokens":5}}`)
	request := at("m/converse")
	request.Method = http.MethodPost
	for _, tt := range []struct {
		name string
		most float64
		run  func()
	}{
		{"read a frame", 0, func() { _, _ = r.Next() }},
		{"decode a piece", 1, func() { events, _ = d.Decode(events[:0], piece) }},
		{"encode a piece", 0, func() { out = e.Append(out[:0], &llm.Event{Kind: llm.EventText, Text: " scattered"}) }},
		{"scan", 0, func() { _, _ = bedrocktest.Scan(body, request) }},
	} {
		tt.run()
		if got := testing.AllocsPerRun(100, tt.run); got > tt.most {
			t.Errorf("%s: %v allocations, want at most %v", tt.name, got, tt.most)
		}
	}
}
