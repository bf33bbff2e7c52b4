package llm

import (
	"encoding/base64"
	"slices"
	"strings"
	"unicode/utf8"
)

// Text returns the content of a text document; false for other documents and for invalid UTF-8.
func (m *Media) Text() (text string, ok bool) {
	if m == nil || m.Data == "" || !strings.HasPrefix(m.MIME, "text/") {
		return "", false
	}
	data, err := base64.StdEncoding.DecodeString(m.Data)
	if err != nil || !utf8.Valid(data) {
		return "", false
	}
	return string(data), true
}

// textOf returns the text of a document after its name; false if the client set further options for it.
func textOf(m *Media) (text string, ok bool) {
	if m != nil && m.Document != nil {
		return "", false
	}
	if text, ok = m.Text(); ok && m.Name != "" {
		text = m.Name + "\n\n" + text
	}
	return text, ok
}

// Texts returns the parts with text documents converted to texts.
func Texts(parts []Part) []Part {
	changed := false
	for i := range parts {
		if parts[i].Kind != PartDocument {
			continue
		}
		text, ok := textOf(parts[i].Media)
		if !ok {
			continue
		}
		if !changed {
			parts, changed = slices.Clone(parts), true
		}
		parts[i].Kind, parts[i].Text, parts[i].Media = PartText, text, nil
	}
	return parts
}
