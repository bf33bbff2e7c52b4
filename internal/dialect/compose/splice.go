package compose

import (
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Find returns the position of a top-level member's value.
func Find(body []byte, name string) llm.Span {
	for m := range rawjson.Members(body) {
		if m.Is(name) {
			return llm.Span{Start: m.Start, End: m.Start + len(m.Value)}
		}
	}
	return llm.Span{}
}

// Replace returns the edit that replaces a span by a text.
func Replace(s llm.Span, text []byte) rawjson.Edit {
	return rawjson.Edit{Start: s.Start, End: s.End, Text: text}
}

// SpliceModel appends to dst a body with only the model replaced by the provider's name. It adds no output cap, which
// a chat needs. The head is that of the body's scan.
func SpliceModel(dst, body []byte, h *llm.Head, s llm.Splice, _ *llm.Quirks) []byte {
	model := rawjson.AppendString(nil, s.Model)
	if h.ModelSpan.Present() {
		return rawjson.Splice(dst, body, Replace(h.ModelSpan, model))
	}
	return rawjson.Splice(dst, body, rawjson.Set(body, "model", model))
}
