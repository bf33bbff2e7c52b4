package pricing

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// litellmProviders maps LiteLLM's names of providers to ours.
var litellmProviders = map[string]string{
	"openai": "openai", "text-completion-openai": "openai", "anthropic": "anthropic", "gemini": "gemini",
	"bedrock": "bedrock", "bedrock_converse": "bedrock", "azure": "azure", "mistral": "mistral", "cohere": "cohere",
	"cohere_chat": "cohere", "groq": "groq", "xai": "xai", "deepseek": "deepseek", "together_ai": "together",
	"fireworks_ai": "fireworks", "openrouter": "openrouter", "perplexity": "perplexity", "cerebras": "cerebras",
	"moonshot": "moonshot", "dashscope": "alibaba", "nvidia_nim": "nvidia", "vertex_ai-language-models": "vertex",
	"vertex_ai-anthropic_models": "vertex",
}

// litellmRates maps the price fields of LiteLLM's list, in US dollars per unit
// (https://docs.litellm.ai/docs/provider_registration/add_model_pricing), to ours.
var litellmRates = map[string]string{
	"input_cost_per_token": "input_mtok", "output_cost_per_token": "output_mtok",
	"output_cost_per_reasoning_token": "output_reasoning_mtok", "cache_read_input_token_cost": "cache_read_mtok",
	"cache_creation_input_token_cost":           "cache_write_mtok",
	"cache_creation_input_token_cost_above_1hr": "cache_write_1h_mtok",
	"cache_read_input_audio_token_cost":         "cache_audio_read_mtok",
	"input_cost_per_audio_token":                "input_audio_mtok",
	"output_cost_per_audio_token":               "output_audio_mtok", "input_cost_per_image_token": "input_image_mtok",
	"output_cost_per_image_token": "output_image_mtok", "output_cost_per_video_token": "output_video_mtok",
	"input_cost_per_request": "requests_kcount", "citation_cost_per_token": "output_citation_mtok",
	"code_interpreter_cost_per_session": "code_interpreter_sessions",
}

// litellmModes maps suffixes of LiteLLM's field names to modes.
var litellmModes = map[string]string{"_priority": "priority", "_flex": "flex", "_batches": "batch"}

func (c *converter) litellm(models map[string]json.RawMessage) (*Converted, error) {
	for _, name := range slices.Sorted(maps.Keys(models)) {
		var m map[string]any
		d := json.NewDecoder(bytes.NewReader(models[name]))
		d.UseNumber()
		if err := d.Decode(&m); err != nil || name == "sample_spec" {
			continue
		}
		sold, _ := m["litellm_provider"].(string)
		provider := litellmProviders[sold]
		id := strings.TrimPrefix(name, strings.TrimSuffix(sold, "_chat")+"/")
		if strings.HasPrefix(sold, "vertex_ai-") {
			id = strings.TrimPrefix(name, "vertex_ai/")
		}
		switch {
		case provider == "":
			c.left["model of another provider"]++
		case (provider == "azure" || provider == "bedrock") && strings.Contains(id, "/"):
			c.left["model of only one region or commitment"]++
		default:
			source, _ := m["source"].(string)
			c.litellmModel(&offer{
				provider: provider, id: id, source: cmp.Or(source, litellmPage), note: "LiteLLM's list, converted.",
			}, m)
		}
	}
	return c.file("Converted from LiteLLM's model_prices_and_context_window.json of " + c.day + ".")
}

// litellmModel adds a model of LiteLLM in all its modes.
func (c *converter) litellmModel(o *offer, m map[string]any) {
	for _, field := range slices.Sorted(maps.Keys(m)) {
		if !isLitellmPrice(field) {
			continue
		}
		number, isNumber := m[field].(json.Number)
		switch {
		case isNumber && isZero(number.String()) && !strings.HasSuffix(field, "put_cost_per_token"):
		case isNumber && c.litellmUnit(o, m, field, number.String()):
		case isNumber:
			c.litellmNumber(o, field, number.String())
		case !c.litellmObject(o, field, m[field]):
			c.litellmLeft(o, field)
		}
	}
	if len(o.modes[""]) == 0 || onlyTools(o.modes[""]) {
		c.left["model without a price of input tokens, seconds or images"]++
		return
	}
	c.sells(o)
}

// isLitellmPrice reports whether a field is about prices.
func isLitellmPrice(field string) bool {
	words := []string{"cost", "pricing", "multiplier", "provider_specific_entry"}
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(field, word) })
}

// onlyTools reports whether no price is for the model's input or output.
func onlyTools(prices map[string]*amountJSON) bool {
	return prices["input_mtok"] == nil && prices["audio_hours"] == nil && prices["images"] == nil
}

// litellmNumber adds a price that is a number.
func (c *converter) litellmNumber(o *offer, field, number string) {
	key, mode, above := litellmField(field)
	if text := usd(number, units[key].per); key != "" && text != "" {
		o.set(mode, key, above, text)
		return
	}
	c.litellmLeft(o, field)
}

// litellmLeft counts an omitted field. If the field is a tier, the model is omitted too.
func (c *converter) litellmLeft(o *offer, field string) {
	c.left[field]++
	end := strings.LastIndex(field, "_above_")
	isTier := end >= 0 && litellmRates[field] == "" && litellmRates[field[:end]] != ""
	o.short = o.short || isTier || field == "tiered_pricing"
}

