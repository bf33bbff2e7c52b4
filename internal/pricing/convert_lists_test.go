package pricing_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/pricing"
)

// The lists are made up, in the forms of the published ones: LiteLLM's of 2026-08-21, OpenRouter's of 2026-08-01,
// models.dev's of opencode 1.18.34 and genai-prices' of 2026-08-21.
const (
	litellmList = `{
"sample_spec": {"litellm_provider": "openai", "input_cost_per_token": 0},
"tall": {"litellm_provider": "openai", "input_cost_per_token": 2.5e-06, "input_cost_per_token_above_272k_tokens": 5e-06,
  "output_cost_per_token": 1.5e-05, "output_cost_per_token_above_272k_tokens": 2.25e-05,
  "input_cost_per_token_flex": 1.25e-06, "output_cost_per_token_flex": 7.5e-06,
  "input_cost_per_token_priority": 5e-06, "input_cost_per_token_above_272k_tokens_priority": 1e-05,
  "output_cost_per_token_priority": 3e-05, "output_cost_per_token_above_272k_tokens_priority": 4.5e-05,
  "regional_processing_uplift_multiplier_eu": 1.1, "input_cost_per_character": 1e-06,
  "search_context_cost_per_query": {"search_context_size_low": 0.01, "search_context_size_medium": 0.01, "search_context_size_high": 0.01}},
"sizes": {"litellm_provider": "openai", "input_cost_per_token": 1e-06, "output_cost_per_token": 1e-06,
  "search_context_cost_per_query": {"search_context_size_low": 0.03, "search_context_size_medium": 0.035, "search_context_size_high": 0.05}},
"opus": {"litellm_provider": "anthropic", "input_cost_per_token": 4e-06, "output_cost_per_token": 2e-05,
  "provider_specific_entry": {"us": 1.1, "fast": 2.0, "dusk": 3}},
"perplexity/sonar": {"litellm_provider": "perplexity", "input_cost_per_token": 1e-06, "output_cost_per_token": 1e-06,
  "search_context_cost_per_query": {"search_context_size_low": 0.005, "search_context_size_medium": 0.008, "search_context_size_high": 0.012}},
"dashscope/tiers": {"litellm_provider": "dashscope", "tiered_pricing": [
  {"range": [0, 256000], "input_cost_per_token": 5e-08, "output_cost_per_token": 4e-07},
  {"range": [256000, 1000000], "input_cost_per_token": 2.5e-07, "output_cost_per_token": 2e-06}]},
"ears": {"litellm_provider": "openai", "mode": "audio_transcription", "input_cost_per_second": 0.0001, "output_cost_per_second": 0.0001},
"xai/brush": {"litellm_provider": "xai", "mode": "image_generation", "output_cost_per_image": 0.02},
"gemini-x": {"litellm_provider": "gemini", "input_cost_per_token": 1e-06, "output_cost_per_token": 1e-06},
"gemini/gemini-x": {"litellm_provider": "gemini", "input_cost_per_token": 3e-06, "output_cost_per_token": 1e-06},
"same": {"litellm_provider": "gemini", "input_cost_per_token": 1e-06, "output_cost_per_token": 1e-06},
"gemini/same": {"litellm_provider": "gemini", "source": "https://example.com", "input_cost_per_token": 1e-06, "output_cost_per_token": 1e-06},
"groq/idle": {"litellm_provider": "groq", "input_cost_per_token": 0, "output_cost_per_token": 0, "code_interpreter_cost_per_session": 0.03}
}`
	openrouterList = `{"data": [
{"id": "qwen/flash", "pricing": {"prompt": "0.00000003", "completion": "0.00000013", "input_cache_write_1h": "0.0000001",
  "input_audio_cache": "0.0000002", "image": "0.001", "overrides": [
  {"min_prompt_tokens": 256000, "prompt": "0.0000002", "completion": "0.0000008"},
  {"min_prompt_tokens": 32000, "prompt": "0.0000001", "completion": "0.0000004"}]}},
{"id": "night/owl", "pricing": {"prompt": "0.000001", "completion": "0.000001", "overrides": [{"utc_start": 1200, "prompt": "0.000002"}]}},
{"id": "free/bird:free", "pricing": {"prompt": "0", "completion": "0"}},
{"id": "auto", "pricing": {"prompt": "-1", "completion": "-1"}}]}`
	modelsdevList = `{
"openai": {"id": "openai", "models": {
 "tall": {"id": "tall", "cost": {"input": 2.5, "output": 15, "cache_read": 0.25, "cache_write": 0,
   "tiers": [{"input": 5, "output": 22.5, "cache_read": 0.5, "tier": {"type": "context", "size": 272000}}],
   "context_over_200k": {"input": 5, "output": 22.5, "cache_read": 0.5}},
   "experimental": {"modes": {"fast": {"cost": {"input": 5, "output": 30}, "provider": {"body": {"service_tier": "priority"}}},
     "deep": {"cost": {"input": 9}, "provider": {"body": {"depth": "3"}}}}}},
 "clock": {"id": "clock", "cost": {"input": 1, "output": 1, "tiers": [{"input": 2, "tier": {"type": "hour", "size": 8}}]}},
 "mute": {"id": "mute"}}},
"anthropic": {"id": "anthropic", "models": {
 "old": {"id": "old", "cost": {"input": 3, "output": 15, "context_over_200k": {"input": 6, "output": 22.5}}},
 "opus": {"id": "opus", "cost": {"input": 4, "output": 20, "tolls": 3},
   "experimental": {"modes": {"fast": {"cost": {"input": 8, "output": 40}, "provider": {"body": {"speed": "fast"}}}}}}}},
"elsewhere": {"id": "elsewhere", "models": {"a": {"cost": {"input": 1, "output": 1}}, "b": {}}}}`
	genaiList = `[
{"id": "openai", "name": "OpenAI", "pricing_urls": ["https://openai.com/pricing"], "models": [
 {"id": "tall", "match": {"or": [{"equals": "Tall"}, {"starts_with": "tall-2"}]}, "prices": {"input_mtok": {"base": 2.5, "tiers": [{"start": 272000, "price": 5}]}, "output_mtok": 15, "input_video_mtok": 3, "thoughts_kcount": 1}},
 {"id": "heading", "match": {"equals": "other-name"}, "prices": {"input_mtok": 1, "output_mtok": 2}},
 {"id": "ahead", "match": {"regex": "^(?!x)ahead$"}, "prices": {"input_mtok": 1}},
 {"id": "none", "match": {"equals": "none"}, "prices": {}}]},
{"id": "deepseek", "models": [
 {"id": "shift", "match": {"equals": "shift"}, "prices": [
  {"prices": {"input_mtok": 1, "output_mtok": 2}},
  {"constraint": {"start_date": "2026-09-01"}, "prices": {"input_mtok": 3, "output_mtok": 4}},
  {"constraint": {"start_time": "08:30:00+08:00", "end_time": "16:30:00Z"}, "prices": {"input_mtok": 0.5, "output_mtok": 1}}]},
 {"id": "weekly", "match": {"equals": "weekly"}, "prices": [
  {"prices": {"input_mtok": 1, "output_mtok": 2}},
  {"constraint": {"weekday": 3}, "prices": {"input_mtok": 9, "output_mtok": 9}}]}]},
{"id": "nobody", "models": [{"id": "a", "match": {"equals": "a"}, "prices": {"input_mtok": 1}}]}]`
)

