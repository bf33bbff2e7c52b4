package gemini

import (
	"strconv"

	"weir/internal/dialect/proof"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Splice appends to dst a body of this format with an output cap if s sets one and the client sent none. The model and
// the stream flag are in the path, and every stream reports its usage. Splice also removes thinking of other vendors'
// models, and marks their calls with Google's placeholder for a signature. The head is that of Scan.
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

// withoutForeign returns a content without thinking of another vendor's model.
func withoutForeign(content []byte) []byte {
	return proof.EditMember(content, "parts", func(part []byte) []byte {
		if _, ok := proof.OpenBase64(standardBase64(rawjson.Text(get(part, "thoughtSignature")))); ok {
			return nil
		}
		return part
	})
}

// capConfig sets the cap in a generationConfig, which may be null.
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