// litellmUnit adds a price for a unit other than tokens, which depends on the kind of model.
func (c *converter) litellmUnit(o *offer, m map[string]any, field, number string) bool {
	kind, _ := m["mode"].(string)
	switch {
	case kind == "audio_transcription" && field == "input_cost_per_second":
		o.set("", "audio_hours", 0, usd(number, hourSeconds))
	case kind == "audio_transcription" && field == "output_cost_per_second" && m[field] == m["input_cost_per_second"]:
		// the same second, already counted
	case kind == "image_generation" && field == "output_cost_per_image" && m["input_cost_per_token"] == nil &&
		m["output_cost_per_image_token"] == nil:
		o.set("", "images", 0, usd(number, 1))
	case field == "input_cost_per_token_cache_hit" && m["cache_read_input_token_cost"] == nil:
		o.set("", "cache_read_mtok", 0, usd(number, million))
	case field == "input_cost_per_token_cache_hit" && m["cache_read_input_token_cost"] == m[field]:
	case field == "file_search_cost_per_1k_calls":
		o.set("", "storage_searches_kcount", 0, usd(number, 1))
	default:
		return false
	}
	return true
}

// litellmObject adds a price that is not a number, and reports whether all of it is supported.
func (c *converter) litellmObject(o *offer, field string, v any) bool {
	switch v := v.(type) {
	case map[string]any:
		switch field {
		case "search_context_cost_per_query":
			return o.searchContext(v)
		case "provider_specific_entry":
			return c.specific(o, v)
		}
	case []any:
		return field == "tiered_pricing" && c.ranges(o, v)
	}
	return false
}

// searchContext adds the price of a search by the size of its search context. Perplexity's fee per request depends on
// the size; other providers' prices are supported only if they do not.
func (o *offer) searchContext(sizes map[string]any) bool {
	price := func(size string, times int64) string {
		n, _ := sizes["search_context_size_"+size].(json.Number)
		return usd(n.String(), times)
	}
	low, medium, high := price("low", thousand), price("medium", thousand), price("high", thousand)
	switch {
	case low == "" || medium == "" || high == "" || len(sizes) != 3:
		return false
	case o.provider == "perplexity":
		o.set("", "requests_kcount", 0, low)
		for size, text := range map[string]string{"low": low, "medium": medium, "high": high} {
			o.set("search_context:"+size, "requests_kcount", 0, text)
		}
	case low != medium || low != high:
		return false
	case low != "0":
		o.set("", "web_searches_kcount", 0, low)
	}
	return true
}

// specific adds the multiples of Anthropic's models, and counts other members.
func (c *converter) specific(o *offer, entry map[string]any) bool {
	modes := map[string]string{"us": "geo:us", "fast": "speed:fast"}
	for _, name := range slices.Sorted(maps.Keys(entry)) {
		times, isNumber := entry[name].(json.Number)
		text := usd(times.String(), 1)
		if mode := modes[name]; o.provider == "anthropic" && mode != "" && isMultiple(text) {
			if o.times == nil {
				o.times = map[string]string{}
			}
			o.times[mode] = text
		} else if isNumber { // a text is not a price
			c.left["provider_specific_entry."+name]++
		}
	}
	return true
}

// isMultiple reports whether a text is valid as the times of an entry.
func isMultiple(text string) bool {
	_, places, _ := strings.Cut(text, ".")
	return isDecimal(text) && len(places) <= 3 && strings.Trim(text, "0.") != ""
}

// ranges adds prices by ranges of input tokens; the first range begins at 0.
func (c *converter) ranges(o *offer, list []any) bool {
	whole := true
	for _, item := range list {
		m, _ := item.(map[string]any)
		bounds, _ := m["range"].([]any)
		if len(bounds) != 2 {
			return false
		}
		from, _ := bounds[0].(json.Number)
		above, err := strconv.ParseInt(from.String(), 10, 64)
		if err != nil || above < 0 || above > maxAbove {
			return false
		}
		for _, field := range slices.Sorted(maps.Keys(m)) {
			number, isNumber := m[field].(json.Number)
			key := litellmRates[field]
			text := usd(number.String(), units[key].per)
			switch {
			case field == "range":
			case !isNumber || key == "" || text == "":
				whole = false
			default:
				o.set("", key, above, text)
			}
		}
	}
	return whole
}

var litellmAbove = regexp.MustCompile(`_above_(\d{1,6})k_tokens`)

// litellmField returns the rate of a LiteLLM field, its mode, and the input tokens above which it applies; the key is
// empty for an unsupported field.
func litellmField(field string) (key, mode string, above int64) {
	for end, name := range litellmModes {
		if base, ok := strings.CutSuffix(field, end); ok {
			field, mode = base, name
		}
	}
	if m := litellmAbove.FindStringSubmatch(field); m != nil {
		field = strings.Replace(field, m[0], "", 1)
		above, _ = strconv.ParseInt(m[1], 10, 64) // it has at most six digits
		above *= thousand
	}
	return litellmRates[field], mode, above
}
