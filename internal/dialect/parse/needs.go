package parse

import (
	"strings"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// contentTypes maps the types of parts in all wire formats to kinds. No type means different kinds in two formats.
var contentTypes = map[string]llm.PartKind{
	"image_url": llm.PartImage, "input_image": llm.PartImage, "image": llm.PartImage,
	"file": llm.PartDocument, "input_file": llm.PartDocument, "document": llm.PartDocument,
	"input_audio": llm.PartAudio,
}

// Needs estimates the abilities that a request requires of a model, in one pass over its body. The result only
// decides between targets that can replace each other, so it considers only the fields of wire formats.
func Needs(body []byte) (n llm.Needs) {
	for m := range rawjson.Members(body) {
		switch string(m.Key()) {
		case "tools", "functions":
			n.Tools = n.Tools || rawjson.HasElement(m.Value)
		case "messages", "input", "contents", "system", "instructions":
			addContent(&n, m.Value)
		case "response_format", "text", "output_format", "output_config", "generationConfig", "generation_config":
			n.Structured = n.Structured || asksSchema(m.Value)
		}
	}
	return n
}

// addContent adds the requirements of a request's messages.
func addContent(n *llm.Needs, v []byte) {
	for m := range rawjson.Scalars(v) {
		if rawjson.KindOf(m.Value) != rawjson.String {
			continue
		}
		var kind llm.PartKind
		switch string(m.Key()) {
		case "", "text", "content", "prompt", "output":
			n.Text += int64(len(m.Value))
		case "type":
			kind = contentTypes[rawjson.Text(m.Value)]
		case "mimeType", "mime_type":
			kind = MediaKind(rawjson.Text(m.Value))
		}
		switch kind {
		case llm.PartImage:
			n.Images = true
		case llm.PartDocument:
			n.Documents = true
		case llm.PartAudio:
			n.Audio = true
		}
	}
}

// asksSchema reports whether the options of an answer have a schema.
func asksSchema(options []byte) bool {
	for m := range rawjson.Members(options) {
		switch name := string(m.Key()); {
		case name == "type" && rawjson.Text(m.Value) == string(llm.FormatSchema):
			return true
		case name == "format" && rawjson.Text(rawjson.Get(m.Value, "type")) == string(llm.FormatSchema):
			return true
		case strings.HasPrefix(name, "response") && strings.HasSuffix(strings.ToLower(name), "schema"):
			return true
		}
	}
	return false
}

// MediaKind returns the kind of part for a media type; 0 for a type without a kind, such as a video.
func MediaKind(mime string) llm.PartKind {
	class, _, _ := strings.Cut(mime, "/")
	switch class {
	case "image":
		return llm.PartImage
	case "audio":
		return llm.PartAudio
	case "application", "text":
		return llm.PartDocument
	}
	return 0
}
