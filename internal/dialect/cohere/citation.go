package cohere

import (
	"slices"

	"weir/internal/dialect/parse"
	"weir/internal/dialect/position"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// maxDocuments bounds the number of a document.
const maxDocuments = 10_000

// readClaims returns the claims of a citation, one for each source and at most as given, of a text with places that
// count from character from (https://docs.cohere.com/docs/rag-citations.md, undated copy). Citations of thinking and of
// plans have no text.
func readClaims(v []byte, text *position.Text, from, most int) (claims []llm.Claim) {
	switch rawjson.Text(rawjson.Get(v, "type")) {
	case "", "TEXT_CONTENT":
	default:
		return nil
	}
	at := func(name string) int {
		n, _ := rawjson.AsInt(rawjson.Get(v, name))
		return text.ToBytes(from + int(max(0, min(n, int64(text.Characters())))))
	}
	start, end := at("start"), at("end")
	for _, s := range parse.Sources(rawjson.Get(v, "sources"), most, readSource) {
		claims = append(claims, llm.Claim{Start: start, End: max(start, end), Source: s})
	}
	return claims
}

// readSource reads a source: a document of the request, or the result of a tool.
func readSource(v []byte) llm.Source {
	document := rawjson.Get(v, "document")
	if !rawjson.Present(document) {
		document = rawjson.Get(v, "tool_output")
	}
	in := func(name string) string { return rawjson.Text(rawjson.Get(document, name)) }
	s := llm.Source{URL: in("url"), Title: in("title"), Quote: in("text"), File: rawjson.Text(rawjson.Get(v, "id"))}
	if s.Quote == "" {
		s.Quote = in("snippet")
	}
	identify(&s)
	return s
}

// cite puts the citations, which name their content themselves, on the first text, and reports whether there was one.
func cite(parts []llm.Part, citations []byte) bool {
	first := slices.IndexFunc(parts, isText)
	if first >= 0 {
		parts[first].Annotations = citations
	}
	return first >= 0
}

func isText(p llm.Part) bool { return p.Kind == llm.PartText }

// claim assigns the claims of an answer to their texts.
func claim(parts []llm.Part) {
	first := slices.IndexFunc(parts, isText)
	if first < 0 {
		return
	}
	citations := parts[first].Annotations
	texts, left := map[int]*position.Text{}, parse.MaxSources
	for _, v := range rawjson.Elements(citations) {
		i := first
		if n, ok := rawjson.AsInt(rawjson.Get(v, "content_index")); ok && n >= 0 && n < int64(len(parts)) &&
			parts[n].Kind == llm.PartText {
			i = int(n)
		}
		if texts[i] == nil {
			texts[i] = &position.Text{}
			texts[i].Add(parts[i].Text)
		}
		claims := readClaims(v, texts[i], 0, left)
		parts[i].Cite(claims...)
		left -= len(claims)
	}
}

// citation appends a citation of a stream, with the index of its content.
func (d *Decoder) citation(dst []llm.Event, v []byte) []llm.Event {
	if !rawjson.Present(v) {
		return dst
	}
	dst = append(dst, llm.Event{Kind: llm.EventOther, Raw: v, RawOf: Name})
	index, _ := rawjson.AsInt(rawjson.Get(v, "content_index"))
	for _, c := range readClaims(v, &d.text, d.begins[index], parse.MaxSources) {
		dst = append(dst, llm.Event{Kind: llm.EventClaim, Claim: &c, RawOf: Name})
	}
	return dst
}

// words records the text of a piece of the content of that index.
func (d *Decoder) words(events []llm.Event, index int64) {
	if _, begun := d.begins[index]; !begun && len(d.begins) < maxCalls {
		if d.begins == nil {
			d.begins = map[int64]int{}
		}
		d.begins[index] = d.text.Characters()
	}
	for i := range events {
		if events[i].Kind == llm.EventText {
			d.text.Add(events[i].Text)
		}
	}
}
