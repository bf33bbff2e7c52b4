package route

import (
	"weir/internal/llm"
	"weir/internal/pricing"
)

// bytesPerToken is the least number of bytes of text in a token, in nearly any language: a text that is too long by
// this measure is too long for certain.
const bytesPerToken = 6

// Suits reports whether the target may be able to serve the request, which is so unless its model is known to lack an
// ability.
func (t *Table) Suits(target *Target, n *llm.Needs) bool {
	info, _ := t.book.Model(target.Provider.Name(), target.Model)
	can := &info.Abilities
	for _, a := range []struct {
		needed bool
		able   pricing.Ability
	}{
		{n.Images, can.Images},
		{n.Documents, can.Documents},
		{n.Audio, can.Audio},
		{n.Tools, can.Tools},
		{n.Structured, can.Structured},
	} {
		if a.needed && a.able == pricing.No {
			return false
		}
	}
	return info.Context == 0 || n.Text/bytesPerToken+n.MaxOutput <= info.Context
}
