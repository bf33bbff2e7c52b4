package parse

import (
	"strings"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// contentTypes are the words for a part's type, in all wire formats: what one of them says
// for one kind, no other says for another.
var contentTypes = map[string]llm.PartKind{
	"image_url": llm.PartImage, "input_image": llm.PartImage, "image": llm.PartImage,
	"file": llm.PartDocument, "input_file": llm.PartDocument, "document": llm.PartDocument,
	"input_audio": llm.PartAudio,
}

// Needs is what a request for an answer asks of a model, read from its bytes in one pass. It
// is a guess, by which targets are passed over that others can stand in for: no more than
// the words of wire formats are looked at.
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

// addContent adds what the messages of a request need.
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

// asksSchema says whether the options of an answer have a schema that it is to keep to.
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

// MediaKind is the kind of a part by its media type; 0 for one that the vocabulary has no
// word for, such as a video.
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
