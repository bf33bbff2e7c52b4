package openai_test

import (
	"testing"

	"weir/internal/dialect/openai"
	"weir/internal/llm"
	"weir/internal/must"
)

// contradictions lists usage objects with contradictory counts, and some that only look so.
var contradictions = []struct {
	name, usage string
	want, most  llm.Usage // most is empty if the counts agree
}{
	{
		"sound and reasoning", `"prompt_tokens":1000,"completion_tokens":100,` +
			`"completion_tokens_details":{"audio_tokens":60,"reasoning_tokens":60}`,
		llm.Usage{llm.Input: 1000, llm.Reasoning: 60, llm.AudioOut: 40},
		llm.Usage{llm.Input: 1000, llm.Output: 100, llm.Reasoning: 60, llm.AudioOut: 60},
	},
	{
		"more sound and reasoning", `"prompt_tokens":1000,"completion_tokens":100,` +
			`"completion_tokens_details":{"audio_tokens":90,"reasoning_tokens":90}`,
		llm.Usage{llm.Input: 1000, llm.Reasoning: 90, llm.AudioOut: 10},
		llm.Usage{llm.Input: 1000, llm.Output: 100, llm.Reasoning: 90, llm.AudioOut: 90},
	},
	{
		"sound and images that came out", `"prompt_tokens":1000,"completion_tokens":100,` +
			`"completion_tokens_details":{"audio_tokens":60,"image_tokens":60}`,
		llm.Usage{llm.Input: 1000, llm.AudioOut: 60, llm.ImageOut: 40},
		llm.Usage{llm.Input: 1000, llm.Output: 100, llm.AudioOut: 60, llm.ImageOut: 60},
	},
	{
		"all that came out", `"completion_tokens":100,` +
			`"completion_tokens_details":{"audio_tokens":60,"reasoning_tokens":40}`,
		llm.Usage{llm.Reasoning: 40, llm.AudioOut: 60},
		llm.Usage{},
	},
	{
		"reasoning beside sound", `"prompt_tokens":1000,"completion_tokens":100,"total_tokens":1160,` +
			`"completion_tokens_details":{"audio_tokens":100,"reasoning_tokens":60}`,
		llm.Usage{llm.Input: 1000, llm.Reasoning: 60, llm.AudioOut: 100},
		llm.Usage{},
	},
	{
		"sound and images that went in", `"prompt_tokens":1000,` +
			`"prompt_tokens_details":{"audio_tokens":700,"image_tokens":700}`,
		llm.Usage{llm.AudioIn: 700, llm.ImageIn: 300},
		llm.Usage{llm.Input: 1000, llm.AudioIn: 700, llm.ImageIn: 700},
	},
	{
		"what is cached is of any kind", `"prompt_tokens":1000,` +
			`"prompt_tokens_details":{"cached_tokens":1000,"audio_tokens":400,"image_tokens":600}`,
		llm.Usage{llm.CacheRead: 600, llm.CacheReadAudio: 400},
		llm.Usage{},
	},
	{
		"what is cached, of which it is not told", `"prompt_tokens":1000,"completion_tokens":100,` +
			`"prompt_tokens_details":{"cached_tokens":500,"audio_tokens":400},` +
			`"completion_tokens_details":{"audio_tokens":60,"reasoning_tokens":50}`,
		llm.Usage{llm.Input: 100, llm.CacheRead: 500, llm.AudioIn: 400, llm.Reasoning: 50, llm.AudioOut: 50},
		llm.Usage{
			llm.Input: 1000, llm.CacheRead: 500, llm.AudioIn: 400, llm.Output: 100, llm.Reasoning: 50,
			llm.AudioOut: 60,
		},
	},
	{
		"cached text and sound", `"prompt_tokens":1000,"prompt_tokens_details":{"cached_tokens":500,` +
			`"cached_tokens_details":{"audio_tokens":0},"audio_tokens":700}`,
		llm.Usage{llm.CacheRead: 500, llm.AudioIn: 500},
		llm.Usage{llm.Input: 1000, llm.CacheRead: 500, llm.AudioIn: 700},
	},
	{
		"more cached sound than is cached", `"prompt_tokens":1000,"prompt_tokens_details":{"cached_tokens":50,` +
			`"cached_tokens_details":{"audio_tokens":60},"audio_tokens":70}`,
		llm.Usage{llm.Input: 930, llm.CacheReadAudio: 50, llm.AudioIn: 20},
		llm.Usage{llm.Input: 1000, llm.CacheRead: 50, llm.CacheReadAudio: 60, llm.AudioIn: 70},
	},
	{
		"more cached sound than sound", `"prompt_tokens":1000,"prompt_tokens_details":{"cached_tokens":80,` +
			`"cached_tokens_details":{"audio_tokens":60},"audio_tokens":50}`,
		llm.Usage{llm.Input: 920, llm.CacheRead: 20, llm.CacheReadAudio: 60},
		llm.Usage{llm.Input: 1000, llm.CacheRead: 80, llm.CacheReadAudio: 60, llm.AudioIn: 50},
	},
	{
		"what is kept for long", `"prompt_tokens":1000,"prompt_tokens_details":{"cached_tokens":500,` +
			`"cache_write_tokens":300,"cache_write_12h_tokens":300}`,
		llm.Usage{llm.CacheRead: 500, llm.CacheWrite1h: 300, llm.CacheWrite: 200},
		llm.Usage{llm.Input: 1000, llm.CacheRead: 500, llm.CacheWrite1h: 300, llm.CacheWrite: 300},
	},
	{
		"cache hits and misses", `"prompt_tokens":1000,"prompt_cache_hit_tokens":900,"prompt_cache_miss_tokens":100,` +
			`"prompt_tokens_details":{"cached_tokens":900}`,
		llm.Usage{llm.Input: 100, llm.CacheRead: 900},
		llm.Usage{},
	},
	{
		"more misses than prompt", `"prompt_tokens":1000,"prompt_cache_hit_tokens":100,"prompt_cache_miss_tokens":5000`,
		llm.Usage{llm.Input: 900, llm.CacheRead: 100},
		llm.Usage{llm.Input: 5000, llm.CacheRead: 100},
	},
	{
		"more hits than prompt", `"prompt_tokens":1000,"prompt_cache_hit_tokens":5000,"prompt_cache_miss_tokens":0`,
		llm.Usage{llm.CacheRead: 1000},
		llm.Usage{llm.Input: 1000, llm.CacheRead: 5000},
	},
	{
		"hits and misses that leave some out", `"prompt_tokens":1000,"prompt_cache_hit_tokens":900,"prompt_cache_miss_tokens":10`,
		llm.Usage{llm.Input: 100, llm.CacheRead: 900},
		llm.Usage{llm.Input: 1000, llm.CacheRead: 900},
	},
	{
		"misses alone", `"prompt_tokens":1000,"prompt_cache_miss_tokens":10,"prompt_tokens_details":{"cached_tokens":900}`,
		llm.Usage{llm.Input: 100, llm.CacheRead: 900},
		llm.Usage{llm.Input: 1000, llm.CacheRead: 900},
	},
	{
		"hits that are not what is cached", `"prompt_tokens":1000,"prompt_cache_hit_tokens":10,"prompt_cache_miss_tokens":990,` +
			`"prompt_tokens_details":{"cached_tokens":900}`,
		llm.Usage{llm.Input: 100, llm.CacheRead: 900},
		llm.Usage{llm.Input: 1000, llm.CacheRead: 900},
	},
	{
		"predictions within", `"prompt_tokens":10,"completion_tokens":100,"completion_tokens_details":` +
			`{"accepted_prediction_tokens":60,"rejected_prediction_tokens":40}`,
		llm.Usage{llm.Input: 10, llm.Output: 100},
		llm.Usage{},
	},
	{
		"predictions beyond", `"prompt_tokens":10,"completion_tokens":100,"completion_tokens_details":` +
			`{"accepted_prediction_tokens":60,"rejected_prediction_tokens":800}`,
		llm.Usage{llm.Input: 10, llm.Output: 100},
		llm.Usage{llm.Input: 10, llm.Output: 960},
	},
	{
		"all that went in", `"prompt_tokens":1000,"prompt_tokens_details":{"text_tokens":300,"audio_tokens":700}`,
		llm.Usage{llm.Input: 300, llm.AudioIn: 700},
		llm.Usage{},
	},
	{
		"text and sound that went in", `"prompt_tokens":1000,"prompt_tokens_details":{"text_tokens":800,"audio_tokens":700}`,
		llm.Usage{llm.Input: 300, llm.AudioIn: 700},
		llm.Usage{llm.Input: 1000, llm.AudioIn: 700},
	},
	{
		"more text than went in", `"prompt_tokens":1000,"prompt_tokens_details":{"text_tokens":5000}`,
		llm.Usage{llm.Input: 1000},
		llm.Usage{llm.Input: 5000},
	},
	{
		"text and reasoning", `"completion_tokens":100,"completion_tokens_details":{"text_tokens":80,"reasoning_tokens":80}`,
		llm.Usage{llm.Output: 20, llm.Reasoning: 80},
		llm.Usage{llm.Output: 100, llm.Reasoning: 80},
	},
	{
		"more text than came out", `"completion_tokens":100,"completion_tokens_details":{"text_tokens":900}`,
		llm.Usage{llm.Output: 100},
		llm.Usage{llm.Output: 900},
	},
}

