package meter_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
	"weir/internal/ledger"
	"weir/internal/llm"
)

// toldRates are the prices of the early usage, in micro-dollars a token: 1, 10, 0.1, 2, and 10,000 a search.
const toldRates = "prices:\n  house/*: {input: \"1\", output: \"10\", reasoning: \"10\", cache_read: \"0.1\", cache_write: \"2\", cache_write_1h: \"2\", search: \"0.01\"}\n"

// telling is a gateway before a provider that answers with the frames that are set.
type telling struct {
	*harness.Gateway
	frames string
}

func openTelling(t *testing.T, dialect string) *telling {
	t.Helper()
	g := new(telling)
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if strings.HasPrefix(g.frames, "{") && !strings.Contains(g.frames, "\n") && !strings.Contains(g.frames, `"response.`) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(g.frames))
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte("data: " + strings.ReplaceAll(g.frames, "\n", "\n\ndata: ") + "\n\n"))
	}))
	t.Cleanup(up.Close)
	g.Gateway = harness.Open(t, harness.Setup{YAML: "providers:" + harness.SpokenBy("house", dialect, up.URL, harness.Spoken()[dialect]) + toldRates})
	return g
}

// entry returns the settled attempt of a request that is answered with these frames, or with one object.
func (g *telling) entry(t *testing.T, stream bool, frames string) ledger.Entry {
	t.Helper()
	g.frames = frames
	return g.Entry(t, g.Do(meterAsk("/v1/chat/completions", "house/m", `,"max_tokens":100`, stream)).Header.Get("X-Request-Id"))
}

// TestEarlyUsageIsMinimumOfBound uses a stream of the Responses API that reports its usage, or has items, at its
// beginning, and then fails or breaks off: the early report is the minimum of the bound.
func TestEarlyUsageIsMinimumOfBound(t *testing.T) {
	t.Parallel()
	const (
		usage  = `"usage":{"input_tokens":10,"output_tokens":900,"total_tokens":910}`
		begun  = `{"type":"response.created","response":{"id":"r","model":"m","status":"in_progress","output":[]}}` + "\n"
		text   = "\n" + `{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"Hi"}`
		broken = "\n" + `{"type":"error","code":"server_error","message":"x","param":null}`
		failed = "\n" + `{"type":"response.failed","response":{"id":"r","status":"failed","error":{"code":"server_error","message":"x"}}}`
	)
	of := func(kind, members string) string {
		return `{"type":"response.` + kind + `","response":{"id":"r","model":"m","status":"in_progress",` + members + `}}`
	}
	items := `"output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hello there, how are you?"}]}]`
	search := `"output":[{"type":"web_search_call","id":"w","status":"completed","action":{"type":"search","query":"q"}}]`
	g := openTelling(t, "responses")
	for name, c := range map[string]struct {
		frames string
		least  llm.Money // of the bound, in micro-dollars
	}{
		"created, then an error":            {of("created", usage) + broken, 9010},
		"created, then failed":              {of("created", usage) + failed, 9010},
		"in progress, then an error":        {begun + of("in_progress", usage) + broken, 9010},
		"in progress, then failed":          {begun + of("in_progress", usage) + failed, 9010},
		"in progress, then the end":         {begun + of("in_progress", usage), 9010},
		"in progress, text, then the end":   {begun + of("in_progress", usage) + text, 9010},
		"in progress, text, then an error":  {begun + of("in_progress", usage) + text + broken, 9010},
		"items, then an error":              {begun + of("in_progress", items) + broken, 70},
		"items, then failed":                {begun + of("in_progress", items) + failed, 70},
		"a search, then an error":           {begun + of("in_progress", search) + broken, 10_000},
		"a search and usage, then an error": {begun + of("in_progress", search+","+usage) + broken, 19_010},
	} {
		e := g.entry(t, true, c.frames)
		if e.Provenance != ledger.Estimated || max(e.Cost, e.AtMost) < c.least*1000 {
			t.Errorf("%s: %s, $%s, at most $%s; want estimated, at most %d µ$ or more", name, e.Provenance, e.Cost, e.AtMost, c.least)
		}
	}
	for name, frames := range map[string]string{
		"nothing told":     begun + of("in_progress", `"output":[],"usage":null`) + broken,
		"nothing but zero": begun + of("in_progress", `"output":[],"usage":{"input_tokens":0,"output_tokens":0,"total_tokens":0}`) + broken,
	} {
		if e := g.entry(t, true, frames); e.Provenance != ledger.Exact || e.Cost != 0 {
			t.Errorf("%s: %s, $%s, at most $%s; want exact, nothing", name, e.Provenance, e.Cost, e.AtMost)
		}
	}
}

