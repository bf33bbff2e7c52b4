//go:build unix

package dialect_test

import (
	"runtime"
	"testing"

	"weir/internal/llm"
	"weir/internal/sse"
)

// TestSourcesTakeLittleMemory checks that lists of empty or tiny sources in an answer need at most a fixed multiple of
// their bytes in memory.
func TestSourcesTakeLittleMemory(t *testing.T) {
	const most = 32
	in := func(d, what, before, one, after string) repeated { return repeated{d, what, before, one, after} }
	reply := func(d *repeated, body []byte) error {
		_, err := named(t, d.dialect).DecodeReply(body, &llm.Quirks{})
		return err
	}
	frame := func(d *repeated, body []byte) error {
		_, err := named(t, d.dialect).NewDecoder(&llm.Quirks{}).Decode(nil, sse.Event{Data: body})
		return err
	}
	const search = `{"status":"completed","output":[{"type":"web_search_call","action":{`
	for _, c := range []struct {
		repeated
		read func(d *repeated, body []byte) error
	}{
		{in("responses", "sources", search+`"sources":[`, `0`, `]}}]}`), reply},
		{in("responses", "pages", search+`"sources":[`, `{"url":"a"}`, `]}}]}`), reply},
		{in("responses", "queries", search+`"queries":[`, `0`, `]}}]}`), reply},
		{in("responses", "a stream's sources", `{"type":"response.output_item.done","output_index":0,"item":{"type":"web_search_call","action":{"sources":[`, `0`, `]}}}`), frame},
		{in("anthropic", "citations", `{"role":"assistant","content":[{"type":"text","text":"a","citations":[`, `0`, `]}]}`), reply},
		{in("anthropic", "pages", `{"role":"assistant","content":[{"type":"text","text":"a","citations":[`, `{"url":"a"}`, `]}]}`), reply},
		{in("anthropic", "a stream's results", `{"type":"content_block_start","index":0,"content_block":{"type":"web_search_tool_result","content":[`, `0`, `]}}`), frame},
		{in("bedrock", "citations", `{"output":{"message":{"role":"assistant","content":[{"citationsContent":{"content":[{"text":"a"}],"citations":[`, `0`, `]}}]}}}`), reply},
		{in("cohere", "citations", `{"message":{"role":"assistant","content":[{"type":"text","text":"a"}],"citations":[`, `{"sources":[{"id":"a"}]}`, `]}}`), reply},
		{in("cohere", "a stream's sources", `{"type":"citation-start","index":0,"delta":{"message":{"citations":{"start":0,"end":1,"sources":[`, `{"id":"a"}`, `]}}}}`), frame},
		{in("openai", "a stream's annotations", `{"choices":[{"delta":{"content":"a","annotations":[`, `{"type":"url_citation","url":"a"}`, `]}}]}`), frame},
		{in("gemini", "likely tokens", `{"candidates":[{"content":{"parts":[{"text":"a"}]},"logprobsResult":{"topCandidates":[`, `0`, `]}}]}`), reply},
	} {
		t.Run(c.dialect+"/"+c.what, func(t *testing.T) {
			body := c.body(1 << 20)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if err := c.read(&c.repeated, body); err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			if got := (after.TotalAlloc - before.TotalAlloc) / uint64(len(body)); got > most {
				t.Errorf("%d times the memory of the body, want %d at most", got, most)
			}
		})
	}
}
