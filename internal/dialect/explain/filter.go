package explain

import (
	"strings"

	"weir/internal/rawjson"
)

const (
	maxCategories = 16 // of a content filter
	maxWord       = 32 // bytes of a category or a severity
)

// filterResult reads the verdicts of Azure's content filter on a request, by category, from an error: from its
// innererror, or in Responses from the first of its content_filters. It encodes only the verdicts, because details
// have names of the operator's own lists. It returns nil for none.
// https://learn.microsoft.com/en-us/azure/ai-foundry/openai/concepts/content-filter (undated copy).
func filterResult(v []byte) []byte {
	found := rawjson.Get(v, "innererror", "content_filter_result")
	for _, first := range rawjson.Elements(rawjson.Get(v, "content_filters")) {
		found = rawjson.Get(first, "content_filter_results")
		break
	}
	var out []byte
	n := 0
	for m := range rawjson.Members(found) {
		verdict := verdictOf(m.Value)
		if verdict == nil || !isWord(m.Name()) || n == maxCategories {
			continue
		}
		n++
		out = rawjson.AppendMember(out, m.Name(), verdict)
	}
	return closed(out)
}

// verdictOf reads a filter's verdict on one category; nil for none.
func verdictOf(v []byte) (out []byte) {
	for m := range rawjson.Members(v) {
		switch name := m.Name(); name {
		case "filtered", "detected":
			if _, is := rawjson.AsBool(m.Value); is {
				out = rawjson.AppendMember(out, name, m.Value)
			}
		case "severity":
			if isWord(rawjson.Text(m.Value)) {
				out = rawjson.AppendMember(out, name, m.Value)
			}
		}
	}
	return closed(out)
}

// closed closes an object; nil stays nil.
func closed(object []byte) []byte {
	if object == nil {
		return nil
	}
	return append(object, '}')
}

// isWord reports whether a text is a short word of lower-case letters and underscores.
func isWord(s string) bool {
	return s != "" && len(s) <= maxWord && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz_") == ""
}
