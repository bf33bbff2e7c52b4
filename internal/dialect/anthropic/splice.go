package anthropic

import (
	"bytes"
	"slices"
	"strconv"

	"weir/internal/dialect/compose"
	"weir/internal/dialect/proof"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Splice appends to dst a body of this format with the provider's model name, and an output cap if s sets one and the
// body has none. All other bytes stay, except top-level fields that the provider names otherwise or refuses, and
// thinking of other vendors' models. The head is that of Scan.
func Splice(dst, body []byte, h *llm.Head, s llm.Splice, q *llm.Quirks) []byte {
	span, open, empty := h.ModelSpan, h.Open, h.Empty
	stripped := proof.Strip(body, "messages", withoutForeign)
	if hasSourceMark(stripped) {
		if without := proof.EditMember(stripped, "messages", messageWithoutSources); without != nil {
			stripped = without
		}
	}
	if len(stripped) != len(body) {
		body = stripped
		span = compose.Find(body, "model")
	}
	if q != nil && quirky(body, q) {
		body = rawjson.Rewrite(body, q.NameOf)
		span, open, empty = compose.Find(body, "model"), 1, len(body) == len("{}")
	}
	edits := make([]rawjson.Edit, 0, 3)
	var front []byte // members written before the others
	model := rawjson.AppendString(nil, s.Model)
	if span.Present() {
		edits = append(edits, compose.Replace(span, model))
	} else {
		front = append(append(append(front, `"model":`...), model...), ',')
	}
	if s.MaxOutput > 0 && !rawjson.Present(rawjson.Get(body, capField)) { // 0 is a cap, too
		limit := strconv.AppendInt(nil, s.MaxOutput, 10)
		if span := compose.Find(body, capField); span.Present() {
			edits = append(edits, compose.Replace(span, limit))
		} else {
			front = append(rawjson.AppendString(front, capField), ':')
			front = append(append(front, limit...), ',')
		}
	}
	if empty {
		front = bytes.TrimSuffix(front, []byte{','})
	}
	if len(front) > 0 {
		edits = append(edits, rawjson.Edit{Start: open, End: open, Text: front})
	}
	slices.SortFunc(edits, func(a, b rawjson.Edit) int { return a.Start - b.Start })
	return rawjson.Splice(dst, body, edits...)
}

// capField is the output cap.
const capField = "max_tokens"

// withoutForeign returns a message without thinking of another vendor's model.
func withoutForeign(message []byte) []byte {
	return proof.EditMember(message, "content", func(block []byte) []byte {
		if proof.IsSealed(rawjson.Text(rawjson.Get(block, "signature"))) ||
			proof.IsSealed(rawjson.Text(rawjson.Get(block, "data"))) {
			return nil
		}
		return block
	})
}

// quirky reports whether the provider needs another form of the body.
func quirky(body []byte, q *llm.Quirks) bool {
	if len(q.Rename) == 0 && len(q.Drop) == 0 {
		return false
	}
	for m := range rawjson.Members(body) {
		if name := m.Name(); q.NameOf(name) != name {
			return true
		}
	}
	return false
}
