package rules

import "weir/internal/rawjson"

// signedCalls requires a signature on the first tool call of each step since the user's last message: of the model
// that made it, or Google's placeholder for calls of other models, which encoders and Splice write.
func signedCalls() InBody {
	return InBody{
		Finds: unsignedStep,
		Wants: "The first call of each step has its `thoughtSignature`, " +
			"or `skip_thought_signature_validator` if another model made it",
		Wrong: `{"contents":[{"role":"user","parts":[{"text":"call it"}]},` +
			`{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]},` +
			`{"role":"user","parts":[{"functionResponse":{"name":"f","response":{}}}]}]}`,
	}
}

// unsignedStep returns the function of the first such call without a signature.
func unsignedStep(body []byte) string {
	unsigned := ""
	for _, content := range rawjson.Elements(rawjson.Get(body, "contents")) {
		switch {
		case beginsTurn(content):
			unsigned = ""
		case unsigned == "":
			unsigned = unsignedCall(content)
		}
	}
	return unsigned
}

// beginsTurn reports whether a content has parts of the user other than tool results.
func beginsTurn(content []byte) bool {
	if role := rawjson.Text(rawjson.Get(content, "role")); role != "user" && role != "" {
		return false
	}
	for _, part := range rawjson.Elements(rawjson.Get(content, "parts")) {
		if either(part, "functionResponse", "function_response") == nil {
			return true
		}
	}
	return false
}

// unsignedCall returns the function of the first call in a content if that call has no signature.
func unsignedCall(content []byte) string {
	for _, part := range rawjson.Elements(rawjson.Get(content, "parts")) {
		call := either(part, "functionCall", "function_call")
		switch {
		case call == nil:
			continue
		case rawjson.Text(either(part, "thoughtSignature", "thought_signature")) != "":
			return ""
		}
		return quoted(rawjson.Text(rawjson.Get(call, "name")))
	}
	return ""
}

// either returns the member with one of two names, because Google accepts two spellings of its fields.
func either(obj []byte, name, other string) []byte {
	if v := rawjson.Get(obj, name); v != nil {
		return v
	}
	return rawjson.Get(obj, other)
}
