package compose

import (
	"encoding/base64"
	"slices"
	"strings"
	"unicode/utf8"

	"weir/internal/llm"
)

// Detail returns the detail of an image in the words that OpenAI's chats have, and names one that only its other API has.
func (w *Writer) Detail(detail string) string {
	switch detail {
	case "", "auto", "low", "high":
		return detail
	}
	w.Drop("detail")
	return ""
}

// TextOf returns the text of a document that is text, behind its name; false for another, and for what is no UTF-8.
func TextOf(m *llm.Media) (text string, ok bool) {
	if m == nil || m.Data == "" || !strings.HasPrefix(m.MIME, "text/") {
		return "", false
	}
	data, err := base64.StdEncoding.DecodeString(m.Data)
	if err != nil || !utf8.Valid(data) {
		return "", false
	}
	if m.Name != "" {
		return m.Name + "\n\n" + string(data), true
	}
	return string(data), true
}

// Texts returns the parts with documents that are text as texts.
func Texts(parts []llm.Part) []llm.Part {
	changed := false
	for i := range parts {
		if parts[i].Kind != llm.PartDocument {
			continue
		}
		text, ok := TextOf(parts[i].Media)
		if !ok {
			continue
		}
		if !changed {
			parts, changed = slices.Clone(parts), true
		}
		parts[i].Kind, parts[i].Text, parts[i].Media = llm.PartText, text, nil
	}
	return parts
}
