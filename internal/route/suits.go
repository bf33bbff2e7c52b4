package route

import (
	"weir/internal/llm"
	"weir/internal/pricing"
)

// bytesPerToken is how many bytes of text a token has at least, in nearly any
// language: what is longer by this measure does not fit for certain.
const bytesPerToken = 6

// Suits reports whether the target may be able to take the request: nobody
// says that it cannot.
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
