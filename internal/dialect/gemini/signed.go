package gemini

import (
	"bytes"

	"weir/internal/dialect/proof"
	"weir/internal/rawjson"
)

// noSignatureJSON is noSignature as JSON.
var noSignatureJSON = []byte(`"` + noSignature + `"`)

// signed returns a body with a signature on the first call of each turn, if the model requires it: calls of another
// vendor's model have none. It returns body itself if no signature is missing.
func signed(body []byte, model string) []byte {
	if !isModern(model) || !bytes.Contains(body, []byte(`functionCall"`)) &&
		!bytes.Contains(body, []byte(`function_call"`)) {
		return body
	}
	for _, content := range rawjson.Elements(rawjson.Get(body, "contents")) {
		if firstUnsigned(content) >= 0 {
			return proof.EditMember(body, "contents", sign)
		}
	}
	return body
}

// firstUnsigned returns the position of the first call among the parts of a content if it has no signature; otherwise
// -1.
func firstUnsigned(content []byte) int {
	for i, part := range rawjson.Elements(rawjson.Get(content, "parts")) {
		if get(part, "functionCall") == nil {
			continue
		}
		if signature := get(part, "thoughtSignature"); rawjson.KindOf(signature) == rawjson.String &&
			len(signature) > len(`""`) {
			return -1
		}
		return i
	}
	return -1
}

// sign returns a content with a signature on its first call.
func sign(content []byte) []byte {
	i, at := -1, firstUnsigned(content)
	return proof.EditMember(content, "parts", func(part []byte) []byte {
		if i++; i != at {
			return part
		}
		return rawjson.Splice(nil, part, rawjson.Set(part, "thoughtSignature", noSignatureJSON))
	})
}
