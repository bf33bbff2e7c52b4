package pricing

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/llm"
)

// Converted is a third-party price list as a price file.
type Converted struct {
	File   []byte
	Models int
	// Left counts the omitted items, by kind.
	Left map[string]int
	// Twice lists models with two different prices in the list. The file contains the later one.
	Twice []string
}

// These are the addresses of the lists that Convert reads.
const (
	litellmPage    = "https://github.com/BerriAI/litellm/blob/main/model_prices_and_context_window.json"
	openrouterPage = "https://openrouter.ai/api/v1/models"
	modelsdevPage  = "https://models.dev/api.json"
	genaiPage      = "https://github.com/pydantic/genai-prices/blob/main/prices/data.json"
)

// errNoList is the error for a text in none of the list formats.
var errNoList = errors.New("the format of the list is unknown: give LiteLLM's model_prices_and_context_window.json, " +
	"OpenRouter's answer to /api/v1/models, models.dev's api.json, or prices/data.json of genai-prices")

// Convert converts LiteLLM's model_prices_and_context_window.json, OpenRouter's answer to /api/v1/models, models.dev's
// api.json or prices/data.json of genai-prices into a price file. Day is the day of the list, YYYY-MM-DD. Prices
// without a class here are omitted, so that they stay unknown. The file is marked as assumed unless own reports that
// the list is the operator's.
func Convert(text []byte, day string, own bool) (*Converted, error) {
	if len(text) > MaxFile {
		return nil, fmt.Errorf("the list is longer than %d MiB", MaxFile>>20)
	}
	book, err := NewBook(Overrides{})
	if err != nil {
		return nil, err
	}
	c := &converter{
		day: day, own: own, left: map[string]int{}, book: book, last: map[string]string{}, added: map[string]bool{},
	}
	return c.read(text)
}

// read reads a list in any of the formats.
func (c *converter) read(text []byte) (*Converted, error) {
	if trimmed := bytes.TrimSpace(text); len(trimmed) > 0 && trimmed[0] == '[' {
		var vendors []genaiVendor
		if err := json.Unmarshal(text, &vendors); err != nil {
			return nil, fmt.Errorf("%w: %w", errNoList, err)
		}
		return c.genai(vendors)
	}
	var list struct {
		Data []openrouterModel `json:"data"`
	}
	if err := json.Unmarshal(text, &list); err == nil && len(list.Data) > 0 {
		return c.openrouter(list.Data)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return nil, fmt.Errorf("%w: %w", errNoList, err)
	}
	for _, raw := range members {
		var one struct {
			Models map[string]json.RawMessage `json:"models"`
		}
		if json.Unmarshal(raw, &one) == nil && one.Models != nil {
			return c.modelsdev(members)
		}
	}
	return c.litellm(members)
}

// converter collects entries.
type converter struct {
	day     string
	own     bool
	entries []entryJSON
	left    map[string]int
	last    map[string]string // rates of each model in each mode, as JSON
	added   map[string]bool   // models that an entry has added because the data lacks them
	twice   []string
	book    *Book // built from the embedded data
}

// entryJSON is an entry of a price file.
type entryJSON struct {
	Provider string         `json:"provider"`
	Models   []string       `json:"models"`
	Adds     map[string]any `json:"adds,omitempty"`
	Mode     string         `json:"mode,omitempty"`
	Times    string         `json:"times,omitempty"`
	Rates    map[string]any `json:"rates,omitempty"`
	Since    string         `json:"since,omitempty"`
	When     []any          `json:"when,omitempty"`
	Source   string         `json:"source"`
	Seen     string         `json:"seen,omitempty"`
	Note     string         `json:"note"`
}

// amountJSON is a price with tiers.
type amountJSON struct {
	Base  string     `json:"base"`
	Tiers []tierJSON `json:"tiers"`
}

type tierJSON struct {
	Above int64  `json:"above"`
	Price string `json:"price"`
}

