package openai

import (
	"slices"

	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

const (
	// maxWaiting bounds the citations of a stream that are kept until their text is there.
	maxWaiting = 4096
	// maxSourceBytes bounds the searches and citations of a stream that are kept.
	maxSourceBytes = 4 << 20
)

// sources holds the searches and sources that a stream has named so far, as far as later pieces need them.
type sources struct {
	executed map[int]*executed // searches of choices
	waiting  []llm.Event       // claims that came before there was a text
	kept     int               // bytes of all that were kept so far
	spans    map[int]*span     // of the texts of choices, that sources were named for
	referred int               // sources of these
}

// cite appends the citations of a delta. One that comes before there is a text, as OpenRouter has those of its search, is of
// the whole text, and told once that is there.
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

// citeAll appends the citations of a choice, which ends, that came before its text.
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