// TestFallingCountsAreBounded uses a stream with falling counts: the row is an estimate, and the largest count of each
// class is its bound. Growing or refined counts are exact.
func TestFallingCountsAreBounded(t *testing.T) {
	t.Parallel()
	const (
		chat   = `{"id":"r","choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}],"usage":{` + "%1}}\n" + `{"id":"r","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{` + "%2}}\n[DONE]"
		claude = `{"type":"message_start","message":{"id":"r","model":"m","usage":{` + "%1}}}\n" + `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Hi"}}` + "\n" +
			`{"type":"content_block_stop","index":0}` + "\n" + `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{` + "%2}}\n" + `{"type":"message_stop"}`
		google = `{"candidates":[{"content":{"parts":[{"text":"Hi"}],"role":"model"}}],"usageMetadata":{` + "%1}}\n" +
			`{"candidates":[{"content":{"parts":[],"role":"model"},"finishReason":"STOP"}],"usageMetadata":{` + "%2}}"
		items = `{"type":"response.in_progress","response":{"id":"r","model":"m","status":"in_progress","usage":{` + "%1}}}\n" +
			`{"type":"response.completed","response":{"id":"r","model":"m","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hi"}]}],"usage":{` + "%2}}}"
	)
	for _, c := range []struct {
		dialect, frames, first, last string
		cost, most                   llm.Money // in micro-dollars; most is 0 for an exact row
	}{
		{"openai", chat, `"prompt_tokens":10,"completion_tokens":1`, `"prompt_tokens":10,"completion_tokens":2`, 30, 0},
		{"openai", chat, `"prompt_tokens":10,"completion_tokens":900`, `"prompt_tokens":10,"completion_tokens":1`, 20, 9010},
		{"openai", chat, `"prompt_tokens":10,"completion_tokens":900`, `"prompt_tokens":0,"completion_tokens":0`, 0, 9010},
		{"openai", chat, `"prompt_tokens":100,"completion_tokens":1`, `"prompt_tokens":100,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":90}`, 29, 0},
		{"openai", chat, `"prompt_tokens":100,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":90}`, `"prompt_tokens":100,"completion_tokens":1`, 110, 119},
		{"openai", chat, `"total_tokens":900`, `"prompt_tokens":10,"completion_tokens":1`, 20, 9010},
		{"anthropic", claude, `"input_tokens":10,"output_tokens":1`, `"input_tokens":10,"output_tokens":2`, 30, 0},
		{"anthropic", claude, `"input_tokens":5000,"output_tokens":1`, `"input_tokens":10,"output_tokens":2`, 30, 5020},
		{"anthropic", claude, `"input_tokens":10,"output_tokens":900`, `"output_tokens":2`, 30, 9010},
		{"anthropic", claude, `"input_tokens":10,"output_tokens":1,"cache_creation_input_tokens":1000`, `"output_tokens":1,"cache_creation_input_tokens":0`, 20, 2020},
		{"anthropic", claude, `"input_tokens":10,"output_tokens":1,"cache_read_input_tokens":1000`, `"output_tokens":1,"cache_read_input_tokens":0`, 20, 120},
		{"anthropic", claude, `"input_tokens":10,"output_tokens":1,"server_tool_use":{"web_search_requests":3}`, `"output_tokens":1,"server_tool_use":{"web_search_requests":0}`, 20, 30_020},
		{"gemini", google, `"promptTokenCount":10,"candidatesTokenCount":1`, `"promptTokenCount":10,"candidatesTokenCount":2`, 30, 0},
		{"gemini", google, `"promptTokenCount":10,"candidatesTokenCount":900`, `"promptTokenCount":10,"candidatesTokenCount":1`, 20, 9010},
		{"gemini", google, `"promptTokenCount":10,"candidatesTokenCount":1,"thoughtsTokenCount":800`, `"promptTokenCount":10,"candidatesTokenCount":100`, 1010, 9010},
		{"responses", items, `"input_tokens":10,"output_tokens":1`, `"input_tokens":10,"output_tokens":2`, 30, 0},
		{"responses", items, `"input_tokens":10,"output_tokens":900`, `"input_tokens":10,"output_tokens":1`, 20, 9010},
	} {
		e := openTelling(t, c.dialect).entry(t, true, strings.NewReplacer("%1", c.first, "%2", c.last).Replace(c.frames))
		if exact := e.Provenance == ledger.Exact; exact != (c.most == 0) || e.Cost != c.cost*1000 || e.AtMost != c.most*1000 {
			t.Errorf("%s, %s, then %s: %s, $%s, at most $%s; want %d, at most %d µ$, 0 for exact", c.dialect, c.first, c.last, e.Provenance, e.Cost, e.AtMost, c.cost, c.most)
		}
	}
}

