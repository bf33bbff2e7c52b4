package report

import (
	"weir/internal/audit"
	"weir/internal/llm"
)

func (c *focusCharge) sku() string { return audit.PlainCell(c.of.FullModel() + ":" + c.class) }

// mode is the way of serving by which a price was chosen; empty for the usual one.
func (c *focusCharge) mode() string {
	if c.priced && c.of.Price.Modes != nil {
		return c.of.Tier
	}
	return ""
}

// skuPrice says which of a SKU's prices holds, by what is not an amount.
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

// skuDetails are what is so of all charges at a price. All properties are our own, those of tokens with the names and
// values that the draft of FOCUS 1.5 gives them.
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

// direction says whether tokens went in or came out; null for what is no tokens.
func (c *focusCharge) direction() string {
	switch {
	case !c.priced || c.unit != llm.Input.Unit():
		return ""
	case c.counted.IsInput():
		return "Input"
	}
	return "Output"
}

// cacheAction says what a cache did for tokens that went in. They are "Uncached" where the price has cached ones apart.
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

// region is where a provider serves that has an address for each region; null for others.
func (c *focusCharge) region() string { return c.of.Region }
