package anthropic

import "weir/internal/llm"

// cut splits a text where claims of another vendor begin and end, because a citation of this format covers a whole
// block.
func cut(p *llm.Part, known *llm.Called) []llm.Part {
	pieces := p.Cut()
	for i := range pieces {
		piece := &pieces[i]
		for _, c := range piece.Claims() {
			s := known.Known(&c.Source)
			piece.Annotations = appendElement(piece.Annotations, &s)
		}
		if piece.Annotations != nil {
			piece.Annotations = append(piece.Annotations, ']')
		}
	}
	return pieces
}

func appendElement(dst []byte, s *llm.Source) []byte {
	if dst == nil {
		return appendCitation([]byte{'['}, s)
	}
	return appendCitation(append(dst, ','), s)
}

// claim writes a citation of the open text. The next text begins a block of its own, because it is another claim.
func (e *Encoder) claim(dst []byte, c *llm.Claim) []byte {
	dst = e.block(dst, llm.PartText, `{"type":"text","text":""}`)
	e.cited = true
	dst = append(e.openDelta(dst, e.blocks-1), `{"type":"citations_delta","citation":`...)
	s := e.called.Known(&c.Source)
	return append(appendCitation(dst, &s), "}}\n\n"...)
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
