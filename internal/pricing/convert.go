package pricing

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Converted is a price list of others as a price file.
type Converted struct {
	File   []byte
	Models int
	// Left counts what has no place in a price file, by what it is.
	Left map[string]int
}

// Lists of others that Convert reads, and where they are published.
const (
	litellmPage    = "https://github.com/BerriAI/litellm/blob/main/model_prices_and_context_window.json"
	openrouterPage = "https://openrouter.ai/api/v1/models"
)

// Convert makes a price file of LiteLLM's model_prices_and_context_window.json or of
// OpenRouter's answer to /api/v1/models. Day is that of the list, YYYY-MM-DD. Prices that
// have no class here are left out, so that they stay unknown.
func Convert(text []byte, day string) (*Converted, error) {
	if len(text) > MaxFile {
		return nil, fmt.Errorf("longer than %d MiB", MaxFile>>20)
	}
	book, err := NewBook(Overrides{})
	if err != nil {
		return nil, err
	}
	c := &converter{day: day, left: map[string]int{}, book: book}
	var list struct {
		Data []openrouterModel `json:"data"`
	}
	if err := json.Unmarshal(text, &list); err == nil && len(list.Data) > 0 {
		return c.openrouter(list.Data)
	}
	var models map[string]json.RawMessage
	if err := json.Unmarshal(text, &models); err != nil {
		return nil, fmt.Errorf(
			"neither LiteLLM's model_prices_and_context_window.json nor OpenRouter's /api/v1/models: %w", err)
	}
	return c.litellm(models)
}

// converter collects entries.
type converter struct {
	day     string
	entries []entryJSON
	left    map[string]int
	book    *Book // of the embedded data
}

// entryJSON is an entry as a price file has it.
type entryJSON struct {
	Provider string         `json:"provider"`
	Models   []string       `json:"models"`
	Adds     map[string]any `json:"adds,omitempty"`
	Mode     string         `json:"mode,omitempty"`
	Rates    map[string]any `json:"rates"`
	Source   string         `json:"source"`
	Seen     string         `json:"seen"`
	Note     string         `json:"note"`
}

// has reports whether the embedded data has a model of that id at the provider.
func (c *converter) has(provider, id string) bool {
	v := c.book.vendor(c.book.source(provider))
	return v != nil && slices.ContainsFunc(v.Models, func(m model) bool { return m.ID == id })
}

// add adds what a model costs in a mode, the usual one first.
func (c *converter) add(provider, id, source, note string, mode string, rates map[string]any) {
	if len(rates) == 0 {
		return
	}
	e := entryJSON{
		Provider: provider, Models: []string{id}, Mode: mode, Rates: rates, Source: source, Seen: c.day, Note: note,
	}
	if mode == "" && c.book.source(provider) != "" && !c.has(provider, id) {
		e.Adds = map[string]any{"equals": fold(id)}
	}
	c.entries = append(c.entries, e)
}

// file writes the entries, one a line.
func (c *converter) file(about string) (*Converted, error) {
	if len(c.entries) == 0 {
		return nil, errors.New("no model with a price is in it")
	}
	slices.SortStableFunc(c.entries, func(a, b entryJSON) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Models[0], b.Models[0]))
	})
	var out bytes.Buffer
	w := json.NewEncoder(&out)
	w.SetEscapeHTML(false)
	fmt.Fprintf(&out, "{\n\"about\": %q,\n\"entries\": [\n", about)
	models := 0
	for i := range c.entries {
		if i > 0 {
			out.Truncate(out.Len() - 1)
			out.WriteString(",\n")
		}
		if err := w.Encode(c.entries[i]); err != nil {
			return nil, err
		}
		if c.entries[i].Mode == "" {
			models++
		}
	}
	out.WriteString("]\n}\n")
	return &Converted{File: out.Bytes(), Models: models, Left: c.left}, nil
}

// usd is a price in US dollars for one as the decimal for so many of them; empty for what
// is no price from 0 to a thousand dollars.
func usd(price string, times int64) string {
	const least, most = 1e-15, 1e3
	about, err := strconv.ParseFloat(price, 64)
	switch {
	case err != nil || about < 0 || about > most || len(price) > maxWord:
		return ""
	case about < least:
		return "0"
	}
	v, ok := new(big.Rat).SetString(price) // its exponent is bounded
	if !ok {
		return ""
	}
	s := v.Mul(v, big.NewRat(times, 1)).FloatString(9)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// openrouterModel is a model of OpenRouter's list
// (https://openrouter.ai/docs/api-reference/list-available-models).
type openrouterModel struct {
	ID      string                     `json:"id"`
	Pricing map[string]json.RawMessage `json:"pricing"`
}

// openrouterRates are the classes of OpenRouter's list: US dollars for one.
var openrouterRates = map[string]string{
	"prompt": "input_mtok", "completion": "output_mtok", "request": "requests_kcount",
	"web_search":         "web_searches_kcount",
	"internal_reasoning": "output_reasoning_mtok", "input_cache_read": "cache_read_mtok",
	"input_cache_write": "cache_write_mtok",
	"audio":             "input_audio_mtok",
}

func (c *converter) openrouter(models []openrouterModel) (*Converted, error) {
	for i := range models {
		m := &models[i]
		rates := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(m.Pricing)) {
			var price string
			_ = json.Unmarshal(m.Pricing[name], &price) // else it is none
			key := openrouterRates[name]
			text := usd(price, units[key].per)
			switch zero := text == "" || text == "0"; {
			case key == "" && usd(price, 1) == "0": // it costs nothing, or is no price
			case key == "" || text == "":
				c.left["pricing."+name]++
			case zero && name != "prompt" && name != "completion": // it is not charged apart
			default:
				rates[key] = text
			}
		}
		if rates["input_mtok"] == nil {
			c.left["model without a price of input"]++
			continue
		}
		c.add("openrouter", m.ID, openrouterPage, "OpenRouter's list of models, converted.", "", rates)
	}
	return c.file("Converted from OpenRouter's list of models of " + c.day + ".")
}

