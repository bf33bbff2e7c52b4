package gemini

import (
	"cmp"
	"strings"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// media writes the member of an image, a sound or a document: inline, or by
// address, which may be any on the web
// (https://ai.google.dev/gemini-api/docs/file-input-methods).
func (e *requestEncoder) media(p *llm.Part, param string) {
	m := p.Media
	if m == nil {
		m = &llm.Media{}
	}
	address := m.URL
	switch {
	case m.Data != "" || e.Own && address == "" && m.FileID == "":
		e.Dst = append(e.Dst, `"inlineData":{`...)
		e.Inner("mimeType", mimeOf(p))
		e.Inner("data", m.Data)
	case address != "" || e.Own || isOwnFile(m.FileID):
		e.Dst = append(e.Dst, `"fileData":{`...)
		if mime := cmp.Or(m.MIME, mimeByName(address)); mime != "" && (!e.Own || m.MIME != "") {
			e.Inner("mimeType", mime)
		}
		e.Inner("fileUri", cmp.Or(address, m.FileID))
	default:
		e.Refuse(param+".content", "A file by its id can be read by the provider alone that gave the id. Send the "+
			"data or an address instead.")
		return
	}
	if e.Own && m.Name != "" {
		e.Inner("displayName", m.Name)
	} else if m.Name != "" {
		e.Drop("filename")
	}
	if m.Detail != "" && m.Detail != "auto" {
		e.Drop("detail")
	}
	e.Dst = append(e.Dst, '}')
}

// isOwnFile reports whether an id is the address of a file that Google keeps.
func isOwnFile(id string) bool {
	return strings.HasPrefix(id, ownFiles) || strings.HasPrefix(id, "gs://")
}

// mimeOf is the media type of inline data. What no client told is guessed from
// the kind.
func mimeOf(p *llm.Part) string {
	switch m := p.Media; {
	case m.MIME != "":
		return m.MIME
	case p.Kind == llm.PartAudio:
		return soundMIME(m.Format)
	case p.Kind == llm.PartImage:
		return "image/png"
	default:
		return cmp.Or(mimeByName(m.Name), mimePDF)
	}
}

// mediaInside writes the images and the like that a function gave back, as
// models since the third generation take them.
func (e *requestEncoder) mediaInside(r *llm.ToolResult, param string) {
	if !e.Own && !e.modern {
		return
	}
	begun := false
	for i := range r.Parts {
		p := &r.Parts[i]
		if p.Kind == llm.PartText {
			continue
		}
		if !begun {
			begun = true
			e.Name("parts")
			e.Dst = append(e.Dst, '[')
		}
		e.resultPart(p, param)
	}
	if begun {
		e.Dst = append(e.Dst, ']')
	}
}

// mediaBeside writes what results of functions show as parts of the turn, behind the others, for older models.
func (e *requestEncoder) mediaBeside(parts []llm.Part, param string) {
	if e.Own || e.modern {
		return
	}
	for i := range parts {
		if !isResult(parts[i]) {
			continue
		}
		for j := range parts[i].Result.Parts {
			if p := &parts[i].Result.Parts[j]; p.Kind != llm.PartText {
				e.resultPart(p, param)
			}
		}
	}
}

func (e *requestEncoder) resultPart(p *llm.Part, param string) {
	e.Element()
	switch {
	case p.Media != nil:
		e.Dst = append(e.Dst, '{')
		e.media(p, param)
		e.marks(p)
		e.Dst = append(e.Dst, '}')
	case e.Own && p.Raw != nil:
		e.Dst = append(e.Dst, p.Raw...)
	default:
		e.Refuse(param+".content", "The provider of this model has no way to carry a part of a tool's result. Leave "+
			"it out or choose another model.")
	}
}

// appendMedia writes the member of an image, a sound or a document of an
// answer, and reports whether there is anything to show.
func appendMedia(dst []byte, p *llm.Part) ([]byte, bool) {
	m := p.Media
	switch {
	case m == nil:
		return dst, false
	case m.Data != "":
		dst = rawjson.AppendString(append(dst, `"inlineData":{"mimeType":`...), mimeOf(p))
		dst = rawjson.AppendString(append(dst, `,"data":`...), m.Data)
	case m.URL != "" || m.FileID != "":
		dst = rawjson.AppendString(append(dst, `"fileData":{"mimeType":`...), cmp.Or(m.MIME, mimeByName(m.URL)))
		dst = rawjson.AppendString(append(dst, `,"fileUri":`...), cmp.Or(m.URL, m.FileID))
	default:
		return dst, false
	}
	return append(dst, '}'), true
}
