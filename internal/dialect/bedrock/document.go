package bedrock

import (
	"cmp"
	"slices"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// cites reports whether the model can cite documents: only Claude can
// (https://platform.claude.com/docs/en/build-with-claude/citations, undated copy), except in an answer with a schema
// (https://platform.claude.com/docs/en/build-with-claude/structured-outputs, undated copy).
func cites(r *llm.Request) bool {
	return isClaude(r.Model) && r.Format.IsText()
}

// hasCited reports whether a message has a document that the answer must cite.
func hasCited(m llm.Message) bool {
	return slices.ContainsFunc(m.Parts, func(p llm.Part) bool { return p.IsCited() })
}

// searchResult writes a result of the client's own search.
func (e *messageEncoder) searchResult(m *llm.Media) {
	d := m.Document
	e.Dst = rawjson.AppendString(append(e.Dst, `{"searchResult":{"source":`...), d.Source)
	e.Inner("title", cmp.Or(m.Name, d.Source))
	e.Dst = appendChunks(append(e.Dst, `,"content":`...), d.Chunks)
	if d.Cited {
		e.InnerRaw("citations", []byte(`{"enabled":true}`))
	}
	e.Dst = append(e.Dst, "}}"...)
}

func appendChunks(dst []byte, list []string) []byte {
	dst = append(dst, '[')
	for _, text := range list {
		dst = rawjson.AppendComma(dst)
		dst = append(rawjson.AppendString(append(dst, `{"text":`...), text), '}')
	}
	return append(dst, ']')
}

// describe writes the client's description of a document.
func (e *messageEncoder) describe(d *llm.Document) {
	if d == nil {
		return
	}
	if d.Context != "" {
		e.Inner("context", d.Context)
	}
	if d.Cited {
		e.InnerRaw("citations", []byte(`{"enabled":true}`))
	}
}
