package responses

import (
	"weir/internal/dialect/compose"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// The types of texts, by their author.
const (
	inputText  = "input_text"
	outputText = "output_text"
)

func usualText(role llm.Role) string {
	if role == llm.RoleAssistant {
		return outputText
	}
	return inputText
}

// decodeContent reads the parts of a content.
func decodeContent(v []byte, usual, param string) ([]llm.Part, error) {
	part := func(v []byte) (llm.Part, bool) { return decodePart(v, usual) }
	return parse.Content{Piece: "part", Text: usual, Part: part}.Append(nil, v, param)
}

// decodePart reads a content part; a part of an unknown type is stored unchanged. It reports false if the value is not
// a part.
func decodePart(v []byte, usual string) (p llm.Part, ok bool) {
	kind := rawjson.Text(rawjson.Get(v, "type"))
	switch kind {
	case "":
		return p, false
	case inputText, outputText, "text":
		p, ok = decodeWords(v, llm.PartText, "text")
		if kind != usual {
			p.Extra = append(p.Extra, llm.Field{Name: "type", Value: rawjson.Get(v, "type")})
		}
		return p, ok
	case "refusal":
		return decodeWords(v, llm.PartRefusal, "refusal")
	case "input_image":
		p, ok = decodeMedia(v, llm.PartImage)
	case "input_file":
		p, ok = decodeMedia(v, llm.PartDocument)
	}
	if !ok {
		p = llm.Part{Kind: llm.PartOther, Raw: v, Extra: []llm.Field{{Name: markContent, Value: []byte("true")}}}
	}
	return p, true
}

// decodeWords reads a part with its text in the member of that name.
func decodeWords(v []byte, kind llm.PartKind, name string) (llm.Part, bool) {
	p, ok := llm.Part{Kind: kind}, false
	for m := range rawjson.Members(v) {
		switch {
		case m.Is("type"):
		case m.Is(name):
			p.Text, ok = rawjson.AsString(m.Value)
		case m.Is("annotations"):
			if rawjson.Present(m.Value) {
				p.Annotations = m.Value
			}
		case m.Is(compose.Breakpoint) && compose.IsBreakpoint(m.Value):
			p.CacheControl = m.Value
		default:
			p.Extra = parse.Extra(p.Extra, m)
		}
	}
	return p, ok
}

// decodeMedia reads an image or a file. It reports false for undocumented forms.
func decodeMedia(v []byte, kind llm.PartKind) (llm.Part, bool) {
	p, ok := llm.Part{Kind: kind, Media: &llm.Media{}}, true
	for m := range rawjson.Members(v) {
		if !rawjson.Present(m.Value) || m.Is("type") {
			continue
		}
		if place := mediaField(p.Media, kind, m.Key()); place != nil {
			var isText bool
			*place, isText = rawjson.AsString(m.Value)
			ok = ok && isText
		} else if m.Is(compose.Breakpoint) && compose.IsBreakpoint(m.Value) {
			p.CacheControl = m.Value
		} else {
			p.Extra = append(p.Extra, llm.Field{Name: m.Name(), Value: m.Value})
		}
	}
	inline := &p.Media.Data
	if kind == llm.PartImage || *inline == "" { // a file's URL may be a data URL, too
		inline = &p.Media.URL
	}
	if mime, data, is := parse.CutDataURL(*inline); is && data != "" {
		*inline = ""
		p.Media.MIME, p.Media.Data = mime, data
	}
	return p, ok
}

// mediaField returns the field of the tree for a member, or nil.
func mediaField(m *llm.Media, kind llm.PartKind, key []byte) *string {
	switch string(key) {
	case "file_id":
		return &m.FileID
	case "detail":
		return &m.Detail
	}
	if kind == llm.PartImage {
		if string(key) == "image_url" {
			return &m.URL
		}
		return nil
	}
	switch string(key) {
	case "file_url":
		return &m.URL
	case "file_data":
		return &m.Data
	case "filename":
		return &m.Name
	}
	return nil
}
