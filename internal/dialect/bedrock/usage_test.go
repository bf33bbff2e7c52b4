package bedrock_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/internal/dialect/bedrock"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/sse"
)

func TestUsageIsDecoded(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, usage string
		want        llm.Usage
	}{
		{
			"cache writes whose lengths alone are told",
			`{"inputTokens":9,"outputTokens":1,"cacheDetails":[{"ttl":"5m","inputTokens":7}]}`,
			llm.Usage{llm.Input: 9, llm.CacheWrite: 7, llm.Output: 1},
		},
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

// TestLatencyIsMode checks that the latency of an answer is a mode, in addition to its service tier.
func TestLatencyIsMode(t *testing.T) {
	t.Parallel()
	for members, want := range map[string]string{
		`"performanceConfig":{"latency":"optimized"}`:                                   "latency:optimized",
		`"serviceTier":{"type":"priority"},"performanceConfig":{"latency":"optimized"}`: "priority,latency:optimized",
		`"performanceConfig":{"latency":"standard"},"serviceTier":{"type":"flex"}`:      "flex,latency:standard",
		`"performanceConfig":{},"serviceTier":{"type":"flex"}`:                          "flex",
		`"performanceConfig":null`:                                                      "",
	} {
		rest := `"usage":{"inputTokens":9,"outputTokens":1},` + members + `}`
		r := must.Get(bedrock.DecodeReply([]byte(`{"output":{"message":{"content":[{"text":"x"}]}},"stopReason":"end_turn",`+rest), nil))(t)
		frame := sse.Event{Name: []byte("metadata"), Data: []byte(`{` + rest)}
		events := must.Get(bedrock.NewDecoder(nil).Decode(nil, frame))(t)
		must.Equal(t, [2]string{r.Tier, events[0].Tier}, [2]string{want, want}, "%s", members)
	}
}

// TestGuardrailInStream checks that a stream reports a guardrail before its usage.
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

// TestContradictoryCountsAreBounded checks that contradictory counts are bounded: if a total has more than its parts,
// any part may lack the rest.
func TestContradictoryCountsAreBounded(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		usage      string
		want, most llm.Usage // most is empty if the counts agree
	}{
		{
			`{"inputTokens":10,"outputTokens":10,"totalTokens":210}`,
			llm.Usage{llm.Input: 10, llm.Output: 10},
			llm.Usage{llm.Input: 10, llm.Output: 200},
		},
		{`{"inputTokens":10,"outputTokens":10,"totalTokens":20}`, llm.Usage{llm.Input: 10, llm.Output: 10}, llm.Usage{}},
		{`{"inputTokens":10,"outputTokens":10,"totalTokens":19}`, llm.Usage{llm.Input: 10, llm.Output: 10}, llm.Usage{}},
		{
			`{"inputTokens":30,"outputTokens":30,"totalTokens":88,"cacheWriteInputTokens":8}`, // its input is not reported
			llm.Usage{llm.Input: 30, llm.CacheWrite: 8, llm.Output: 30},
			llm.Usage{llm.Input: 30, llm.CacheWrite: 8, llm.Output: 50},
		},
		{
			`{"inputTokens":30,"outputTokens":30,"totalTokens":98,"cacheReadInputTokens":20}`, // more than the cache
			llm.Usage{llm.Input: 30, llm.CacheRead: 20, llm.Output: 30},
			llm.Usage{llm.Input: 30, llm.CacheRead: 20, llm.Output: 48},
		},
		{
			`{"inputTokens":null,"outputTokens":30,"totalTokens":88,"cacheReadInputTokens":20,"cacheWriteInputTokens":8}`,
			llm.Usage{llm.Input: 30, llm.CacheRead: 20, llm.CacheWrite: 8, llm.Output: 30},
			llm.Usage{llm.CacheRead: 20, llm.CacheWrite: 8, llm.Output: 60},
		},
		{
			`{"inputTokens":30,"totalTokens":88,"cacheReadInputTokens":20}`,
			llm.Usage{llm.Input: 30, llm.CacheRead: 20, llm.Output: 38},
			llm.Usage{llm.Input: 30, llm.CacheRead: 20, llm.Output: 38},
		},
		{
			`{"inputTokens":9,"outputTokens":1,"cacheWriteInputTokens":5,"cacheDetails":[{"ttl":"1h","inputTokens":4},` +
				`{"ttl":"5m","inputTokens":4}]}`,
			llm.Usage{llm.Input: 9, llm.CacheWrite: 1, llm.CacheWrite1h: 4, llm.Output: 1},
			llm.Usage{llm.Input: 9, llm.CacheWrite: 4, llm.CacheWrite1h: 4, llm.Output: 1},
		},
	} {
		body := `{"output":{"message":{"content":[{"text":"x"}]}},"stopReason":"end_turn","usage":` + tt.usage + `}`
		r := must.Get(bedrock.DecodeReply([]byte(body), nil))(t)
		frame := sse.Event{Name: []byte("metadata"), Data: []byte(`{"usage":` + tt.usage + `}`)}
		events := must.Get(bedrock.NewDecoder(nil).Decode(nil, frame))(t)
		for _, got := range []struct {
			usage llm.Usage
			most  *llm.Usage
		}{{r.Usage, r.Most}, {events[0].Usage, events[0].Most}} {
			most := llm.Usage{}
			if got.most != nil {
				most = *got.most
			}
			if got.usage != tt.want || most != tt.most {
				t.Errorf("%s: got %v, at most %v; want %v, at most %v", tt.usage, got.usage, most, tt.want, tt.most)
			}
		}
	}
}

// TestUsageWithoutInputIsNone checks that a usage without the input, which nothing else reports, counts as none.
func TestUsageWithoutInputIsNone(t *testing.T) {
	t.Parallel()
	r := must.Get(bedrock.DecodeReply([]byte(`{"output":{"message":{"content":[]}},`+
		`"usage":{"outputTokens":30,"cacheReadInputTokens":20}}`), nil))(t)
	if r.Reported {
		t.Errorf("got %v, want nothing", r.Usage)
	}
}
