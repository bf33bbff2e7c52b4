package pricing

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"weir/internal/llm"
)

// modelsdevProviders maps models.dev's names of providers to ours.
var modelsdevProviders = map[string]string{
	"alibaba": "alibaba", "amazon-bedrock": "bedrock", "anthropic": "anthropic", "arcee": "arcee", "azure": "azure",
	"baseten": "baseten", "cerebras": "cerebras", "cloudflare-workers-ai": "cloudflare", "cohere": "cohere",
	"deepseek": "deepseek", "fireworks-ai": "fireworks", "github-copilot": "github-copilot", "google": "gemini",
	"google-vertex": "vertex", "google-vertex-anthropic": "vertex", "groq": "groq", "minimax": "minimax",
	"mistral": "mistral", "modal": "modal", "moonshotai": "moonshot", "novita-ai": "novita", "nvidia": "nvidia",
	"openai": "openai", "openrouter": "openrouter", "ovhcloud": "ovhcloud", "perplexity": "perplexity",
	"togetherai": "together", "xai": "xai", "zai": "zai", "zhipuai": "zhipuai",
}

// modelsdevRates maps the price fields of models.dev, in US dollars per million tokens (https://models.dev), to ours.
var modelsdevRates = map[string]string{
	"input": "input_mtok", "output": "output_mtok", "reasoning": "output_reasoning_mtok",
	"cache_read":  "cache_read_mtok",
	"cache_write": "cache_write_mtok", "input_audio": "input_audio_mtok", "output_audio": "output_audio_mtok",
}

// modelsdevModel is a model of models.dev.
type modelsdevModel struct {
	Cost         map[string]json.RawMessage `json:"cost"`
	Experimental struct {
		Modes map[string]struct {
			Cost     map[string]json.RawMessage `json:"cost"`
			Provider struct {
				Body map[string]json.RawMessage `json:"body"`
			} `json:"provider"`
		} `json:"modes"`
	} `json:"experimental"`
}

func (c *converter) modelsdev(providers map[string]json.RawMessage) (*Converted, error) {
	for _, name := range slices.Sorted(maps.Keys(providers)) {
		var p struct {
			Models map[string]modelsdevModel `json:"models"`
		}
		if json.Unmarshal(providers[name], &p) != nil {
			c.left["provider that cannot be read"]++
			continue
		}
		provider := modelsdevProviders[name]
		if provider == "" {
			c.left["model of another provider"] += len(p.Models)
			continue
		}
		for _, id := range slices.Sorted(maps.Keys(p.Models)) {
			m := p.Models[id]
			o := &offer{provider: provider, id: id, source: modelsdevPage, note: "models.dev's list, converted."}
			c.modelsdevModel(o, &m)
		}
	}
	return c.file("Converted from models.dev's api.json of " + c.day + ".")
}

// modelsdevModel adds a model in all its modes.
func (c *converter) modelsdevModel(o *offer, m *modelsdevModel) {
	if !c.modelsdevCost(o, "", m.Cost) {
		c.left["model with tiers that are not by the length of the prompt"]++
		return
	}
	if o.modes[""]["input_mtok"] == nil {
		c.left["model without a price of input tokens"]++
		return
	}
	for _, name := range slices.Sorted(maps.Keys(m.Experimental.Modes)) {
		mode := m.Experimental.Modes[name]
		asked := modeAsked(mode.Provider.Body)
		if asked != "" && c.modelsdevCost(o, asked, mode.Cost) {
			continue
		}
		if c.left["experimental.modes."+name]++; asked != "" {
			delete(o.modes, asked)
		}
	}
	c.sells(o)
}

// modeAsked returns the mode that these members of a request select; empty if it is unknown.
func modeAsked(body map[string]json.RawMessage) string {
	kinds := map[string]string{"service_tier": "", "speed": "speed:", "inference_geo": "geo:"}
	for name, kind := range kinds {
		var value string
		if len(body) == 1 && json.Unmarshal(body[name], &value) == nil && value != "" {
			return llm.ModeName(kind + value)
		}
	}
	return ""
}

// modelsdevCost adds the prices of a mode, and reports whether all of its tiers are supported.
func (c *converter) modelsdevCost(o *offer, mode string, cost map[string]json.RawMessage) bool {
	for _, name := range slices.Sorted(maps.Keys(cost)) {
		switch name {
		case "tiers", "context_over_200k":
		default:
			c.modelsdevPrice(o, mode, 0, name, cost[name])
		}
	}
	var tiers []map[string]json.RawMessage
	if raw := cost["tiers"]; raw != nil && json.Unmarshal(raw, &tiers) != nil {
		return false
	}
	if raw := cost["context_over_200k"]; len(tiers) == 0 && raw != nil {
		var over map[string]json.RawMessage
		if json.Unmarshal(raw, &over) != nil {
			return false
		}
		c.modelsdevPrices(o, mode, 200_000, over)
	}
	for _, prices := range tiers {
		var tier struct {
			Type string `json:"type"`
			Size int64  `json:"size"`
		}
		if json.Unmarshal(prices["tier"], &tier) != nil || tier.Type != "context" ||
			tier.Size < 1 || tier.Size > maxAbove {
			return false
		}
		delete(prices, "tier")
		c.modelsdevPrices(o, mode, tier.Size, prices)
	}
	return true
}

func (c *converter) modelsdevPrices(o *offer, mode string, above int64, prices map[string]json.RawMessage) {
	for _, name := range slices.Sorted(maps.Keys(prices)) {
		c.modelsdevPrice(o, mode, above, name, prices[name])
	}
}

// modelsdevPrice adds one price.
func (c *converter) modelsdevPrice(o *offer, mode string, above int64, name string, raw json.RawMessage) {
	var number json.Number
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	key, text := modelsdevRates[name], ""
	if d.Decode(&number) == nil {
		text = usd(number.String(), 1)
	}
	switch {
	case key != "" && text != "" && (text != "0" || above > 0 || name == "input" || name == "output"):
		o.set(mode, key, above, text)
	case text != "0":
		c.left["cost."+name]++
		o.short = o.short || above > 0
	}
}