// offer is a model of a list. Its prices are keyed by mode, with the empty name for the usual mode, and by their names
// in a price file.
type offer struct {
	provider, id, source, note string

	adds  map[string]any // the rule of a model that the data lacks; nil to match only its name
	modes map[string]map[string]*amountJSON
	times map[string]string // modes that multiply the usual price
	since string
	when  []any
	free  bool // the list says 0 only for free items and omits unknown prices
	short bool // a higher price, such as for longer requests, could not be read
}

// rate returns the price with that key in a mode, and adds it if absent.
func (o *offer) rate(mode, key string) *amountJSON {
	if o.modes == nil {
		o.modes = map[string]map[string]*amountJSON{}
	}
	if o.modes[mode] == nil {
		o.modes[mode] = map[string]*amountJSON{}
	}
	if o.modes[mode][key] == nil {
		o.modes[mode][key] = &amountJSON{}
	}
	return o.modes[mode][key]
}

// set sets a price: above an input of that many tokens, or in general if above is 0.
func (o *offer) set(mode, key string, above int64, price string) {
	a := o.rate(mode, key)
	if above == 0 {
		a.Base = price
		return
	}
	a.Tiers = append(a.Tiers, tierJSON{above, price})
}

// has reports whether the embedded data has a model with that id at the provider.
func (c *converter) has(provider, id string) bool {
	v := c.book.vendor(c.book.source(provider))
	return v != nil && slices.ContainsFunc(v.Models, func(m model) bool { return m.ID == id })
}

// sells adds a model in all its modes, the usual one first. It omits a mode that prices tokens without the tiers of the
// usual mode, because its price above them is unknown.
func (c *converter) sells(o *offer) {
	usual := c.amounts(o.modes[""])
	switch {
	case len(usual) == 0:
		c.left["model without a price that has a place"]++
		return
	case o.short:
		c.left["model with a tier that cannot be read"]++
		return
	case !c.own && c.isFlat(o, usual):
		c.left["model without a tier of the price that is known"]++
		return
	case !o.free && isNothing(usual): // such lists use 0 for free and for unknown
		c.left["price of 0, which may be unknown"]++
		return
	}
	c.add(o, entryJSON{Rates: usual})
	for _, mode := range slices.Sorted(maps.Keys(o.modes)) {
		switch rates := c.amounts(o.modes[mode]); {
		case mode == "" || len(rates) == 0:
		case lacksTiers(usual, rates):
			c.left[mode+" without the tiers of the usual price"]++
		default:
			c.add(o, entryJSON{Mode: mode, Rates: rates})
		}
	}
	for _, mode := range slices.Sorted(maps.Keys(o.times)) {
		c.add(o, entryJSON{Mode: mode, Times: o.times[mode]})
	}
}

// isNothing reports whether all rates except those of tools are 0.
func isNothing(rates map[string]any) bool {
	for key, v := range rates {
		if v != "0" && !units[key].class.IsTool() {
			return false
		}
	}
	return true
}

// isFlat reports whether longer requests would be cheaper by the list than by the data, which has a tier for them. The
// list may omit the tier.
func (c *converter) isFlat(o *offer, usual map[string]any) bool {
	day, err := time.Parse(time.DateOnly, cmp.Or(c.day, c.book.Day()))
	p := c.book.Price(o.provider, o.id, day)
	if err != nil || p.Basis == llm.BasisFamily {
		return false
	}
	for key, v := range usual {
		class := units[key].class
		price, ok := v.(string)
		rate, err := pico(price, units[key].per)
		if ok && err == nil && isTokenKey(key) && slices.ContainsFunc(p.Tiers, func(t llm.Tier) bool {
			return t.Rates[class].Pico() > max(rate, p.Rates[class].Pico())
		}) {
			return true
		}
	}
	return false
}

