package openai

import (
	"slices"

	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// maxWaiting bounds the citations of a stream that are kept until their text is there.
const maxWaiting = 4096

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
		} else if size := c.Source.Size(); len(d.waiting) < maxWaiting && d.kept+size <= maxExecutedBytes {
			d.waiting = append(d.waiting, ev)
			d.kept += size
		}
	}
	return dst
}

// citeAll appends the citations of a choice, which ends, that came before its text.
func (d *Decoder) citeAll(dst []llm.Event, choice int) []llm.Event {
	end := d.texts.Of(choice).Bytes()
	isOf := func(ev llm.Event) bool { return ev.Choice == choice }
	for _, ev := range d.waiting {
		if isOf(ev) {
			ev.Claim.Start, ev.Claim.End = end, end
			dst = append(dst, ev)
		}
	}
	d.waiting = slices.DeleteFunc(d.waiting, isOf)
	return dst
}
