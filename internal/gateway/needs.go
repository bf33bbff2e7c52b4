package gateway

import (
	"slices"

	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/route"
)

// narrow leaves out the targets that cannot take the request, unless none can:
// then it is the first one's to say so.
func (c *call) narrow() {
	if len(c.targets) < 2 {
		return
	}
	if c.op.Op != llm.OpChat {
		c.narrowTo(func(t route.Target) bool { return c.offers(&t) })
		return
	}
	needs := parse.Needs(c.body)
	needs.MaxOutput = c.head.MaxOutput
	c.narrowTo(func(t route.Target) bool { return c.table.Suits(&t, &needs) })
}

// narrowTo leaves out the targets that do not suit, unless none does.
func (c *call) narrowTo(suits func(route.Target) bool) {
	if slices.ContainsFunc(c.targets, suits) {
		c.targets = slices.DeleteFunc(c.targets, func(t route.Target) bool { return !suits(t) })
	}
}

// offers reports whether the target can be asked for what is asked for.
func (c *call) offers(t *route.Target) bool {
	to := c.spoken(t)
	return to == c.op || to != nil && to.EncodeRequest != nil && c.op.DecodeRequest != nil
}