// TestConvertedPrices checks the cost of a model of each list, by its length, its mode and the time.
func TestConvertedPrices(t *testing.T) {
	t.Parallel()
	books := map[string]*pricing.Book{}
	for name, text := range map[string]string{"litellm": litellmList, "openrouter": openrouterList, "models.dev": modelsdevList, "genai": genaiList} {
		books[name] = bookOfList(t, text, false)
	}
	for _, tt := range []struct {
		list, provider, model string
		input                 int64
		mode                  string
		want                  string // with a million tokens of output; empty: unpriced
	}{
		{"litellm", "openai", "tall", 272_000, "", "15.68"},
		{"litellm", "openai", "tall", 272_001, "", "23.860005"},
		{"litellm", "openai", "tall", 272_000, "priority", "31.36"},
		{"litellm", "openai", "tall", 272_001, "priority", "47.72001"},
		{"litellm", "openai", "tall", 1000, "flex", ""}, // it has no tier: the cost beyond is unknown
		{"litellm", "anthropic", "opus", 1_000_000, "geo:us,speed:fast", "52.8"},
		{"litellm", "alibaba", "tiers", 256_000, "", "0.4128"},
		{"litellm", "alibaba", "tiers", 256_001, "", "2.06400025"},
		{"litellm", "gemini", "gemini-x", 1_000_000, "", "4"},
		{"openrouter", "openrouter", "qwen/flash", 31_999, "", "0.13095997"},
		{"openrouter", "openrouter", "qwen/flash", 32_000, "", "0.4032"},
		{"openrouter", "openrouter", "qwen/flash", 256_000, "", "0.8512"},
		{"openrouter", "openrouter", "night/owl", 1000, "", ""},
		{"openrouter", "openrouter", "free/bird:free", 1000, "", "0"},
		{"models.dev", "openai", "tall", 272_000, "", "15.68"},
		{"models.dev", "openai", "tall", 272_001, "", "23.860005"},
		{"models.dev", "openai", "tall", 1000, "priority", ""},
		{"models.dev", "openai", "clock", 1000, "", ""},
		{"models.dev", "anthropic", "old", 200_001, "", "23.700006"},
		{"models.dev", "anthropic", "opus", 1_000_000, "speed:fast", "48"},
		{"genai", "openai", "tall", 272_001, "", "16.360005"},
		{"genai", "openai", "tall-2027", 1000, "", "15.0025"},
		{"genai", "openai", "heading", 1_000_000, "", "3"},
		{"genai", "openai", "other-name", 1_000_000, "", "3"},
		{"genai", "openai", "ahead", 1000, "", ""},
		{"genai", "deepseek", "shift", 1_000_000, "", "1.5"}, // at noon, after the day
		{"genai", "deepseek", "weekly", 1_000_000, "", ""},
	} {
		p := books[tt.list].Price(tt.provider, tt.model, moment(t, now))
		u := llm.Usage{llm.Input: tt.input, llm.Output: 1_000_000}
		got := ""
		if p.Unpriced(&u, tt.mode) == 0 {
			got = p.Cost(&u, tt.mode).String()
		}
		if got != tt.want {
			t.Errorf("%s: %s/%s with %d tokens %q: got %q by %s, want %q", tt.list, tt.provider, tt.model, tt.input, tt.mode, got, p.Version, tt.want)
		}
		if p.Known() && p.Basis == llm.BasisModel {
			t.Errorf("%s: %s/%s: got an exact price, want it assumed", tt.list, tt.provider, tt.model)
		}
	}
	units := llm.Usage{llm.Input: 1000, llm.Output: 1000, llm.Requests: 1, llm.Searches: 1}
	for model, want := range map[string]string{"openai/tall": "0.0275", "perplexity/sonar": "0.007"} {
		provider, name, _ := strings.Cut(model, "/")
		p := books["litellm"].Price(provider, name, moment(t, now))
		if got := p.Cost(&units, "").String(); got != want {
			t.Errorf("%s with a search: got %s, want %s", model, got, want)
		}
	}
	media := llm.Usage{llm.Milliseconds: 60_000, llm.Images: 2}
	for model, want := range map[string]string{"openai/ears": "0.006", "xai/brush": "0.04"} {
		provider, name, _ := strings.Cut(model, "/")
		p := books["litellm"].Price(provider, name, moment(t, now))
		if got := p.Cost(&media, "").String(); got != want {
			t.Errorf("%s: got %s, want %s", model, got, want)
		}
	}
}

