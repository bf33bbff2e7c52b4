package gemini

import (
	"strconv"

	"weir/internal/dialect/proof"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Splice appends to dst a body of this format with an output cap where one is
// to be put in and the client gave none. The model and the wish for a stream stand in the path, and every
// stream has its usage, so nothing else changes, but that what other vendors'
// models thought is left out, and that calls which they made have Google's word for them. The head is that of Scan.
func Splice(dst, body []byte, h *llm.Head, s llm.Splice, _ *llm.Quirks) []byte {
	body = signed(proof.Strip(body, "contents", withoutForeign), s.Model)
	if s.MaxOutput <= 0 || h.MaxOutput > 0 {
		return append(dst, body...)
	}
	limit := strconv.AppendInt(nil, s.MaxOutput, 10)
	for m := range rawjson.Members(body) {
		if string(spelled(m.Key())) == "generationConfig" {
			return rawjson.Splice(dst, body, capConfig(m, limit))
		}
	}
	text := append(append([]byte(`"generationConfig":{"maxOutputTokens":`), limit...), '}')
	if !h.Empty {
		text = append(text, ',')
	}
	return rawjson.Splice(dst, body, rawjson.Edit{Start: h.Open, End: h.Open, Text: text})
}

// withoutForeign is a content without the thoughts of another vendor's model.
func withoutForeign(content []byte) []byte {
	return proof.EditMember(content, "parts", func(part []byte) []byte {
		if _, ok := proof.OpenBase64(standardBase64(rawjson.Text(get(part, "thoughtSignature")))); ok {
			return nil
		}
		return part
	})
}

// capConfig puts the cap into a generationConfig, which may be null.
func capConfig(config rawjson.Member, limit []byte) rawjson.Edit {
	if rawjson.KindOf(config.Value) != rawjson.Object {
		text := append(append([]byte(`{"maxOutputTokens":`), limit...), '}')
		return rawjson.Edit{Start: config.Start, End: config.Start + len(config.Value), Text: text}
	}
	name := "maxOutputTokens"
	for m := range rawjson.Members(config.Value) {
		if string(spelled(m.Key())) == name {
			name = m.Name()
			break
		}
	}
	e := rawjson.Set(config.Value, name, limit)
	e.Start += config.Start
	e.End += config.Start
	return e
}