// TestContradictoryCountsAreBounded checks that usage is certain only if its counts agree, and otherwise has a bound
// with each count in full.
func TestContradictoryCountsAreBounded(t *testing.T) {
	t.Parallel()
	for _, tt := range contradictions {
		got, most, ok := openai.DecodeUsage([]byte(`{`+tt.usage+`}`), nil)
		must.Equal(t, got, tt.want, "%s", tt.name)
		if most == nil {
			most = new(llm.Usage)
		}
		must.Equal(t, *most, tt.most, "%s at most", tt.name)
		must.Equal(t, ok, true, "%s", tt.name)
	}
}

// liteLLM lists usage objects in LiteLLM's form.
var liteLLM = []struct {
	name, usage string
	want        llm.Usage
	certain     bool
}{
	{
		"all names", `"cache_creation_input_tokens":300,"cache_read_input_tokens":600,"prompt_tokens_details":` +
			`{"cached_tokens":600,"cache_write_tokens":300,"cache_creation_tokens":300,` +
			`"cache_creation_token_details":{"ephemeral_5m_input_tokens":100,"ephemeral_1h_input_tokens":200}}`,
		llm.Usage{llm.Input: 100, llm.CacheRead: 600, llm.CacheWrite: 100, llm.CacheWrite1h: 200},
		true,
	},
	{
		"beside the prompt", `"cache_creation_input_tokens":300,"cache_read_input_tokens":600`,
		llm.Usage{llm.Input: 100, llm.CacheRead: 600, llm.CacheWrite: 300},
		true,
	},
	{
		"among the details", `"prompt_tokens_details":{"cache_creation_tokens":300}`,
		llm.Usage{llm.Input: 700, llm.CacheWrite: 300},
		true,
	},
	{
		"by the hour alone", `"prompt_tokens_details":{"cache_creation_token_details":` +
			`{"ephemeral_5m_input_tokens":100,"ephemeral_1h_input_tokens":200}}`,
		llm.Usage{llm.Input: 700, llm.CacheWrite: 100, llm.CacheWrite1h: 200},
		true,
	},
	{
		"OpenRouter's name first", `"prompt_tokens_details":{"cache_write_tokens":300,"cache_creation_tokens":200},` +
			`"cache_creation_input_tokens":100`,
		llm.Usage{llm.Input: 700, llm.CacheWrite: 300},
		true,
	},
	{
		"OpenAI's name first", `"cache_read_input_tokens":600,"cached_tokens":500,` +
			`"prompt_tokens_details":{"cached_tokens":400}`,
		llm.Usage{llm.Input: 600, llm.CacheRead: 400},
		true,
	},
	{
		"a top-level name first", `"cached_tokens":500,"cache_read_input_tokens":600`,
		llm.Usage{llm.Input: 500, llm.CacheRead: 500},
		true,
	},
	{
		"null", `"cache_creation_input_tokens":null,"cache_read_input_tokens":null,` +
			`"prompt_tokens_details":{"cache_creation_tokens":null,"cache_creation_token_details":null}`,
		llm.Usage{llm.Input: 1000},
		true,
	},
	{
		"more for an hour than at all", `"prompt_tokens_details":{"cache_creation_tokens":100,` +
			`"cache_creation_token_details":{"ephemeral_1h_input_tokens":200}}`,
		llm.Usage{llm.Input: 900, llm.CacheWrite1h: 100},
		false,
	},
	{
		"less by the name that goes first", `"prompt_tokens_details":{"cache_write_tokens":0,` +
			`"cache_creation_tokens":300}`,
		llm.Usage{llm.Input: 1000},
		false,
	},
	{
		"more than the prompt", `"cache_creation_input_tokens":700,"cache_read_input_tokens":600`,
		llm.Usage{llm.CacheRead: 600, llm.CacheWrite: 400},
		false,
	},
}

// TestLiteLLM checks that LiteLLM's report of a cache counts, under any of its names.
func TestLiteLLM(t *testing.T) {
	t.Parallel()
	for _, tt := range liteLLM {
		got, most, ok := openai.DecodeUsage([]byte(`{"prompt_tokens":1000,`+tt.usage+`}`), nil)
		must.Equal(t, got, tt.want, "%s", tt.name)
		if certain := most == nil; !ok || certain != tt.certain {
			t.Errorf("%s: %t, most %v; want certain %t", tt.name, ok, most, tt.certain)
		}
	}
}