func bookOfList(t *testing.T, text string, own bool) *pricing.Book {
	t.Helper()
	c := must.Get(pricing.Convert([]byte(text), "2026-08-21", own))(t)
	return newBook(t, pricing.Overrides{Known: []string{"alibaba"}, Files: []pricing.File{{Path: "list.json", Text: c.File}}})
}

// TestConvertedAsOwn checks that the prices of a list of one's own are exact.
func TestConvertedAsOwn(t *testing.T) {
	t.Parallel()
	b := bookOfList(t, litellmList, true)
	if p := b.Price("openai", "tall", moment(t, now)); p.Basis != llm.BasisModel || !p.Known() {
		t.Errorf("got basis %d of %q, want it exact", p.Basis, p.Version)
	}
}

// TestOmittedEntriesAreCounted checks that all omitted entries are counted, and that two prices of one model are
// reported.
func TestOmittedEntriesAreCounted(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text string
		twice      []string
		left       map[string]int
	}{
		{"litellm", litellmList, []string{"gemini/gemini-x"}, map[string]int{
			"flex without the tiers of the usual price": 1, "input_cost_per_character": 1,
			"regional_processing_uplift_multiplier_eu": 1, "search_context_cost_per_query": 1,
			"provider_specific_entry.dusk": 1, "price of 0, which may be unknown": 1,
		}},
		{"openrouter", openrouterList, nil, map[string]int{
			"pricing.image": 1, "pricing.prompt": 1, "pricing.completion": 1, "model without a price of input": 1,
			"model with overrides that are not by the length of the prompt": 1,
		}},
		{"models.dev", modelsdevList, nil, map[string]int{
			"priority without the tiers of the usual price": 1, "experimental.modes.deep": 1, "cost.tolls": 1,
			"model with tiers that are not by the length of the prompt": 1, "model without a price of input tokens": 1,
			"model of another provider": 2,
		}},
		{"genai", genaiList, nil, map[string]int{
			"prices.input_video_mtok": 1, "prices.thoughts_kcount": 1, "model whose rule of names cannot be read": 1,
			"model without a price that has a place": 1, "model with a price on a condition that is not known": 1,
			"model of another provider": 1,
		}},
	} {
		c := must.Get(pricing.Convert([]byte(tt.text), "2026-08-21", false))(t)
		if !maps.Equal(c.Left, tt.left) || !slices.Equal(c.Twice, tt.twice) {
			t.Errorf("%s: got %v, twice %q, want %v, twice %q", tt.name, c.Left, c.Twice, tt.left, tt.twice)
		}
	}
}