// TestIncompleteUsageIsBounded uses answers with missing or unreadable counts: the readable ones are the minimum of its
// bound.
func TestIncompleteUsageIsBounded(t *testing.T) {
	t.Parallel()
	replies := map[string]string{
		"openai":    `{"id":"a","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],"usage":{%1}}`,
		"responses": `{"id":"a","object":"response","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hi"}]}],"usage":{%1}}`,
		"anthropic": `{"id":"a","type":"message","role":"assistant","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn","usage":{%1}}`,
		"gemini":    `{"candidates":[{"content":{"parts":[{"text":"Hi"}],"role":"model"},"finishReason":"STOP"}],"usageMetadata":{%1}}`,
		"bedrock":   `{"output":{"message":{"role":"assistant","content":[{"text":"Hi"}]}},"stopReason":"end_turn","usage":{%1}}`,
		"cohere":    `{"id":"a","message":{"role":"assistant","content":[{"type":"text","text":"Hi"}]},"finish_reason":"COMPLETE","usage":{"tokens":{%1}}}`,
		"ollama":    `{"model":"m","message":{"role":"assistant","content":"Hi"},"done":true,"done_reason":"stop",%1}`,
	}
	for dialect, usages := range map[string][]string{
		"openai": {
			`"total_tokens":900000`, `"completion_tokens":900000`, `"prompt_tokens":10,"total_tokens":900010`,
			`"prompt_tokens":"10","completion_tokens":"900000"`, `"prompt_tokens":-1,"completion_tokens":900000`,
			`"prompt_tokens":10,"completion_tokens":900000,"completion_tokens_details":{"reasoning_tokens":-1}`,
			`"prompt_tokens":10,"completion_tokens":899999.7`, `"input_tokens":10,"output_tokens":900000,"output_tokens_details":{"reasoning_tokens":"x"}`,
		},
		"responses": {`"total_tokens":900000`, `"input_tokens":"10","output_tokens":"900000"`},
		"anthropic": {
			`"output_tokens":900000`, `"input_tokens":-1,"output_tokens":900000`, `"input_tokens":10,"output_tokens":"900000"`,
			`"input_tokens":10,"output_tokens":900000,"server_tool_use":{"web_search_requests":"x"}`,
		},
		"gemini":  {`"totalTokenCount":900000`, `"promptTokenCount":10,"candidatesTokenCount":"900000"`},
		"bedrock": {`"totalTokens":900000`, `"inputTokens":10,"totalTokens":900010`, `"inputTokens":10,"outputTokens":"900000"`},
		"cohere":  {`"input_tokens":10,"output_tokens":"900000"`, `"input_tokens":-1,"output_tokens":900000`},
		"ollama":  {`"eval_count":900000`, `"prompt_eval_count":-1,"eval_count":900000`},
	} {
		g := openTelling(t, dialect)
		for _, usage := range usages {
			e := g.entry(t, false, strings.Replace(replies[dialect], "%1", usage, 1))
			if at := max(e.Cost, e.AtMost); e.Provenance != ledger.Estimated || at < 9_000_000_000 || at > 9_200_000_000 {
				t.Errorf("%s, %s: %s, $%s, at most $%s; want estimated, at most $9", dialect, usage, e.Provenance, e.Cost, e.AtMost)
			}
		}
		if e := g.entry(t, false, strings.Replace(replies[dialect], "%1", `"none":1`, 1)); e.Provenance != ledger.Estimated || e.AtMost > 9_000_000_000 {
			t.Errorf("%s, no count: %s, $%s, at most $%s", dialect, e.Provenance, e.Cost, e.AtMost)
		}
	}
}
