package gemini

import (
	"cmp"
	"strings"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// media writes the member of an image, a sound or a document: inline, or by a URL, which may be any on the web
// (https://ai.google.dev/gemini-api/docs/file-input-methods).
func (e *messageEncoder) media(p *llm.Part, param string) {
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
		e.Refuse(param+".content", "Only the provider that stored a file can read it by its id. Send the "+
			"data or a URL instead.")
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

// isOwnFile reports whether an id is the URL of a file stored by Google.
func isOwnFile(id string) bool {
	return strings.HasPrefix(id, ownFiles) || strings.HasPrefix(id, "gs://")
}

// mimeOf returns the media type of inline data. It guesses a missing one from the kind.
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

// mediaInside writes the media of a function's result within it, as models since the third generation support.
func (e *messageEncoder) mediaInside(r *llm.ToolResult, param string) {
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

// mediaBeside writes the media of functions' results as parts of the message, after the others, for older models.
func (e *messageEncoder) mediaBeside(parts []llm.Part, param string) {
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

func (e *messageEncoder) resultPart(p *llm.Part, param string) {
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
		e.Refuse(param+".content", "The provider of this model cannot carry a part of a tool's result. Leave "+
			"it out or choose another model.")
	}
}

// appendMedia writes the member of an image, a sound or a document of an answer, and reports whether it has any
// content.
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
