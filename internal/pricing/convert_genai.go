package pricing

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// genaiVendor is a provider of genai-prices
// (https://github.com/pydantic/genai-prices/blob/main/prices/data.schema.json).
type genaiVendor struct {
	ID     string       `json:"id"`
	URLs   []string     `json:"pricing_urls"`
	Models []genaiModel `json:"models"`
}

type genaiModel struct {
	ID     string          `json:"id"`
	Match  json.RawMessage `json:"match"`
	Prices json.RawMessage `json:"prices"`
}

// genaiPrice is a price with its condition.
type genaiPrice struct {
	Constraint *struct {
		StartDate string `json:"start_date"`
		StartTime string `json:"start_time"`
		EndTime   string `json:"end_time"`
	} `json:"constraint"`
	Prices map[string]json.RawMessage `json:"prices"`
}

func (c *converter) genai(vendors []genaiVendor) (*Converted, error) {
	for i := range vendors {
		v := &vendors[i]
		if _, known := c.book.index.Vendors[v.ID]; !known {
			c.left["model of another provider"] += len(v.Models)
			continue
		}
		source := genaiPage
		if len(v.URLs) > 0 {
			source = v.URLs[0]
		}
		for j := range v.Models {
			c.genaiModel(v.ID, source, &v.Models[j])
		}
	}
	return c.file("Converted from prices/data.json of genai-prices of " + c.day + ".")
}

// genaiModel adds a model with all its prices and their conditions.
func (c *converter) genaiModel(provider, source string, m *genaiModel) {
	prices := []genaiPrice{{}}
	if json.Unmarshal(m.Prices, &prices) != nil && json.Unmarshal(m.Prices, &prices[0].Prices) != nil {
		c.left["model whose prices cannot be read"]++
		return
	}
	adds, ok := ruleOf(m.Match)
	if !ok && !c.has(provider, m.ID) {
		c.left["model whose rule of names cannot be read"]++
		return
	}
	if ok && !matchesRule(adds, m.ID) {
		adds = map[string]any{"or": []any{adds, map[string]any{"equals": fold(m.ID)}}}
	}
	all := make([]offer, len(prices))
	for i := range prices {
		o := &all[i]
		*o = offer{provider: provider, id: m.ID, source: source, note: "genai-prices' list, converted.", adds: adds}
		if !o.holds(&prices[i]) {
			c.left["model with a price on a condition that is not known"]++
			return
		}
		for _, name := range slices.Sorted(maps.Keys(prices[i].Prices)) {
			c.genaiAmount(o, name, prices[i].Prices[name])
		}
		all[0].short = all[0].short || o.short || i > 0 && len(o.modes[""]) == 0
	}
	for i := range all { // they alternate, so all are omitted or none
		all[i].short = all[0].short
		c.sells(&all[i])
	}
}

// holds sets the condition of a price, and reports whether the condition is supported.
func (o *offer) holds(p *genaiPrice) bool {
	k := p.Constraint
	switch {
	case k == nil:
		return true
	case k.StartDate != "" && k.StartTime == "" && k.EndTime == "":
		o.since = k.StartDate
		return isDate(k.StartDate)
	}
	from, err := time.Parse("15:04:05Z07:00", k.StartTime)
	to, e := time.Parse("15:04:05Z07:00", k.EndTime)
	begins, ends := from.UTC().Format(time.TimeOnly), to.UTC().Format(time.TimeOnly)
	if err != nil || e != nil || k.StartDate != "" || begins == ends {
		return false
	}
	o.when = []any{map[string]string{"from": begins, "to": ends}}
	return true
}

// genaiAmount adds one price, which may have tiers.
func (c *converter) genaiAmount(o *offer, name string, raw json.RawMessage) {
	var amount struct {
		Base  json.Number `json:"base"`
		Tiers []struct {
			Start int64       `json:"start"`
			Price json.Number `json:"price"`
		} `json:"tiers"`
	}
	if len(raw) > 0 && bytes.TrimSpace(raw)[0] == '{' {
		if json.Unmarshal(raw, &amount) != nil {
			c.left["prices."+name]++
			return
		}
	} else if json.Unmarshal(raw, &amount.Base) != nil {
		c.left["prices."+name]++
		return
	}
	u, known := units[name]
	base := usd(amount.Base.String(), 1)
	if !known || u.uncounted || base == "" {
		c.left["prices."+name]++
		return
	}
	o.set("", name, 0, base)
	for _, t := range amount.Tiers {
		if text := usd(t.Price.String(), 1); text != "" && t.Start > 0 && t.Start <= maxAbove {
			o.set("", name, t.Start, text)
		} else {
			c.left["prices."+name+": a tier"]++
			o.short = true
		}
	}
}

// matchesRule reports whether a rule of a file matches a name.
func matchesRule(of map[string]any, name string) bool {
	text, _ := json.Marshal(of) // never fails for strings and lists of them
	var r rule
	return json.Unmarshal(text, &r) == nil && r.matches(fold(name))
}

// ruleOf converts a rule about names into the form of a price file; false if that is impossible.
func ruleOf(raw json.RawMessage) (map[string]any, bool) {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil || len(m) != 1 {
		return nil, false
	}
	for kind, v := range m {
		switch kind {
		case "or", "and":
			var list []json.RawMessage
			if json.Unmarshal(v, &list) != nil || len(list) == 0 {
				return nil, false
			}
			all := make([]any, 0, len(list))
			for _, item := range list {
				r, ok := ruleOf(item)
				if !ok {
					return nil, false
				}
				all = append(all, r)
			}
			return map[string]any{kind: all}, true
		case "equals", "starts_with", "ends_with", "contains":
			var text string
			ok := json.Unmarshal(v, &text) == nil && fold(text) != "" && text == strings.TrimSpace(text)
			return map[string]any{kind: fold(text)}, ok
		case "regex":
			var text string
			if json.Unmarshal(v, &text) != nil || text == "" {
				return nil, false
			}
			_, err := regexp.Compile(text)
			return map[string]any{kind: text}, err == nil
		}
	}
	return nil, false
}
