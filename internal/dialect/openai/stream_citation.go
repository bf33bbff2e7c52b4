package openai

import (
	"slices"

	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

const (
	// maxWaiting bounds the citations of a stream that wait for their text.
	maxWaiting = 4096
	// maxSourceBytes bounds the stored searches and citations of a stream.
	maxSourceBytes = 4 << 20
)

// sources holds the searches and sources of a stream that later pieces need.
type sources struct {
	executed map[int]*executed // of the choices
	waiting  []llm.Event       // claims before any text
	kept     int               // bytes stored so far
	spans    map[int]*span     // texts of the choices that have sources
	referred int               // number of sources
}

// cite appends the citations of a delta. A citation before any text, as OpenRouter sends those of its search, applies
// to the whole text and is reported at its end.
func (d *Decoder) cite(dst []llm.Event, choice int, annotations []byte) []llm.Event {
	for i, v := range rawjson.Elements(annotations) {
		if i == parse.MaxSources {
			break
		}
		c, ok := ReadCitation(v, d.texts.Of(choice), 0)
		if !ok {
			continue
		}
		d.cited = d.cited || choice == 0
		ev := llm.Event{Kind: llm.EventClaim, Choice: choice, Claim: &c}
		if d.texts.Of(choice).Bytes() > 0 {
			dst = append(dst, ev)
		} else if s, size := &d.sources, c.Source.Size(); len(s.waiting) < maxWaiting && s.kept+size <= maxSourceBytes {
			s.waiting = append(s.waiting, ev)
			s.kept += size
		}
	}
	return dst
}

// citeAll appends the citations of an ending choice that arrived before its text.
func (d *Decoder) citeAll(dst []llm.Event, choice int) []llm.Event {
	end := d.texts.Of(choice).Bytes()
	isOf := func(ev llm.Event) bool { return ev.Choice == choice }
	for _, ev := range d.sources.waiting {
		if isOf(ev) {
			ev.Claim.Start, ev.Claim.End = end, end
			dst = append(dst, ev)
		}
	}
	d.sources.waiting = slices.DeleteFunc(d.sources.waiting, isOf)
	return dst
}
