package anthropic

import (
	"bytes"
	"slices"
	"strconv"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Splice appends to dst a body of this format with the provider's model name,
// and with an output cap where one is to be put in. Every other byte stays, but for top-level fields that the
// provider calls by another name or refuses. The head is that of Scan.
func Splice(dst, body []byte, h *llm.Head, s llm.Splice, q *llm.Quirks) []byte {
	span, open, empty := h.ModelSpan, h.Open, h.Empty
	if q != nil && quirky(body, q) {
		body = requirk(body, q)
		span, open, empty = find(body, "model"), 1, len(body) == len("{}")
	}
	edits := make([]rawjson.Edit, 0, 3)
	var front []byte // members that are put in front of the others
	model := rawjson.AppendString(nil, s.Model)
	if span.Present() {
		edits = append(edits, replace(span, model))
	} else {
		front = append(append(append(front, `"model":`...), model...), ',')
	}
	if s.MaxOutput > 0 {
		limit := strconv.AppendInt(nil, s.MaxOutput, 10)
		if span := find(body, "max_tokens"); span.Present() {
			edits = append(edits, replace(span, limit))
		} else {
			front = append(append(append(front, `"max_tokens":`...), limit...), ',')
		}
	}
	if empty {
		front = bytes.TrimSuffix(front, []byte{','})
	}
	if len(front) > 0 {
		edits = append(edits, rawjson.Edit{Start: open, End: open, Text: front})
	}
	slices.SortFunc(edits, func(a, b rawjson.Edit) int { return a.Start - b.Start })
	return rawjson.Splice(dst, body, edits...)
}

func replace(s llm.Span, text []byte) rawjson.Edit {
	return rawjson.Edit{Start: s.Start, End: s.End, Text: text}
}

// find is where the value of a top-level member stands.
func find(body []byte, name string) llm.Span {
	for m := range rawjson.Members(body) {
		if m.Is(name) {
			return llm.Span{Start: m.Start, End: m.Start + len(m.Value)}
		}
	}
	return llm.Span{}
}

// quirky reports whether the provider would stumble over the body.
func quirky(body []byte, q *llm.Quirks) bool {
	if len(q.Rename) == 0 && len(q.Drop) == 0 {
		return false
	}
	for m := range rawjson.Members(body) {
		if name := quirkOf(m, q); name != m.Name() {
			return true
		}
	}
	return false
}

// quirkOf is the member's name in the provider's words; empty leaves it out.
func quirkOf(m rawjson.Member, q *llm.Quirks) string {
	name := m.Name()
	if slices.Contains(q.Drop, name) {
		return ""
	}
	if other, ok := q.Rename[name]; ok {
		return other
	}
	return name
}

// requirk writes the body anew in the provider's words.
func requirk(body []byte, q *llm.Quirks) []byte {
	var out []byte
	for m := range rawjson.Members(body) {
		if name := quirkOf(m, q); name != "" {
			out = appendMember(out, name, m.Value)
		}
	}
	if out == nil {
		return []byte("{}")
	}
	return append(out, '}')
}
