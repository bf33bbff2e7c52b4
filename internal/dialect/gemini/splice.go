package gemini

import (
	"strconv"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Splice appends to dst a body of this format with an output cap where one is
// to be put in. The model and the wish for a stream stand in the path, and every
// stream has its usage, so nothing else changes. The head is that of Scan.
func Splice(dst, body []byte, h *llm.Head, s llm.Splice, _ *llm.Quirks) []byte {
	if s.MaxOutput <= 0 {
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
