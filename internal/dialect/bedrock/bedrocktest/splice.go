package bedrocktest

import (
	"bytes"
	"slices"
	"strconv"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Splice appends to dst a body of this format with an output cap if s sets one and the client sent none. All other
// bytes stay, except top-level fields that the provider refuses: the model and the operation are in the path. The head
// is that of Scan.
func Splice(dst, body []byte, h *llm.Head, s llm.Splice, q *llm.Quirks) []byte {
	given := h.MaxOutput > 0
	if q != nil && len(q.Drop) > 0 {
		body = without(body, q.Drop)
		h = &llm.Head{Open: bytes.IndexByte(body, '{') + 1, Empty: isEmpty(body)}
	}
	if s.MaxOutput <= 0 || given {
		return append(dst, body...)
	}
	return rawjson.Splice(dst, body, capOutput(body, h, s.MaxOutput))
}

// capOutput returns the edit that sets an output cap.
func capOutput(body []byte, h *llm.Head, n int64) rawjson.Edit {
	limit := strconv.AppendInt(nil, n, 10)
	alone := append(append([]byte(`{"maxTokens":`), limit...), '}')
	for m := range rawjson.Members(body) {
		if !m.Is("inferenceConfig") {
			continue
		}
		if rawjson.KindOf(m.Value) != rawjson.Object {
			return rawjson.Edit{Start: m.Start, End: m.Start + len(m.Value), Text: alone}
		}
		e := rawjson.Set(m.Value, "maxTokens", limit)
		e.Start += m.Start
		e.End += m.Start
		return e
	}
	front := append([]byte(`"inferenceConfig":`), alone...)
	if !h.Empty {
		front = append(front, ',')
	}
	return rawjson.Edit{Start: h.Open, End: h.Open, Text: front}
}

// without returns the body without the members of these names; the body itself if it has none of them.
func without(body []byte, names []string) []byte {
	drop := func(m rawjson.Member) bool { return slices.Contains(names, m.Name()) }
	some := false
	for m := range rawjson.Members(body) {
		some = some || drop(m)
	}
	if !some {
		return body
	}
	out := append(make([]byte, 0, len(body)), '{')
	for m := range rawjson.Members(body) {
		if !drop(m) {
			out = rawjson.AppendMember(out, m.Name(), m.Value)
		}
	}
	return append(out, '}')
}

func isEmpty(obj []byte) bool {
	for range rawjson.Members(obj) {
		return false
	}
	return true
}
