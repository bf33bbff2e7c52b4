package report

import (
	"weir/internal/audit"
	"weir/internal/llm"
)

func (c *focusCharge) sku() string { return audit.PlainCell(c.of.FullModel() + ":" + c.class) }

// mode returns the serving mode that selected the price; empty for the usual one.
func (c *focusCharge) mode() string {
	if c.priced && c.of.Price.Modes != nil {
		return c.of.Tier
	}
	return ""
}

// skuPrice identifies a price of a SKU by its tier and mode.
func (c *focusCharge) skuPrice() string {
	id := c.sku()
	if c.above > 0 {
		id += ":above-" + count(c.above)
	}
	if mode := c.mode(); mode != "" {
		id += ":" + mode
	}
	return id
}

// skuDetails returns the properties that all charges at a price share. All properties are custom; those of tokens have
// the names and values of the draft of FOCUS 1.5.
func (c *focusCharge) skuDetails() string {
	details := []llm.Tag{{Name: "x_ModelId", Value: c.of.Model}}
	for _, t := range []llm.Tag{
		{Name: "x_TokenDirection", Value: c.direction()},
		{Name: "x_TokenCacheAction", Value: c.cacheAction()},
		{Name: "x_ServingMode", Value: c.mode()},
	} {
		if t.Value != "" {
			details = append(details, t)
		}
	}
	if c.above > 0 {
		details = append(details, llm.Tag{Name: "x_AboveInputTokens", Value: count(c.above)})
	}
	return tagsObject(details)
}

// direction returns whether tokens are input or output; null for other units.
func (c *focusCharge) direction() string {
	switch {
	case !c.priced || c.unit != llm.Input.Unit():
		return ""
	case c.counted.IsInput():
		return "Input"
	}
	return "Output"
}

// cacheAction returns the cache's action on input tokens. It is "Uncached" if the price distinguishes cached tokens.
func (c *focusCharge) cacheAction() string {
	if c.direction() != "Input" {
		return ""
	}
	switch c.counted {
	case llm.CacheRead, llm.CacheReadAudio:
		return "Read"
	case llm.CacheWrite, llm.CacheWrite1h:
		return "Write"
	}
	if c.of.Price.Rates[llm.CacheRead].Known() {
		return "Uncached"
	}
	return ""
}

// region returns the provider's region if its address names one; null otherwise.
func (c *focusCharge) region() string { return c.of.Region }
