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
	case m.Data != "" || e.own && address == "" && m.FileID == "":
		e.dst = append(e.dst, `"inlineData":{`...)
		e.str("mimeType", mimeOf(p))
		e.str("data", m.Data)
	case address != "" || e.own || isOwnFile(m.FileID):
		e.dst = append(e.dst, `"fileData":{`...)
		if mime := cmp.Or(m.MIME, mimeByName(address)); mime != "" && (!e.own || m.MIME != "") {
			e.str("mimeType", mime)
		}
		e.str("fileUri", cmp.Or(address, m.FileID))
	default:
		e.refuse(param+".content", "A file by its id can be read by the provider alone that gave the id. Send the data or an address instead.")
		return
	}
	if e.own && m.Name != "" {
		e.str("displayName", m.Name)
	} else if m.Name != "" {
		e.drop("filename")
	}
	if m.Detail != "" && m.Detail != "auto" {
		e.drop("detail")
	}
	e.dst = append(e.dst, '}')
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
	if !e.own && !e.modern {
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
			e.key("parts")
			e.dst = append(e.dst, '[')
		}
		e.resultPart(p, param)
	}
	if begun {
		e.dst = append(e.dst, ']')
	}
}

// mediaBeside writes them as parts of the turn, for older models.
func (e *requestEncoder) mediaBeside(r *llm.ToolResult, param string) {
	if e.own || e.modern {
		return
	}
	for i := range r.Parts {
		if p := &r.Parts[i]; p.Kind != llm.PartText {
			e.resultPart(p, param)
		}
	}
}

func (e *requestEncoder) resultPart(p *llm.Part, param string) {
	if e.dst[len(e.dst)-1] != '[' {
		e.dst = append(e.dst, ',')
	}
	switch {
	case p.Media != nil:
		e.dst = append(e.dst, '{')
		e.media(p, param)
		e.marks(p)
		e.dst = append(e.dst, '}')
	case e.own && p.Raw != nil:
		e.dst = append(e.dst, p.Raw...)
	default:
		e.refuse(param+".content", "The provider of this model has no way to carry a part of a tool's result. Leave it out or choose another model.")
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
