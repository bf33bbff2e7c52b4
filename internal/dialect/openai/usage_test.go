package openai_test

import (
	"testing"

	"weir/internal/dialect/openai"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/sse"
)

// metered holds an answer's report of its modes and its usage.
type metered struct {
	Usage llm.Usage
	Cost  string // the provider's own; empty for none
	Tier  string
}

// TestUnreportedCachedSoundIsUncertain checks that usage is uncertain if cached tokens may be of sound or of text.
func TestUnreportedCachedSoundIsUncertain(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, details string
		want          llm.Usage
		certain       bool
	}{
		{"some", `"cached_tokens":5,"audio_tokens":8`, llm.Usage{llm.CacheRead: 2, llm.CacheReadAudio: 3, llm.AudioIn: 5}, false},
		{"all is sound", `"cached_tokens":5,"audio_tokens":10`, llm.Usage{llm.CacheReadAudio: 5, llm.AudioIn: 5}, true},
		{"told", `"cached_tokens":5,"audio_tokens":8,"cached_tokens_details":{"audio_tokens":4}`, llm.Usage{llm.CacheRead: 1, llm.CacheReadAudio: 4, llm.AudioIn: 4, llm.Input: 1}, true},
	}
	for _, tt := range tests {
		got, most, ok := openai.DecodeUsage([]byte(`{"prompt_tokens":10,"prompt_tokens_details":{`+tt.details+`}}`), nil)
		if certain := most == nil; !ok || got != tt.want || certain != tt.certain || !certain && *most != tt.want {
			t.Errorf("%s: got %v, most %v; want %v, certain %t", tt.name, got, most, tt.want, tt.certain)
		}
	}
}

func costOf(m *llm.Money) string {
	switch {
	case m == nil:
		return ""
	case *m > llm.MaxCost:
		return "unbelievable"
	}
	return m.String()
}

