package bedrock

import (
	"path"
	"strings"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// format maps Converse's name to a media type.
type format struct{ word, mime string }

// The formats of the API reference; a name decodes to its first media type.
var (
	imageFormats = []format{
		{"png", "image/png"},
		{"jpeg", "image/jpeg"},
		{"jpeg", "image/jpg"},
		{"gif", "image/gif"},
		{"webp", "image/webp"},
	}
	audioFormats = []format{
		{"mp3", "audio/mpeg"},
		{"mp3", "audio/mp3"},
		{"wav", "audio/wav"},
		{"wav", "audio/x-wav"},
		{"wav", "audio/wave"},
		{"flac", "audio/flac"},
		{"flac", "audio/x-flac"},
		{"ogg", "audio/ogg"},
		{"opus", "audio/opus"},
		{"aac", "audio/aac"},
		{"mp4", "audio/mp4"},
		{"m4a", "audio/x-m4a"},
		{"m4a", "audio/m4a"},
		{"mka", "audio/x-matroska"},
		{"pcm", "audio/pcm"},
		{"mpeg", "audio/mpeg"},
		{"mpga", "audio/mpeg"},
		{"x-aac", "audio/x-aac"},
		{"mkv", "video/x-matroska"},
	}
	documentFormats = []format{
		{"pdf", "application/pdf"},
		{"txt", "text/plain"},
		{"md", "text/markdown"},
		{"csv", "text/csv"},
		{"html", "text/html"},
		{"doc", "application/msword"},
		{"docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
		{"xls", "application/vnd.ms-excel"},
		{"xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
	}
)

func mimeOf(list []format, word string) string {
	for _, f := range list {
		if f.word == word {
			return f.mime
		}
	}
	return ""
}

func wordOf(list []format, mime string) string {
	mime, _, _ = strings.Cut(strings.ToLower(mime), ";")
	for _, f := range list {
		if f.mime == strings.TrimSpace(mime) {
			return f.word
		}
	}
	return ""
}

// DocumentType returns the media type of a document by Converse's name; empty for an unknown one.
func DocumentType(word string) string { return mimeOf(documentFormats, word) }

// decodeMedia reads an image or a sound; it returns no part for one without content. If the tree does not model all of
// it, the original stays next to it.
func decodeMedia(name string, v []byte) (p llm.Part) {
	var format string
	media, exact := &llm.Media{}, true
	for m := range rawjson.Members(v) {
		switch string(m.Key()) {
		case "format":
			format = rawjson.Text(m.Value)
		case "source":
			kind, source, _ := OnlyMember(m.Value)
			switch kind {
			case "bytes":
				media.Data = rawjson.Text(source)
			case "s3Location":
				media.FileID = rawjson.Text(rawjson.Get(source, "uri"))
				exact = exact && !rawjson.Present(rawjson.Get(source, "bucketOwner"))
			}
		default:
			exact = exact && !rawjson.Present(m.Value)
		}
	}
	if media.Data == "" && media.FileID == "" {
		return p
	}
	p.Kind, p.Media, media.MIME = llm.PartImage, media, mimeOf(imageFormats, format)
	if name == "audio" {
		p.Kind, media.MIME, media.Format = llm.PartAudio, mimeOf(audioFormats, format), format
	}
	if !exact || media.MIME == "" || media.FileID != "" && !strings.HasPrefix(media.FileID, s3Scheme) {
		p.Extra = []llm.Field{{Name: name, Value: v}}
	}
	return p
}

const s3Scheme = "s3://"

// imageWord returns Converse's name of an image's type, recognized by the start of its base64 data if it is not given;
// empty for an unsupported one.
func imageWord(m *llm.Media) string {
	if m.MIME != "" {
		return wordOf(imageFormats, m.MIME)
	}
	for _, magic := range []format{{"png", "iVBOR"}, {"jpeg", "/9j/"}, {"gif", "R0lG"}, {"webp", "UklG"}} {
		if strings.HasPrefix(m.Data, magic.mime) {
			return magic.word
		}
	}
	return wordOfName(imageFormats, address(m))
}

// wordOfName returns a format by the ending of a file's name.
func wordOfName(list []format, name string) string {
	ending := strings.TrimPrefix(strings.ToLower(path.Ext(name)), ".")
	switch ending {
	case "jpg":
		ending = "jpeg"
	case "htm":
		ending = "html"
	}
	if ending == "" || mimeOf(list, ending) == "" {
		return ""
	}
	return ending
}

// audioWord returns Converse's name of a sound's type; empty for an unsupported one.
func audioWord(m *llm.Media) string {
	if mimeOf(audioFormats, m.Format) != "" {
		return m.Format
	}
	if word := wordOf(audioFormats, m.MIME); word != "" {
		return word
	}
	return wordOfName(audioFormats, address(m))
}

// documentWord returns Converse's name of a document's type; empty for an unsupported one. All kinds of text are txt.
func documentWord(m *llm.Media) string {
	if word := wordOf(documentFormats, m.MIME); word != "" {
		return word
	}
	switch {
	case strings.HasPrefix(m.MIME, "text/"), m.MIME == "application/json", m.MIME == "application/xml":
		return "txt"
	case m.MIME != "":
		return ""
	}
	if word := wordOfName(documentFormats, m.Name); word != "" {
		return word
	}
	return wordOfName(documentFormats, address(m))
}

// maxName bounds a document's name, in characters.
const maxName = 200

// documentName returns a name that Converse accepts: letters, digits, hyphens, brackets and single spaces. Other
// characters become hyphens, and the ending is removed, because the format names it.
func documentName(name string) string {
	name = strings.TrimSuffix(name, path.Ext(name))
	out := make([]rune, 0, len(name))
	for _, r := range name {
		last := rune(' ')
		if len(out) > 0 {
			last = out[len(out)-1]
		}
		switch {
		case len(out) == maxName:
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("-()[]", r):
			out = append(out, r)
		case r == ' ' || r == '\t' || r == '\n' || r == '\r':
			if last != ' ' {
				out = append(out, ' ')
			}
		case last != '-':
			out = append(out, '-')
		}
	}
	clean := strings.TrimSpace(string(out))
	if strings.Trim(clean, "- ") == "" {
		return "document"
	}
	return clean
}
