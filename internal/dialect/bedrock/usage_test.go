package bedrock_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/internal/dialect/bedrock"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/sse"
)

func TestUsage(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, usage string
		want        llm.Usage
	}{
		{
			"a guardrail, whose checks have a price that is not known",
			`{"inputTokens":9,"outputTokens":1},"trace":{"guardrail":{"inputAssessment":{}}}`,
			llm.Usage{llm.Input: 9, llm.Output: 1, llm.OtherTools: 1},
		},
		{
			"a guardrail that intervened",
			`{"inputTokens":9,"outputTokens":1},"stopReason":"guardrail_intervened"`,
			llm.Usage{llm.Input: 9, llm.Output: 1, llm.OtherTools: 1},
		},
		{
			"a trace of no guardrail",
			`{"inputTokens":9,"outputTokens":1},"trace":{"promptRouter":{}}`,
			llm.Usage{llm.Input: 9, llm.Output: 1},
		},
		{
			"cache writes for an hour", `{"inputTokens":44,"outputTokens":260,"totalTokens":10328,` +
				`"cacheReadInputTokens":1024,` +
				`"cacheWriteInputTokens":9000,"cacheDetails":[{"ttl":"1h","inputTokens":8000},{"ttl":"5m",` +
				`"inputTokens":1000}]}`,
			llm.Usage{
				llm.Input: 44, llm.CacheRead: 1024, llm.CacheWrite: 1000, llm.CacheWrite1h: 8000, llm.Output: 260,
			},
		},
		{
			"OpenAI's models, whose input has the cache in it",
			`{"inputTokens":151411,"outputTokens":639,"totalTokens":152050,"cacheReadInputTokens":132976,` +
				`"cacheWriteInputTokens":18433}`,
			llm.Usage{llm.Input: 2, llm.CacheRead: 132976, llm.CacheWrite: 18433, llm.Output: 639},
		},
		{
			"a cache larger than the input", `{"inputTokens":4,"outputTokens":1,"totalTokens":5,` +
				`"cacheReadInputTokens":7}`,
			llm.Usage{llm.Input: 4, llm.CacheRead: 7, llm.Output: 1},
		},
		{
			"no total", `{"inputTokens":9,"outputTokens":1,"cacheReadInputTokens":7}`,
			llm.Usage{llm.Input: 9, llm.CacheRead: 7, llm.Output: 1},
		},
	} {
		rest := `"usage":` + tt.usage + `,"serviceTier":{"type":"reserved"}}`
		r, err := bedrock.DecodeReply([]byte(`{"output":{"message":{"content":[{"text":"x"}]}},`+
			`"stopReason":"end_turn",`+rest), nil)
		must.Do(t, err)
		if diff := cmp.Diff(r.Usage, tt.want); diff != "" || r.Tier != "reserved" {
			t.Errorf("%s: tier %q (-got +want)\n%s", tt.name, r.Tier, diff)
		}
		frame := sse.Event{Name: []byte("metadata"), Data: []byte(`{` + rest)}
		events, err := bedrock.NewDecoder(nil).Decode(nil, frame)
		if err != nil || len(events) == 0 {
			t.Fatalf("%s: %v, %v", tt.name, events, err)
		}
		if diff := cmp.Diff(events[0].Usage, tt.want); diff != "" || events[0].Tier != "reserved" {
			t.Errorf("%s, streamed: tier %q (-got +want)\n%s", tt.name, events[0].Tier, diff)
		}
	}
}

// A stream tells that a guardrail intervened before it tells its usage.
func TestGuardrailInStream(t *testing.T) {
	t.Parallel()
	dec := bedrock.NewDecoder(nil)
	var got llm.Usage
	for _, frame := range []sse.Event{
		{Name: []byte("messageStop"), Data: []byte(`{"stopReason":"guardrail_intervened"}`)},
		{Name: []byte("metadata"), Data: []byte(`{"usage":{"inputTokens":9,"outputTokens":1}}`)},
	} {
		events := must.Get(dec.Decode(nil, frame))(t)
		for _, ev := range events {
			if ev.Kind == llm.EventUsage {
				got = ev.Usage
			}
		}
	}
	if want := (llm.Usage{llm.Input: 9, llm.Output: 1, llm.OtherTools: 1}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}
