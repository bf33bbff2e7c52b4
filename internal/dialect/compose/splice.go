package compose

import (
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Find is where the value of a top-level member stands.
func Find(body []byte, name string) llm.Span {
	for m := range rawjson.Members(body) {
		if m.Is(name) {
			return llm.Span{Start: m.Start, End: m.Start + len(m.Value)}
		}
	}
	return llm.Span{}
}

// Replace is the edit that puts another text in the place of a span.
func Replace(s llm.Span, text []byte) rawjson.Edit {
	return rawjson.Edit{Start: s.Start, End: s.End, Text: text}
}

// SpliceModel appends to dst a body with the provider's model name, where that
// stands in the body and nothing else is to change: it puts in no output cap, which
// a chat needs. The head is that of the body's scan.
func SpliceModel(dst, body []byte, h *llm.Head, s llm.Splice, _ *llm.Quirks) []byte {
	model := rawjson.AppendString(nil, s.Model)
	if h.ModelSpan.Present() {
		return rawjson.Splice(dst, body, Replace(h.ModelSpan, model))
	}
	return rawjson.Splice(dst, body, rawjson.Set(body, "model", model))
}
