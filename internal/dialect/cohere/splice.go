package cohere

import (
	"slices"
	"strconv"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Splice appends to dst a body of this format with the provider's model name
// and an output cap where one is to be put in and the client gave none. Every other byte stays, but for
// top-level fields that the provider calls by another name or refuses.
func Splice(dst, body []byte, h *llm.Head, s llm.Splice, q *llm.Quirks) []byte {
	if q == nil {
		q = &llm.Quirks{}
	}
	if q.MaxOutputField != "" || len(q.Rename) > 0 || len(q.Drop) > 0 {
		body = rawjson.Rewrite(body, func(name string) string {
			if slices.Contains(q.Drop, name) {
				return ""
			}
			return renamed(name, q)
		})
	}
	model := rawjson.Set(body, renamed("model", q), rawjson.AppendString(nil, s.Model))
	if s.MaxOutput <= 0 || h.MaxOutput > 0 {
		return rawjson.Splice(dst, body, model)
	}
	body = rawjson.Splice(nil, body, model)
	limit := rawjson.Set(body, renamed(outputCap, q), strconv.AppendInt(nil, s.MaxOutput, 10))
	return rawjson.Splice(dst, body, limit)
}

// renamed is what the provider calls a field.
func renamed(name string, q *llm.Quirks) string {
	if name == outputCap && q.MaxOutputField != "" {
		return q.MaxOutputField
	}
	if other, ok := q.Rename[name]; ok {
		return other
	}
	return name
}
