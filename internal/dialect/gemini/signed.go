package gemini

import (
	"bytes"

	"weir/internal/dialect/proof"
	"weir/internal/rawjson"
)

// noSignatureJSON is noSignature as it stands in a body.
var noSignatureJSON = []byte(`"` + noSignature + `"`)

// signed is a body in which the first call of each turn has a signature, where the model asks for one: a conversation that
// another vendor's model began has none. It is body itself where all have.
func signed(body []byte, model string) []byte {
	if !isModern(model) || !bytes.Contains(body, []byte(`functionCall"`)) && !bytes.Contains(body, []byte(`function_call"`)) {
		return body
	}
	for _, content := range rawjson.Elements(rawjson.Get(body, "contents")) {
		if firstUnsigned(content) >= 0 {
			return proof.EditMember(body, "contents", sign)
		}
	}
	return body
}

// firstUnsigned is the place of the first call among the parts of a content, where it has no signature; else -1.
func firstUnsigned(content []byte) int {
	for i, part := range rawjson.Elements(rawjson.Get(content, "parts")) {
		if get(part, "functionCall") == nil {
			continue
		}
		if signature := get(part, "thoughtSignature"); rawjson.KindOf(signature) == rawjson.String && len(signature) > len(`""`) {
			return -1
		}
		return i
	}
	return -1
}

// sign is a content whose first call has a signature.
func sign(content []byte) []byte {
	i, at := -1, firstUnsigned(content)
	return proof.EditMember(content, "parts", func(part []byte) []byte {
		if i++; i != at {
			return part
		}
		return rawjson.Splice(nil, part, rawjson.Set(part, "thoughtSignature", noSignatureJSON))
	})
}