// answers lists vendors' documented replies, and their charges. The choice goes into a whole reply as a message and
// into a stream as a delta.
var answers = []struct {
	name, message, rest string
	want                metered
}{
	{
		"OpenRouter", `"content":"Hi"`, `"service_tier":"flex","usage":{"prompt_tokens":10,"completion_tokens":8,` +
			`"cost":1.2e-05,` +
			`"is_byok":false,"completion_tokens_details":{"image_tokens":6},` +
			`"server_tool_use":{"web_search_requests":2,"web_fetch_requests":3},` +
			`"server_tool_use_details":{"web_search_requests":2,"tool_calls_requested":3,"tool_calls_executed":2}}`,
		metered{llm.Usage{llm.Input: 10, llm.Output: 2, llm.ImageOut: 6, llm.Searches: 2}, "0.000012", "flex"},
	},
	{
		"OpenRouter with the customer's key", `"content":"Hi"`,
		`"usage":{"prompt_tokens":1,"completion_tokens":1,"cost":0.000275,"is_byok":true,` +
			`"cost_details":{"upstream_inference_cost":0.0055}}`,
		metered{llm.Usage{llm.Input: 1, llm.Output: 1}, "0.005775", ""},
	},
	{
		"Perplexity", `"content":"Hi"`, `"usage":{"prompt_tokens":8,"completion_tokens":15,"total_tokens":23,` +
			`"search_context_size":"low","cost":{"request_cost":0.005,"total_cost":0.00502}}`,
		metered{llm.Usage{llm.Input: 8, llm.Output: 15}, "0.00502", "search_context:low"},
	},
	{
		"Perplexity's deep research", `"content":"Hi"`, `"usage":{"prompt_tokens":33,"completion_tokens":7163,` +
			`"total_tokens":7196,` +
			`"citation_tokens":20016,"num_search_queries":18,"reasoning_tokens":4000,"cost":{"total_cost":0.41}}`,
		metered{llm.Usage{
			llm.Input: 33, llm.Citation: 20016, llm.Output: 7163, llm.Reasoning: 4000, llm.Searches: 18,
		}, "0.41", ""},
	},
	{
		"xAI", `"content":"Hi"`, `"service_tier":"default","usage":{"prompt_tokens":9,"completion_tokens":2,` +
			`"total_tokens":14,` +
			`"completion_tokens_details":{"reasoning_tokens":3},"cost_in_usd_ticks":12345678,"num_sources_used":4,` +
			`"server_side_tool_usage_details":{"web_search_calls":2,"x_search_calls":5,"code_interpreter_calls":3,` +
			`"file_search_calls":1,` +
			`"mcp_calls":4,"document_search_calls":1,"image_generation_calls":6,"hologram_calls":1}}`,
		metered{llm.Usage{
			llm.Input: 9, llm.Output: 2, llm.Reasoning: 3, llm.Searches: 2, llm.XSearches: 5, llm.CodeSessions: 3,
			llm.FileSearches: 1, llm.ToolImages: 6, llm.OtherTools: 2,
		}, "0.001234568", "default"},
	},
	{
		"xAI by posts and users", `"content":"Hi"`, `"usage":{"prompt_tokens":9,"completion_tokens":2,` +
			`"server_side_tool_usage_details":{"x_posts_fetched":30,"x_search_calls":2,"x_users_fetched":1,"odd":0.5}}`,
		metered{llm.Usage{llm.Input: 9, llm.Output: 2, llm.XSearches: 32}, "", ""},
	},
	{
		"xAI's old search, sold by Azure", `"content":"Hi"`,
		`"usage":{"prompt_tokens":9,"completion_tokens":2,"num_sources_used":7,"cost_in_usd_ticks":0}`,
		metered{llm.Usage{llm.Input: 9, llm.Output: 2, llm.OtherTools: 7}, "", ""},
	},
	{
		"Groq", `"content":"Hi","executed_tools":[{"index":0,"type":"search"},{"index":1,"type":"browser_search",` +
			`"name":"browser.search"},` +
			`{"index":2,"type":"browser_search","name":"browser.open"},{"index":3,"type":"python"},{"index":4,` +
			`"type":"visit"}]`,
		`"service_tier":"on_demand","usage":{"prompt_tokens":9,"completion_tokens":2}`,
		metered{llm.Usage{
			llm.Input: 9, llm.Output: 2, llm.Searches: 2, llm.CodeSessions: 1, llm.OtherTools: 2,
		}, "", "on_demand"},
	},
	{
		"Moonshot", `"tool_calls":[{"index":0,"id":"a","type":"builtin_function","function":{"name":"$web_search",` +
			`"arguments":"{}"}},` +
			`{"index":1,"id":"b","type":"function","function":{"name":"web_search","arguments":"{}"}}]`,
		`"usage":{"prompt_tokens":9,"completion_tokens":2}`,
		metered{llm.Usage{llm.Input: 9, llm.Output: 2, llm.Searches: 1}, "", ""},
	},
	{
		"Mistral", `"content":"Hi"`, `"usage":{"prompt_tokens":9,"completion_tokens":2,"total_tokens":18,` +
			`"connector_tokens":7,` +
			`"connectors":{"web_search":1,"image_generation":2,"document_library":3},"service_tier":"priority"}`,
		metered{llm.Usage{
			llm.Input: 9, llm.Citation: 7, llm.Output: 2, llm.Searches: 1, llm.ToolImages: 2, llm.OtherTools: 3,
		}, "", "priority"},
	},
	{
		"cached sound", `"content":"Hi"`, `"usage":{"prompt_tokens":100,"completion_tokens":2,` +
			`"prompt_tokens_details":{"cached_tokens":60,` +
			`"audio_tokens":50,"cached_tokens_details":{"text_tokens":20,"audio_tokens":40}}}`,
		metered{llm.Usage{
			llm.Input: 30, llm.CacheRead: 20, llm.CacheReadAudio: 40, llm.AudioIn: 10, llm.Output: 2,
		}, "", ""},
	},
	{
		"Alibaba's cache", `"content":"Hi"`,
		`"usage":{"prompt_tokens":20,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":12,` +
			`"cache_creation_input_tokens":6}}`,
		metered{llm.Usage{llm.Input: 2, llm.CacheRead: 12, llm.CacheWrite: 6, llm.Output: 2}, "", ""},
	},
	{
		"a model that always searches", `"content":"Hi"`, `"model":"gpt-4o-search-preview-2025-03-11",` +
			`"usage":{"prompt_tokens":1,"completion_tokens":1}`,
		metered{llm.Usage{llm.Input: 1, llm.Output: 1, llm.Searches: 1}, "", ""},
	},
}

func TestRepliesAreMetered(t *testing.T) {
	t.Parallel()
	for _, tt := range answers {
		body := `{"choices":[{"index":0,"finish_reason":"stop",` +
			`"message":{"role":"assistant",` + tt.message + `}}],` + tt.rest + `}`
		r, err := openai.DecodeReply([]byte(body), nil)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		must.Equal(t, metered{r.Usage, costOf(r.ProviderCost), r.Tier}, tt.want, "%s", tt.name)
	}
}

// TestMeteredStream checks that a stream reports the same, also one that reports the same calls twice.
func TestMeteredStream(t *testing.T) {
	t.Parallel()
	for _, tt := range answers {
		dec := openai.NewDecoder(nil)
		var got metered
		piece := `{"id":"1","choices":[{"index":0,"delta":{` + tt.message + `}}]`
		for _, frame := range []string{piece + `}`, piece + `}`, `{"choices":[],` + tt.rest + `}`} {
			if tt.name == "a model that always searches" {
				frame = piece + `,` + tt.rest + `}`
			}
			events, err := dec.Decode(nil, sse.Event{Data: []byte(frame)})
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
			for _, ev := range events {
				if ev.Kind == llm.EventUsage {
					got = metered{ev.Usage, costOf(ev.ProviderCost), ev.Tier}
				}
			}
		}
		must.Equal(t, got, tt.want, "%s", tt.name)
	}
}

