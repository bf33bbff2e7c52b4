package anthropic

import (
	"cmp"
	"slices"

	"weir/internal/dialect/compose"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// cited returns a request of another format with its documents in the vendor's form. An answer with a schema cannot
// cite documents (https://platform.claude.com/docs/en/build-with-claude/structured-outputs, undated copy).
func cited(r *llm.Request) *llm.Request {
	if r.Format.IsText() {
		return r
	}
	return compose.Uncited(r, nil)
}

// hasCited reports whether the answer must cite a part or a part of its tool result.
func hasCited(p llm.Part) bool {
	return p.IsCited() || p.Result != nil && slices.ContainsFunc(p.Result.Parts, hasCited)
}

// citesDocuments reports whether the answer must cite a document of another format's request. It then must cite all,
// because the vendor accepts no mixture (https://platform.claude.com/docs/en/build-with-claude/citations, undated
// copy).
func citesDocuments(r *llm.Request) bool {
	return r.ExtraOf != Name && slices.ContainsFunc(r.Messages, func(m llm.Message) bool {
		return slices.ContainsFunc(m.Parts, hasCited)
	})
}

// document writes a document, or a result of the client's own search, up to its marks.
func (e *messageEncoder) document(p *llm.Part) {
	d := p.Media.Document
	switch {
	case d == nil || d.Chunks == nil:
		e.Dst = append(e.Dst, `{"type":"document"`...)
		e.source(p)
	case d.Source != "":
		e.Dst = append(e.Dst, `{"type":"search_result"`...)
		e.Inner("source", d.Source)
		e.Inner("title", cmp.Or(p.Media.Name, d.Source))
		e.chunks(d.Chunks)
	default:
		e.Dst = append(e.Dst, `{"type":"document","source":{"type":"content"`...)
		e.chunks(d.Chunks)
		e.Dst = append(e.Dst, '}')
		if p.Media.Name != "" {
			e.Inner("title", p.Media.Name)
		}
	}
	if d != nil && d.Context != "" {
		e.Inner("context", d.Context)
	}
	if e.cites {
		e.InnerRaw("citations", []byte(`{"enabled":true}`))
	}
}

func (e *messageEncoder) chunks(list []string) {
	e.Dst = append(e.Dst, `,"content":[`...)
	for _, text := range list {
		e.Dst = rawjson.AppendComma(e.Dst)
		e.Dst = append(rawjson.AppendString(append(e.Dst, `{"type":"text","text":`...), text), '}')
	}
	e.Dst = append(e.Dst, ']')
}
