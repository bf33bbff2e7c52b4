package responses

import (
	"maps"
	"strconv"

	"weir/internal/dialect/openai"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Splice appends to dst a body of this format with the provider's model name,
// and an output cap where one is to be put in. Every other byte stays, but for
// top-level fields that the provider calls by another name or refuses. The head
// is that of Scan.
func Splice(dst, body []byte, h *llm.Head, s llm.Splice, q *llm.Quirks) []byte {
	model := llm.Splice{Model: s.Model} // the usage of a stream comes unasked
	if s.MaxOutput <= 0 {
		return openai.Splice(dst, body, h, model, renamed(q))
	}
	body = openai.Splice(nil, body, h, model, renamed(q))
	limit := strconv.AppendInt(nil, s.MaxOutput, 10)
	return rawjson.Splice(dst, body, rawjson.Set(body, capField(q), limit))
}

// renamed are the quirks with the output cap's other name among the others,
// since its usual one is not that of Chat Completions.
func renamed(q *llm.Quirks) *llm.Quirks {
	if q == nil || q.MaxOutputField == "" {
		return q
	}
	other := *q
	other.MaxOutputField = ""
	other.Rename = maps.Clone(q.Rename)
	if other.Rename == nil {
		other.Rename = map[string]string{}
	}
	other.Rename[outputCap] = q.MaxOutputField
	return &other
}

func capField(q *llm.Quirks) string {
	if q != nil && q.MaxOutputField != "" {
		return q.MaxOutputField
	}
	return outputCap
}

// Stamp appends to dst a reply, or the data of one stream event, with the cost
// in its usage object and, after more than one attempt, what was tried. Without
// a usage object the bytes stay as they are.
func Stamp(dst, data []byte, f *llm.Final) []byte {
	for m := range rawjson.Members(data) {
		if m.Is("response") && rawjson.KindOf(m.Value) == rawjson.Object {
			dst = append(dst, data[:m.Start]...)
			dst = openai.Stamp(dst, m.Value, f)
			return append(dst, data[m.Start+len(m.Value):]...)
		}
	}
	return openai.Stamp(dst, data, f)
}