// TestDiffOfLists checks a list's changes of the prices in force: added models, changed prices, and models that it
// lacks.
func TestDiffOfLists(t *testing.T) {
	t.Parallel()
	const list = `[{"id": "groq", "models": [
		{"id": "llama-3.1-8b-instant", "match": {"equals": "llama-3.1-8b-instant"}, "prices": {"input_mtok": 0.06, "output_mtok": 0.08}},
		{"id": "gemma-7b-it", "match": {"equals": "gemma-7b-it"}, "prices": {"input_mtok": 0.07, "output_mtok": 0.07}},
		{"id": "new", "match": {"equals": "new"}, "prices": {"input_mtok": 1}}]}]`
	c := must.Get(pricing.Convert([]byte(list), "", false))(t)
	before := newBook(t, pricing.Overrides{})
	after := newBook(t, pricing.Overrides{Files: []pricing.File{{Path: "list", Text: c.File}}})
	var got []pricing.Change
	gone := 0
	for _, change := range pricing.Diff(before, after, moment(t, now), "list") {
		if !strings.HasPrefix(change.Model, "groq/") {
			t.Errorf("got %+v, want nothing of other providers", change)
		}
		if change.Kind == pricing.Gone {
			gone++
			if change.Model == "groq/gemma-7b-it" || change.Class != "" {
				t.Errorf("got %+v, which is in the list", change)
			}
			continue
		}
		got = append(got, change)
	}
	want := []pricing.Change{
		{Kind: pricing.Changed, Model: "groq/llama-3.1-8b-instant", Class: "input", Before: "0.05", After: "0.06"},
		{Kind: pricing.Added, Model: "groq/new", Class: "input", After: "1"},
		{Kind: pricing.Added, Model: "groq/new", Class: "tokens (flex)", After: "times 1"}, // as all of Groq's
	}
	must.Equal(t, got, want, "the changes")
	if known := len(before.Models("groq", time.Now())); gone < 10 || gone >= known {
		t.Errorf("missing: got %d models of %d, want most of them", gone, known)
	}
	for _, change := range pricing.Diff(before, after, moment(t, now)) {
		if change.Kind == pricing.Gone {
			t.Errorf("got %+v of a price file that is not a whole list", change)
		}
	}
}

