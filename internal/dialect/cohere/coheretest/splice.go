package coheretest

import (
	"slices"
	"strconv"

	"weir/internal/dialect/cohere"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Splice appends to dst a body of this format with the provider's model name, and an output cap if s sets one and the
// client sent none. All other bytes stay, except top-level fields that the provider names otherwise or refuses.
func Splice(dst, body []byte, h *llm.Head, s llm.Splice, q *llm.Quirks) []byte {
	if q == nil {
		q = &llm.Quirks{}
	}
	if q.MaxOutputField != "" || len(q.Rename) > 0 || len(q.Drop) > 0 {
		body = rawjson.Rewrite(body, func(name string) string {
			if slices.Contains(q.Drop, name) {
				return ""
			}
			return cohere.Renamed(name, q)
		})
	}
	model := rawjson.Set(body, cohere.Renamed("model", q), rawjson.AppendString(nil, s.Model))
	if s.MaxOutput <= 0 || h.MaxOutput > 0 {
		return rawjson.Splice(dst, body, model)
	}
	body = rawjson.Splice(nil, body, model)
	limit := rawjson.Set(body, cohere.Renamed(outputCap, q), strconv.AppendInt(nil, s.MaxOutput, 10))
	return rawjson.Splice(dst, body, limit)
}
