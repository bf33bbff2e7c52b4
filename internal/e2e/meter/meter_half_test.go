package meter_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
)

// TestStaleUsageIsEstimated uses a stream that reports its usage in the middle and not at its end: the report does not
// cover the whole answer.
func TestStaleUsageIsEstimated(t *testing.T) {
	t.Parallel()
	story := strings.Repeat(harness.Words+" ", 3)
	for name, frames := range map[string][]string{
		"gemini": {
			`{"candidates":[{"content":{"parts":[{"text":"First, "}],"role":"model"}}],"usageMetadata":{"promptTokenCount":500,"candidatesTokenCount":2,"totalTokenCount":502}}`,
			`{"candidates":[{"content":{"parts":[{"text":` + strconv.Quote(story) + `}],"role":"model"}}]}`,
			`{"candidates":[{"content":{"parts":[],"role":"model"},"finishReason":"STOP"}]}`,
		},
		"openai": {
			`{"id":"a","choices":[{"index":0,"delta":{"content":"First, "},"finish_reason":null}],"usage":{"prompt_tokens":500,"completion_tokens":2,"total_tokens":502}}`,
			`{"id":"a","choices":[{"index":0,"delta":{"content":` + strconv.Quote(story) + `},"finish_reason":null}]}`,
			`{"id":"a","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`,
			`[DONE]`,
		},
	} {
		h := openCanned(t, name, "text/event-stream", "data: "+strings.Join(frames, "\n\ndata: ")+"\n\n")
		for _, path := range meterAPIs {
			got := h.Row(h.Do(meterAsk(path, "house/m", "", true)).Header.Get("X-Request-Id"))
			if got.Outcome != "ok" || got.Provenance != "estimated" || got.In != 500 || got.Out < 30 {
				t.Errorf("%s at %s: %+v, want about %d words, estimated", name, path, got, len(strings.Fields(story)))
			}
		}
	}
}

// TestOneSidedUsageIsCompleted uses a reply whose usage has only one side. The gateway counts the other: it is not
// zero.
func TestOneSidedUsageIsCompleted(t *testing.T) {
	t.Parallel()
	const said = "one two three four five six seven eight nine ten"
	const (
		openai    = `{"id":"a","choices":[{"index":0,"message":{"role":"assistant","content":"` + said + `"},"finish_reason":"stop"}],"usage":%s}`
		responses = `{"id":"a","object":"response","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"` + said + `"}]}],"usage":%s}`
		anthropic = `{"id":"a","type":"message","role":"assistant","content":[{"type":"text","text":"` + said + `"}],"stop_reason":"end_turn","usage":%s}`
		gemini    = `{"candidates":[{"content":{"parts":[{"text":"` + said + `"}],"role":"model"},"finishReason":"STOP"}],"usageMetadata":%s}`
		bedrock   = `{"output":{"message":{"role":"assistant","content":[{"text":"` + said + `"}]}},"stopReason":"end_turn","usage":%s}`
		cohere    = `{"id":"a","message":{"role":"assistant","content":[{"type":"text","text":"` + said + `"}]},"finish_reason":"COMPLETE","usage":{"tokens":%s}}`
		ollama    = `{"model":"m","message":{"role":"assistant","content":"` + said + `"},"done":true,"done_reason":"stop","prompt_eval_count":%s}`
	)
	for _, test := range []struct{ dialect, reply, usage string }{
		{"openai", openai, `{"prompt_tokens":9}`},
		{"openai", openai, `{"completion_tokens":10}`},
		{"responses", responses, `{"input_tokens":9}`},
		{"responses", responses, `{"output_tokens":10}`},
		{"anthropic", anthropic, `{"input_tokens":9}`},
		{"anthropic", anthropic, `{"output_tokens":10}`},
		{"gemini", gemini, `{"promptTokenCount":9}`},
		{"gemini", gemini, `{"candidatesTokenCount":10}`},
		{"bedrock", bedrock, `{"inputTokens":9}`},
		{"bedrock", bedrock, `{"outputTokens":10}`},
		{"cohere", cohere, `{"input_tokens":9}`},
		{"cohere", cohere, `{"output_tokens":10}`},
		{"ollama", ollama, `9`},
		{"ollama", ollama, `9,"eval_count":0`},
	} {
		h := openCanned(t, test.dialect, "application/json", fmt.Sprintf(test.reply, test.usage))
		for _, path := range meterAPIs {
			got := h.Row(h.Do(meterAsk(path, "house/m", "", false)).Header.Get("X-Request-Id"))
			if got.Outcome != "ok" || got.Provenance != "estimated" || got.In != 9 || got.Out != 10 {
				t.Errorf("%s, reported %s, at %s: %+v, want 9 and 10 tokens, estimated", test.dialect, test.usage, path, got)
			}
		}
	}
}

// TestAbortedAnswerWithOneSidedUsageIsCounted checks that the text of a whole answer that the model broke off is counted
// if the provider has not counted it, also where the answer's text is not read otherwise.
func TestAbortedAnswerWithOneSidedUsageIsCounted(t *testing.T) {
	t.Parallel()
	const reply = `{"id":"a","choices":[{"index":0,"message":{"role":"assistant","content":"one two three four five six seven eight nine ten"},"finish_reason":"error"}],"usage":{"prompt_tokens":9%s}}`
	for _, more := range []string{"", `,"completion_tokens":0`} {
		h := openCanned(t, "openai", "application/json", fmt.Sprintf(reply, more))
		for _, path := range meterAPIs {
			got := h.Row(h.Do(meterAsk(path, "house/m", "", false)).Header.Get("X-Request-Id"))
			if got.Outcome != "cut" || got.Provenance != "estimated" || got.In != 9 || got.Out != 10 {
				t.Errorf("%q at %s: %+v, want a cut answer of 9 and 10 tokens, estimated", more, path, got)
			}
		}
	}
}

// openCanned opens a gateway with a priced provider that always sends the same answer.
func openCanned(t *testing.T, dialect, contentType, body string) *harness.Gateway {
	t.Helper()
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(ts.Close)
	return harness.Open(t, harness.Setup{YAML: "providers:" + harness.SpokenBy("house", dialect, ts.URL, harness.Spoken()[dialect]) + "prices:\n  house/*: " + harness.RatesYAML + "\n"})
}