// TestConvertedWithoutTier checks that a model or a mode with unreadable higher prices is left out: the usual price
// would be too low for some of its requests.
func TestConvertedWithoutTier(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, provider, text, mode string }{
		{"LiteLLM: a tier that is a text", "openai", `"t": {"litellm_provider": "openai", "input_cost_per_token": 1e-6, "output_cost_per_token": 1e-6, "input_cost_per_token_above_200k_tokens": "2e-6"}`, ""},
		{"LiteLLM: a tier of another form", "openai", `"t": {"litellm_provider": "openai", "input_cost_per_token": 1e-6, "output_cost_per_token": 1e-6, "output_cost_per_token_above_1m_tokens": 2e-6}`, ""},
		{"LiteLLM: a tier of a mode of another form", "openai", `"t": {"litellm_provider": "openai", "input_cost_per_token": 1e-6, "output_cost_per_token": 1e-6, "input_cost_per_token_above_1m_tokens_priority": 2e-6}`, ""},
		{"LiteLLM: a tier below 0", "openai", `"t": {"litellm_provider": "openai", "input_cost_per_token": 1e-6, "output_cost_per_token": 1e-6, "input_cost_per_token_above_200k_tokens": -1}`, ""},
		{"LiteLLM: a range without its begin", "alibaba", `"t": {"litellm_provider": "dashscope", "tiered_pricing": [
			{"range": [0, 1000], "input_cost_per_token": 1e-6, "output_cost_per_token": 1e-6}, {"range": ["1000", 2000], "input_cost_per_token": 2e-6, "output_cost_per_token": 2e-6}]}`, ""},
		{"LiteLLM: a range of an unknown price", "alibaba", `"t": {"litellm_provider": "dashscope", "tiered_pricing": [
			{"range": [0, 1000], "input_cost_per_token": 1e-6, "output_cost_per_token": 1e-6}, {"range": [1000, 2000], "input_cost_per_token": 2e-6, "output_cost_per_token": "2e-6"}]}`, ""},
		{"LiteLLM: a mode with another tier", "openai", `"t": {"litellm_provider": "openai", "input_cost_per_token": 1e-6, "output_cost_per_token": 1e-6, "input_cost_per_token_above_200k_tokens": 2e-6,
			"input_cost_per_token_priority": 2e-6, "output_cost_per_token_priority": 2e-6, "input_cost_per_token_above_272k_tokens_priority": 4e-6}`, "priority"},
		{"OpenRouter: an override that is no price", "openrouter", `"data": [{"id": "t", "pricing": {"prompt": "0.000001", "completion": "0.000001", "overrides": [{"min_prompt_tokens": 9, "prompt": "-1"}]}}]`, ""},
		{"OpenRouter: an override that is a number", "openrouter", `"data": [{"id": "t", "pricing": {"prompt": "0.000001", "completion": "0.000001", "overrides": [{"min_prompt_tokens": 9, "prompt": 0.000002}]}}]`, ""},
		{"models.dev: a tier that is no price", "openai", `"openai": {"models": {"t": {"cost": {"input": 1, "output": 1, "tiers": [{"input": "two", "tier": {"type": "context", "size": 9}}]}}}}`, ""},
		{"models.dev: a tier of something unknown", "openai", `"openai": {"models": {"t": {"cost": {"input": 1, "output": 1, "tiers": [{"tolls": 2, "tier": {"type": "context", "size": 9}}]}}}}`, ""},
		{"models.dev: beyond 200,000 tokens no price", "openai", `"openai": {"models": {"t": {"cost": {"input": 1, "output": 1, "context_over_200k": {"input": null}}}}}`, ""},
		{"genai-prices: a tier that is no price", "openai", `[{"id": "openai", "models": [{"id": "t", "match": {"equals": "t"}, "prices": {"input_mtok": {"base": 1, "tiers": [{"start": 9, "price": -2}]}, "output_mtok": 1}}]}]`, ""},
		{"genai-prices: a tier without a start", "openai", `[{"id": "openai", "models": [{"id": "t", "match": {"equals": "t"}, "prices": {"input_mtok": {"base": 1, "tiers": [{"price": 2}]}, "output_mtok": 1}}]}]`, ""},
		{"genai-prices: a price on an unknown condition", "openai", `[{"id": "openai", "models": [{"id": "t", "match": {"equals": "t"}, "prices": [{"prices": {"input_mtok": 1, "output_mtok": 1}},
			{"constraint": {"weekday": 3}, "prices": {"input_mtok": 9, "output_mtok": 9}}]}]}]`, ""},
		{"genai-prices: a day that has nothing known", "openai", `[{"id": "openai", "models": [{"id": "t", "match": {"equals": "t"}, "prices": [{"prices": {"input_mtok": 1, "output_mtok": 1}},
			{"constraint": {"start_date": "2026-09-01"}, "prices": {"thoughts_kcount": 9}}]}]}]`, ""},
	} {
		text := tt.text
		if text[0] != '[' {
			text = "{" + text + "}"
		}
		c, err := pricing.Convert([]byte(text), "2026-08-21", false)
		if err != nil {
			continue // nothing is left of the list
		}
		if len(c.Left) == 0 {
			t.Errorf("%s: got nothing counted as left out", tt.name)
		}
		b := newBook(t, pricing.Overrides{Known: []string{"alibaba"}, Files: []pricing.File{{Path: "list.json", Text: c.File}}})
		p := b.Price(tt.provider, "t", moment(t, now))
		u := llm.Usage{llm.Input: 250_000, llm.Output: 1}
		if p.Unpriced(&u, tt.mode) == 0 {
			t.Errorf("%s: got %s for 250,000 tokens, want no price", tt.name, p.Cost(&u, tt.mode))
		}
	}
}