// lacksTiers reports whether a mode's rates price tokens without the tiers of the usual mode, or with other boundaries.
func lacksTiers(usual, rates map[string]any) bool {
	for key, v := range usual {
		a, tiered := v.(*amountJSON)
		if _, has := rates[key]; !tiered || !isTokenKey(key) || !has {
			continue
		}
		b, ok := rates[key].(*amountJSON)
		if !ok {
			return true
		}
		for _, t := range a.Tiers {
			if !slices.ContainsFunc(b.Tiers, func(other tierJSON) bool { return other.Above == t.Above }) {
				return true
			}
		}
	}
	return false
}

// amounts returns the rates of a mode. It omits a tier without a base price.
func (c *converter) amounts(all map[string]*amountJSON) map[string]any {
	rates := map[string]any{}
	for key, a := range all {
		slices.SortStableFunc(a.Tiers, func(a, b tierJSON) int { return cmp.Compare(a.Above, b.Above) })
		a.Tiers = slices.CompactFunc(a.Tiers, func(a, b tierJSON) bool { return a.Above == b.Above })
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

// add adds an entry about a model. If the list contains a model twice in the same mode, the later one wins.
func (c *converter) add(o *offer, e entryJSON) {
	e.Provider, e.Models, e.Source, e.Seen, e.Note = o.provider, []string{o.id}, o.source, c.day, o.note
	e.Since, e.When = o.since, o.when
	said, _ := json.Marshal([]any{e.Times, e.Rates}) // never fails for strings and maps of them
	name := e.Provider + "/" + o.id
	when, _ := json.Marshal([]any{name, e.Mode, e.Since, e.When})
	switch was, again := c.last[string(when)]; {
	case again && was == string(said):
		return
	case again && !slices.Contains(c.twice, name):
		c.twice = append(c.twice, name)
	}
	c.last[string(when)] = string(said)
	if e.Mode == "" && !c.added[name] && c.book.source(o.provider) != "" && !c.has(o.provider, o.id) {
		if e.Adds = o.adds; e.Adds == nil {
			e.Adds = map[string]any{"equals": fold(o.id)}
		}
		c.added[name] = true
	}
	c.entries = append(c.entries, e)
}

// file writes the entries, one per line.
func (c *converter) file(about string) (*Converted, error) {
	if len(c.entries) == 0 {
		return nil, errors.New("the list has no model with a usable price")
	}
	slices.SortStableFunc(c.entries, func(a, b entryJSON) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Models[0], b.Models[0]))
	})
	var out bytes.Buffer
	w := json.NewEncoder(&out)
	w.SetEscapeHTML(false)
	fmt.Fprintf(&out, "{\n\"about\": %q,\n", about)
	if !c.own {
		out.WriteString("\"assumed\": true,\n")
	}
	out.WriteString("\"entries\": [\n")
	models := map[string]bool{}
	for i := range c.entries {
		if i > 0 {
			out.Truncate(out.Len() - 1)
			out.WriteString(",\n")
		}
		if err := w.Encode(c.entries[i]); err != nil {
			return nil, err
		}
		models[c.entries[i].Provider+"/"+c.entries[i].Models[0]] = true
	}
	out.WriteString("]\n}\n")
	return &Converted{File: out.Bytes(), Models: len(models), Left: c.left, Twice: c.twice}, nil
}

// usd multiplies a decimal price in US dollars by times; empty unless the price is from 0 to a thousand dollars.
func usd(price string, times int64) string {
	const least, most = 1e-15, 1e3
	about, err := strconv.ParseFloat(price, 64)
	switch {
	case err != nil || about < 0 || about > most || len(price) > maxWord:
		return ""
	case about < least:
		return "0"
	}
	v, ok := new(big.Rat).SetString(price) // the checks above bound its exponent
	if !ok {
		return ""
	}
	s := v.Mul(v, big.NewRat(times, 1)).FloatString(9)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// isZero reports whether a text is a price of 0.
func isZero(price string) bool { return usd(price, 1) == "0" }
