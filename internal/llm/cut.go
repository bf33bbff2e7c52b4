package llm

import (
	"cmp"
	"slices"
)

const (
	// maxClaims bounds the claims of a text that is cut into pieces.
	maxClaims = 1024
	// maxRepeated bounds, in bytes, the claims that span several pieces and are repeated with each. Further ones go
	// only with their last piece.
	maxRepeated = 1 << 20
	// claimSize is the size of a claim without its texts, in bytes.
	claimSize = 128
)

// Cut cuts a text at the starts and ends of its claims, for wire formats whose citations cover a whole block. Each
// piece has the claims that cover all of it.
func (p *Part) Cut() []Part {
	claims := slices.Clone(p.Claims())
	claims = claims[:min(len(claims), maxClaims)]
	slices.SortStableFunc(claims, func(a, b Claim) int { return cmp.Compare(a.Start, b.Start) })
	var pieces []Part
	room := maxRepeated
	from := 0
	var open []*Claim
	for _, to := range cuts(claims, len(p.Text)) {
		for len(claims) > 0 && (claims[0].Start < to || claims[0].Start == claims[0].End && claims[0].End <= to) {
			open = append(open, &claims[0])
			claims = claims[1:]
		}
		piece := Part{Kind: PartText, Text: p.Text[from:to]}
		for _, c := range open {
			if c.End > to {
				if room -= claimSize + c.Source.Size(); room < 0 {
					continue
				}
			}
			piece.Cite(Claim{End: to - from, Source: c.Source})
		}
		open = slices.DeleteFunc(open, func(c *Claim) bool { return c.End <= to })
		pieces = append(pieces, piece)
		from = to
	}
	last := &pieces[len(pieces)-1]
	last.Signature, last.Maker = p.Signature, p.Maker
	return pieces
}

// cuts returns the end of each piece of a text of that length; the last is its length.
func cuts(claims []Claim, length int) []int {
	ends := []int{length}
	for i := range claims {
		ends = append(ends, claims[i].Start, claims[i].End)
	}
	slices.Sort(ends)
	ends = slices.Compact(ends)
	return slices.DeleteFunc(ends, func(end int) bool { return end <= 0 || end > length })
}