// TestConvertedOver200k checks that models.dev's older form of a tier counts if the newer one is empty.
func TestConvertedOver200k(t *testing.T) {
	t.Parallel()
	for _, tiers := range []string{`[]`, `null`} {
		b := bookOfList(t, `{"openai": {"models": {"t": {"cost": {"input": 1, "output": 1, "tiers": `+tiers+`, "context_over_200k": {"input": 2, "output": 2}}}}}}`, false)
		p := b.Price("openai", "t", moment(t, now))
		if got := p.Cost(&llm.Usage{llm.Input: 1_000_000}, "").String(); got != "2" {
			t.Errorf("tiers %s: got %s for a million tokens, want 2", tiers, got)
		}
	}
}

// TestConvertedFlat checks that a list without the embedded data's tier of a model does not make long requests cheaper,
// unless it is the operator's own; and that a list with higher prices than the tier counts.
func TestConvertedFlat(t *testing.T) {
	t.Parallel()
	long := llm.Usage{llm.Input: 300_000, llm.Output: 1000}
	for _, tt := range []struct {
		name, list string
		own        bool
		left       int
		want       string
	}{
		{"genai-prices", `[{"id": "openai", "models": [{"id": "gpt-5.5", "match": {"equals": "gpt-5.5"}, "prices": {"input_mtok": 5, "output_mtok": 30}}]}, {"id": "groq", "models": [{"id": "t", "match": {"equals": "t"}, "prices": {"input_mtok": 5}}]}]`, false, 1, "3.045"},
		{"LiteLLM", `{"gpt-5.5": {"litellm_provider": "openai", "input_cost_per_token": 5e-6, "output_cost_per_token": 3e-5}, "t": {"litellm_provider": "openai", "input_cost_per_token": 1e-6}}`, false, 1, "3.045"},
		{"a tier of output alone", `{"gpt-5.5": {"litellm_provider": "openai", "input_cost_per_token": 5e-6, "output_cost_per_token": 3e-5, "output_cost_per_token_above_272k_tokens": 4.5e-5}, "t": {"litellm_provider": "openai", "input_cost_per_token": 1e-6}}`, false, 1, "3.045"},
		{"the operator's own", `{"gpt-5.5": {"litellm_provider": "openai", "input_cost_per_token": 5e-6, "output_cost_per_token": 3e-5}}`, true, 0, "1.53"},
		{"a dearer list", `{"gpt-5.5": {"litellm_provider": "openai", "input_cost_per_token": 2e-5, "output_cost_per_token": 5e-5}}`, false, 0, "6.05"},
	} {
		c := must.Get(pricing.Convert([]byte(tt.list), "2026-08-21", tt.own))(t)
		b := newBook(t, pricing.Overrides{Files: []pricing.File{{Path: "list.json", Text: c.File}}})
		p := b.Price("openai", "gpt-5.5", moment(t, now))
		got, left := p.Cost(&long, "").String(), c.Left["model without a tier of the price that is known"]
		if got != tt.want || left != tt.left {
			t.Errorf("%s: got %s for 300,000 tokens, %d left out, want %s, %d", tt.name, got, left, tt.want, tt.left)
		}
	}
}