func TestProviderCost(t *testing.T) {
	t.Parallel()
	const upstream = `{"cost":1,"is_byok":true,"cost_details":{"upstream_inference_input_cost":0.1,"upstream_inference_output_cost":0.2}}`
	for _, tt := range [][2]string{
		{`{"cost":0}`, "0"},
		{`{"cost":0.0}`, "0"},
		{`{"cost":0e999999999999}`, "0"},
		{`{"cost":12.5}`, "12.5"},
		{`{"cost":1.2e-05}`, "0.000012"},
		{`{"cost":8.1E-5}`, "0.000081"},
		{`{"cost":1.5e+2}`, "150"},
		{`{"cost":0.0000000004}`, "0"},
		{`{"cost":0.0000000005}`, "0.000000001"},
		{`{"cost":4.99999e-10}`, "0"},
		{`{"cost":5e-10}`, "0.000000001"},
		{`{"cost":5e-11}`, "0"},
		{`{"cost":0.1234567894999}`, "0.123456789"},
		{`{"cost":0.9999999995}`, "1"},
		{`{"cost":1000000}`, "1000000"},
		{`{"cost":1000000.000000001}`, "unbelievable"},
		{`{"cost":1e7}`, "unbelievable"},
		{`{"cost":1e99999999999999}`, "unbelievable"},
		{`{"cost":1e-99999999999999}`, "0"},
		{`{"cost":1e}`, "unbelievable"},
		{`{"cost":-0.1}`, "unbelievable"},
		{`{"cost":"0.1"}`, "unbelievable"},
		{`{"cost":null}`, ""},
		{`{"cost":true}`, "unbelievable"},
		{`{}`, ""},

		// Perplexity and xAI
		{`{"cost":{"total_cost":0.41,"currency":"USD"}}`, "0.41"},
		{`{"cost":{"total_cost":0.41,"currency":"EUR"}}`, ""},
		{`{"cost":{"input_cost":1}}`, ""},
		{`{"cost_in_usd_ticks":3206000}`, "0.0003206"},
		{`{"cost_in_usd_ticks":4}`, "0"},
		{`{"cost_in_usd_ticks":5}`, "0.000000001"},
		{`{"cost_in_usd_ticks":0}`, ""},
		{`{"cost_in_usd_ticks":-10}`, "unbelievable"},
		{`{"cost_in_usd_ticks":10000000000000001}`, "unbelievable"},
		{`{"cost_in_usd_ticks":"3206000"}`, "unbelievable"},
		{`{"cost_in_usd_ticks":1e30}`, "unbelievable"},
		{`{"cost_in_usd_ticks":[]}`, "unbelievable"},
		{`{"cost_in_usd_ticks":null}`, ""},
		{`{"cost":0,"is_byok":true}`, ""},
		{`{"cost":0,"is_byok":true,"cost_details":{"upstream_inference_cost":0.0055}}`, "0.0055"},
		{`{"cost":1,"is_byok":true,"cost_details":{"upstream_inference_input_cost":0.1}}`, "unbelievable"},
		{upstream, "1.3"},
	} {
		usage, want := tt[0], tt[1]
		if got := costOf(openai.ProviderCost([]byte(usage))); got != want {
			t.Errorf("%s costs %q, want %q", usage, got, want)
		}
	}
}

// TestUsageAddsUp checks that classes without a member of their own stay in the totals.
func TestUsageAddsUp(t *testing.T) {
	t.Parallel()
	want := llm.Usage{
		llm.Input: 1, llm.CacheRead: 2, llm.CacheWrite: 4, llm.CacheReadAudio: 8, llm.AudioIn: 16, llm.ImageIn: 32,
		llm.Output: 64, llm.Reasoning: 128, llm.AudioOut: 256, llm.ImageOut: 512,
	}
	r := llm.Reply{ExtraOf: openai.Name, Reported: true, Usage: want, Choices: make([]llm.Choice, 1)}
	got, err := openai.DecodeReply(openai.EncodeReply(nil, &r), nil)
	if err != nil || got.Usage != want {
		t.Errorf("read %v, want %v: %v", got.Usage, want, err)
	}
	r.Usage[llm.Citation] = 1024
	got, err = openai.DecodeReply(openai.EncodeReply(nil, &r), nil)
	in, all := r.Usage.InputTokens(), r.Usage.TotalTokens()
	if err != nil || got.Usage.InputTokens() != in || got.Usage.TotalTokens() != all {
		t.Errorf("read %v, want the totals of %v: %v", got.Usage, r.Usage, err)
	}
}

// TestFetchesAreCounted counts the fetched pages if the provider charges for them.
func TestFetchesAreCounted(t *testing.T) {
	t.Parallel()
	const usage = `{"prompt_tokens":5,"completion_tokens":2,"server_tool_use":{"web_search_requests":3,"web_fetch_requests":2,"tool_search_requests":1}}`
	for _, q := range []*llm.Quirks{nil, {}, {BillsFetches: true}} {
		want := llm.Usage{llm.Input: 5, llm.Output: 2, llm.Searches: 3}
		if q != nil && q.BillsFetches {
			want[llm.OtherTools] = 2
		}
		if got, _, ok := openai.DecodeUsage([]byte(usage), q); !ok || got != want {
			t.Errorf("%+v: got %v, %t, want %v", q, got, ok, want)
		}
	}
}
