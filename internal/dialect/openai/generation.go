package openai

import (
	"errors"
	"fmt"
	"net/url"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// generationPath returns the path of OpenRouter's record of an answer, GET /generation?id=:
// https://openrouter.ai/docs/api-reference/generations/get-generation (2025-11-08).
func generationPath(id string) string { return "/generation?id=" + url.QueryEscape(id) }

var errNoGeneration = errors.New("openai: the reply has no record of the generation")

// DecodeGeneration reads OpenRouter's record of an answer: its id, service tier, usage in the model's own tokens, and
// OpenRouter's charge (https://openrouter.ai/docs/api-reference/generations/get-generation, 2025-11-08). A record
// without counts reports no usage. It contains neither cache writes nor the number of web searches: a search counts as
// another tool, which has no price.
func DecodeGeneration(body []byte, q *llm.Quirks) (*llm.Reply, error) {
	if err := rawjson.Validate(body, maxDepth); err != nil {
		return nil, fmt.Errorf("openai: the generation is not JSON: %w", err)
	}
	data := rawjson.Get(body, "data")
	if rawjson.KindOf(data) != rawjson.Object {
		return nil, errNoGeneration
	}
	r := &llm.Reply{ID: rawjson.Text(rawjson.Get(data, "id")), Tier: rawjson.Text(rawjson.Get(data, "service_tier"))}
	usage := generationUsage(data)
	if r.Usage, r.Most, r.Reported = DecodeUsage(usage, q); !r.Reported {
		return r, nil
	}
	if own, _ := rawjson.AsBool(rawjson.Get(data, "is_byok")); !own { // otherwise total_cost is undocumented
		r.ProviderCost = ProviderCost(usage)
	}
	for _, found := range []string{"num_search_results", "num_fetches"} {
		if n, _ := rawjson.AsInt(rawjson.Get(data, found)); n > 0 {
			r.Usage[llm.OtherTools] = 1
		}
	}
	return r, nil
}

// generationUsage returns the record's usage as an object of Chat Completions; nil if the record lacks a total.
func generationUsage(data []byte) []byte {
	at := func(name string) []byte {
		if v := rawjson.Get(data, name); rawjson.Present(v) {
			return v
		}
		return []byte("null")
	}
	if rawjson.KindOf(at("native_tokens_prompt")) != rawjson.Number ||
		rawjson.KindOf(at("native_tokens_completion")) != rawjson.Number {
		return nil
	}
	return fmt.Appendf(nil, `{"prompt_tokens":%s,"prompt_tokens_details":{"cached_tokens":%s},"completion_tokens":%s,`+
		`"completion_tokens_details":{"reasoning_tokens":%s,"image_tokens":%s},"cost":%s}`,
		at("native_tokens_prompt"), at("native_tokens_cached"), at("native_tokens_completion"),
		at("native_tokens_reasoning"), at("native_tokens_completion_images"), at("total_cost"))
}