// litellmProviders are the names of providers here by those of LiteLLM.
var litellmProviders = map[string]string{
	"openai": "openai", "text-completion-openai": "openai", "anthropic": "anthropic", "gemini": "gemini",
	"bedrock": "bedrock", "bedrock_converse": "bedrock", "azure": "azure", "mistral": "mistral", "cohere": "cohere",
	"cohere_chat": "cohere", "groq": "groq", "xai": "xai", "deepseek": "deepseek", "together_ai": "together",
	"fireworks_ai": "fireworks", "openrouter": "openrouter", "perplexity": "perplexity", "cerebras": "cerebras",
	"moonshot": "moonshot", "dashscope": "alibaba", "nvidia_nim": "nvidia", "vertex_ai-language-models": "vertex",
	"vertex_ai-anthropic_models": "vertex",
}

// litellmRates are the classes of LiteLLM's list: US dollars for one
// (https://docs.litellm.ai/docs/provider_registration/add_model_pricing).
var litellmRates = map[string]string{
	"input_cost_per_token": "input_mtok", "output_cost_per_token": "output_mtok",
	"output_cost_per_reasoning_token": "output_reasoning_mtok", "cache_read_input_token_cost": "cache_read_mtok",
	"cache_creation_input_token_cost":           "cache_write_mtok",
	"cache_creation_input_token_cost_above_1hr": "cache_write_1h_mtok",
	"cache_read_input_audio_token_cost":         "cache_audio_read_mtok", "input_cost_per_audio_token": "input_audio_mtok",
	"output_cost_per_audio_token": "output_audio_mtok", "input_cost_per_image_token": "input_image_mtok",
	"output_cost_per_image_token": "output_image_mtok", "input_cost_per_request": "requests_kcount",
}

// litellmModes are the modes here by the ends of LiteLLM's names.
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
			c.left["model of one region or commitment alone"]++
		default:
			c.litellmModel(provider, id, m)
		}
	}
	return c.file("Converted from LiteLLM's model_prices_and_context_window.json of " + c.day + ".")
}

// litellmModel adds a model of LiteLLM's in all its modes.
func (c *converter) litellmModel(provider, id string, m map[string]any) {
	modes := map[string]map[string]*amountJSON{}
	for _, field := range slices.Sorted(maps.Keys(m)) {
		number, ok := m[field].(json.Number)
		if !ok || !strings.Contains(field, "cost") {
			continue
		}
		key, mode, above := litellmField(field)
		text := usd(number.String(), units[key].per)
		if key == "" || text == "" {
			if usd(number.String(), 1) != "0" {
				c.left[field]++
			}
			continue
		}
		if modes[mode] == nil {
			modes[mode] = map[string]*amountJSON{}
		}
		a := modes[mode][key]
		if a == nil {
			a = &amountJSON{}
			modes[mode][key] = a
		}
		if above == 0 {
			a.Base = text
		} else {
			a.Tiers = append(a.Tiers, tierJSON{above, text})
		}
	}
	if a := modes[""]["input_mtok"]; a == nil || a.Base == "" {
		c.left["model without a price of input tokens"]++
		return
	}
	if a := modes[""]["output_mtok"]; modes[""]["input_mtok"].Base == "0" && (a == nil || a.Base == "0") {
		c.left["price of 0, which may be unknown"]++ // the list has it for both
		return
	}
	source, _ := m["source"].(string)
	for _, mode := range slices.Sorted(maps.Keys(modes)) {
		c.add(provider, id, cmp.Or(source, litellmPage), "LiteLLM's list, converted.", mode, c.amounts(modes[mode]))
	}
}

type amountJSON struct {
	Base  string     `json:"base"`
	Tiers []tierJSON `json:"tiers"`
}

type tierJSON struct {
	Above int64  `json:"above"`
	Price string `json:"price"`
}

// amounts are the rates of a mode. A tier without a price below it is left out.
func (c *converter) amounts(all map[string]*amountJSON) map[string]any {
	rates := map[string]any{}
	for key, a := range all {
		slices.SortFunc(a.Tiers, func(a, b tierJSON) int { return cmp.Compare(a.Above, b.Above) })
		switch {
		case a.Base == "":
			c.left["tier without a price below it"]++
		case a.Tiers == nil:
			rates[key] = a.Base
		default:
			rates[key] = a
		}
	}
	return rates
}

var litellmAbove = regexp.MustCompile(`_above_(\d{1,6})k_tokens`)

// litellmField is the rate that a field of LiteLLM's has, in which mode and above how many
// tokens of input; "" for one that is none here.
func litellmField(field string) (key, mode string, above int64) {
	for end, name := range litellmModes {
		if base, ok := strings.CutSuffix(field, end); ok {
			field, mode = base, name
		}
	}
	if m := litellmAbove.FindStringSubmatch(field); m != nil {
		field = strings.Replace(field, m[0], "", 1)
		above, _ = strconv.ParseInt(m[1], 10, 64) // it has six digits at most
		above *= thousand
	}
	return litellmRates[field], mode, above
}
