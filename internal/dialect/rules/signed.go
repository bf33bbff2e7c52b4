package rules

import (
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// SignedCalls asks that the first call of each step since the user last spoke has the signature of the model that made it,
// or Google's word for a call of another model. Encoders and Splice write that word, so requests that the gateway sends
// hold this.
type SignedCalls struct{}

// Broken is the function of the first such call without one, in a body.
func (SignedCalls) Broken(_ *llm.Request, body []byte) string {
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

// beginsTurn reports whether the user says something in a content, beside results.
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

// unsignedCall is the function of the first call in a content, where that has no signature.
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

// either is the member of one of two names: Google takes its fields in two spellings.
func either(obj []byte, name, other string) []byte {
	if v := rawjson.Get(obj, name); v != nil {
		return v
	}
	return rawjson.Get(obj, other)
}

// Fit changes nothing: what is sent is right.
func (SignedCalls) Fit(*Fitting) error { return nil }

// Example calls a function. What breaks the rule is its body without a signature.
func (SignedCalls) Example() *llm.Request { return calling("call_a", "f") }

func (SignedCalls) String() string {
	return "The first call of each step has its `thoughtSignature`, or `skip_thought_signature_validator` where another model made it"
}
