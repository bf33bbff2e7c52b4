package openai

import (
	"cmp"
	"strconv"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// maxReferences bounds the sources that the content of an answer names; further ones are ignored.
const maxReferences = 4096

// references reads up to most sources that a part of an answer's content names for the text before it, in Mistral's
// form: ids that the client's own tool assigned to its results, or pages. It returns nil for other parts
// (https://docs.mistral.ai/capabilities/citations, undated copy of 2026; tool_reference is in its OpenAPI document).
// Mistral runs no search in Chat Completions (https://docs.mistral.ai/studio/agents/agent-tools/websearch, undated
// copy).
func references(part []byte, most int) (list []llm.Source) {
	get := func(name string) string { return rawjson.Text(rawjson.Get(part, name)) }
	switch get("type") {
	case "reference":
		for _, v := range rawjson.Elements(rawjson.Get(part, "reference_ids")) {
			id := rawjson.Text(v)
			if n, ok := rawjson.AsInt(v); ok {
				id = strconv.FormatInt(n, 10)
			}
			if id != "" && len(list) < most {
				list = append(list, llm.Source{File: id})
			}
		}
	case "tool_reference":
		if s := (llm.Source{URL: get("url"), Title: get("title"), Quote: get("description")}); most > 0 &&
			cmp.Or(s.URL, s.Title) != "" {
			list = append(list, s)
		}
	}
	return list
}

// refer adds the sources that parts of a message name to the texts before them.
func refer(m *llm.Message) {
	var claims []llm.Claim
	var at span
	length := 0
	for i := range m.Parts {
		switch p := &m.Parts[i]; p.Kind {
		case llm.PartText:
			length += len(p.Text)
		case llm.PartOther:
			for _, s := range references(p.Raw, maxReferences-len(claims)) {
				at.next(length)
				claims = append(claims, llm.Claim{Start: at.begin, End: at.end, Source: s})
			}
		}
	}
	m.Cite(claims...)
}

// span is the text, in bytes, that the last named sources apply to.
type span struct{ begin, end int }

// next moves to the text up to end, if there is any after the last span.
func (s *span) next(end int) {
	if end > s.end {
		s.begin, s.end = s.end, end
	}
}

// refer appends the sources that a part of a choice's content names.
func (d *Decoder) refer(dst []llm.Event, choice int, part []byte) []llm.Event {
	list := references(part, maxReferences-d.sources.referred)
	if len(list) == 0 {
		return dst
	}
	s := &d.sources
	s.referred += len(list)
	if s.spans == nil {
		s.spans = map[int]*span{}
	}
	if s.spans[choice] == nil {
		s.spans[choice] = &span{}
	}
	at := s.spans[choice]
	at.next(d.texts.Of(choice).Bytes())
	for i := range list {
		dst = append(dst, llm.Event{Kind: llm.EventClaim, Choice: choice, Claim: &llm.Claim{
			Start: at.begin, End: at.end, Source: list[i],
		}})
	}
	return dst
}
