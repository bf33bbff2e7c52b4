package ollamatest

import (
	"strconv"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Splice appends to dst a body of this format with the provider's model name and, among its options, an output cap if s
// sets one and the client sent none. All other bytes stay, except top-level fields that the provider names otherwise or
// refuses.
func Splice(dst, body []byte, h *llm.Head, s llm.Splice, q *llm.Quirks) []byte {
	if q != nil && (len(q.Rename) > 0 || len(q.Drop) > 0) {
		body = rawjson.Rewrite(body, q.NameOf)
	}
	model := rawjson.Set(body, "model", rawjson.AppendString(nil, s.Model))
	if s.MaxOutput <= 0 || h.MaxOutput > 0 {
		return rawjson.Splice(dst, body, model)
	}
	body = rawjson.Splice(nil, body, model)
	return rawjson.Splice(dst, body, limit(body, s.MaxOutput))
}

// limit returns the edit that sets the output cap in the options, which may be absent or null.
func limit(body []byte, n int64) rawjson.Edit {
	value := strconv.AppendInt(nil, n, 10)
	for m := range rawjson.Members(body) {
		if m.Is(optionsMember) && rawjson.KindOf(m.Value) == rawjson.Object {
			e := rawjson.Set(m.Value, outputCap, value)
			e.Start += m.Start
			e.End += m.Start
			return e
		}
	}
	return rawjson.Set(body, optionsMember, append(append([]byte(`{"`+outputCap+`":`), value...), '}'))
}
