package anthropic

import (
	"cmp"
	"slices"

	"weir/internal/llm"
)

const (
	// maxClaims bounds the claims of a text that become citations.
	maxClaims = 1024
	// maxRepeated bounds, in bytes, what is said again of claims of a text that go over several blocks. Further ones are said
	// of their last block alone.
	maxRepeated = 1 << 20
)

// citationSize is what a citation takes beside its texts, in bytes.
const citationSize = 128

// cut cuts a text where claims of another vendor begin and end: in this format a citation is of a whole block.
func cut(p *llm.Part) []llm.Part {
	claims := slices.Clone(p.Claims())
	claims = claims[:min(len(claims), maxClaims)]
	slices.SortStableFunc(claims, func(a, b llm.Claim) int { return cmp.Compare(a.Start, b.Start) })
	var pieces []llm.Part
	room := maxRepeated
	from := 0
	var open []*llm.Claim
	for _, to := range cuts(claims, len(p.Text)) {
		for len(claims) > 0 && (claims[0].Start < to || claims[0].Start == claims[0].End && claims[0].End <= to) {
			open = append(open, &claims[0])
			claims = claims[1:]
		}
		piece := llm.Part{Kind: llm.PartText, Text: p.Text[from:to]}
		for _, c := range open {
			if c.End > to {
				if room -= citationSize + c.Source.Size(); room < 0 {
					continue
				}
			}
			piece.Annotations = appendElement(piece.Annotations, &c.Source)
		}
		if piece.Annotations != nil {
			piece.Annotations = append(piece.Annotations, ']')
		}
		open = slices.DeleteFunc(open, func(c *llm.Claim) bool { return c.End <= to })
		pieces = append(pieces, piece)
		from = to
	}
	last := &pieces[len(pieces)-1]
	last.Signature, last.Maker = p.Signature, p.Maker
	return pieces
}

// cuts are the ends of the blocks of a text of that length, the last of them its own.
func cuts(claims []llm.Claim, length int) []int {
	ends := []int{length}
	for i := range claims {
		ends = append(ends, claims[i].Start, claims[i].End)
	}
	slices.Sort(ends)
	ends = slices.Compact(ends)
	return slices.DeleteFunc(ends, func(end int) bool { return end <= 0 || end > length })
}

func appendElement(dst []byte, s *llm.Source) []byte {
	if dst == nil {
		return appendCitation([]byte{'['}, s)
	}
	return appendCitation(append(dst, ','), s)
}

// claim writes a citation of the text that is open. The text that follows begins a block of its own: it is another claim.
func (e *Encoder) claim(dst []byte, c *llm.Claim) []byte {
	dst = e.block(dst, llm.PartText, `{"type":"text","text":""}`)
	e.cited = true
	dst = append(e.openDelta(dst, e.blocks-1), `{"type":"citations_delta","citation":`...)
	return append(appendCitation(dst, &c.Source), "}}\n\n"...)
}

// search writes the blocks of a search.
func (e *Encoder) search(dst []byte, s *llm.Search) []byte {
	for i, query := range queriesOf(s) {
		id := searchID(e.id, e.searched, i)
		dst = e.openBlock(dst, llm.PartOther)
		dst = append(appendSearchUse(dst, id, nil), "}\n\n"...)
		dst = e.piece(dst, e.blocks-1, `{"type":"input_json_delta","partial_json":`, string(appendQuery(nil, query)))
		dst = e.openBlock(dst, llm.PartOther)
		dst = e.stop(append(appendSearchResult(dst, id, s, resultsAt(s, i)), "}\n\n"...))
	}
	e.searched++
	return dst
}
