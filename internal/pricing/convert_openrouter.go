package pricing

import (
	"encoding/json"
	"maps"
	"slices"
)

// openrouterModel is a model of OpenRouter's list
// (https://openrouter.ai/docs/api-reference/list-available-models).
type openrouterModel struct {
	ID      string                     `json:"id"`
	Pricing map[string]json.RawMessage `json:"pricing"`
}

// openrouterRates maps the price fields of OpenRouter's list, in US dollars per unit, to ours.
var openrouterRates = map[string]string{
	"prompt": "input_mtok", "completion": "output_mtok", "request": "requests_kcount",
	"web_search":         "web_searches_kcount",
	"internal_reasoning": "output_reasoning_mtok", "input_cache_read": "cache_read_mtok",
	"input_cache_write": "cache_write_mtok", "input_cache_write_1h": "cache_write_1h_mtok",
	"input_audio_cache": "cache_audio_read_mtok", "image_output": "output_image_mtok",
	"audio_output": "output_audio_mtok", "audio": "input_audio_mtok",
}

// fromTokens is the member of an override with the number of prompt tokens from which it applies.
const fromTokens = "min_prompt_tokens"

func (c *converter) openrouter(models []openrouterModel) (*Converted, error) {
	for i := range models {
		m := &models[i]
		o := &offer{
			provider: "openrouter", id: m.ID, source: openrouterPage, free: true,
			note: "OpenRouter's list of models, converted.",
		}
		c.openrouterPrices(o, m.Pricing, 0)
		switch overrides, known := c.overrides(m.Pricing["overrides"]); {
		case o.modes[""]["input_mtok"] == nil:
			c.left["model without a price of input"]++
		case !known:
			c.left["model with overrides that are not by the length of the prompt"]++
		default:
			for _, over := range overrides {
				c.openrouterPrices(o, over.prices, over.above)
			}
			c.sells(o)
		}
	}
	return c.file("Converted from OpenRouter's list of models of " + c.day + ".")
}

// openrouterPrices adds the prices that apply above that many prompt tokens. Except for input and output, a price of 0
// means that the item is not charged separately.
func (c *converter) openrouterPrices(o *offer, prices map[string]json.RawMessage, above int64) {
	for _, name := range slices.Sorted(maps.Keys(prices)) {
		if name == "overrides" || above > 0 && name == fromTokens {
			continue
		}
		var price string
		_ = json.Unmarshal(prices[name], &price) // otherwise it is empty
		key := openrouterRates[name]
		text := usd(price, units[key].per)
		switch zero := text == "" || text == "0"; {
		case key == "" && isZero(price): // free of charge
		case key == "" || text == "":
			c.left["pricing."+name]++
			o.short = o.short || above > 0
		case zero && above == 0 && name != "prompt" && name != "completion":
		default:
			o.set("", key, above, text)
		}
	}
}

// openrouterOverride holds the prices of a model above that many prompt tokens.
type openrouterOverride struct {
	above  int64
	prices map[string]json.RawMessage
}

// overrides returns a list's overrides for longer prompts; false if one of them has another condition.
func (c *converter) overrides(raw json.RawMessage) (all []openrouterOverride, known bool) {
	if raw == nil {
		return nil, true
	}
	var list []map[string]json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return nil, false
	}
	for _, prices := range list {
		var from int64
		if json.Unmarshal(prices[fromTokens], &from) != nil || from < 2 || from > maxAbove {
			return nil, false
		}
		for name := range prices {
			if _, price := openrouterRates[name]; !price && name != fromTokens {
				return nil, false
			}
		}
		all = append(all, openrouterOverride{from - 1, prices})
	}
	return all, true
}

// maxAbove bounds the token count above which a tier may begin; no list has a higher one.
const maxAbove = 1 << 40
