package openai

import (
	"weir/internal/dialect/proof"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// extraContent is the member with Gemini's thought signatures: on a tool call, or on the message or delta of its text.
// Later requests must return them: https://ai.google.dev/gemini-api/docs/thought-signatures. The gateway seals those
// that it writes, so that no provider of this format receives them.
const extraContent = "extra_content"

// google is the maker of these signatures: the name of its wire format.
const google = "gemini"

// googleSignature reads the signature of an extra_content, and reports whether it is the only member. Vertex AI
// sometimes uses its own name.
func googleSignature(v []byte) (signature string, alone bool) {
	for vendor := range rawjson.Members(v) {
		if !vendor.Is("google") && !vendor.Is("vertex") {
			return signature, false
		}
		for m := range rawjson.Members(vendor.Value) {
			if s := rawjson.Text(m.Value); m.Is("thought_signature") && s != "" && signature == "" {
				signature, alone = s, vendor.Is("google")
				if sealed, ok := proof.Open(s); ok {
					signature = sealed.Signature
				}
				continue
			}
			return signature, false
		}
	}
	return signature, alone
}

// appendSignature writes the sealed signature as the last member of an open object.
func appendSignature(dst []byte, signature string) []byte {
	dst = append(dst, `,"extra_content":{"google":{"thought_signature":`...)
	return append(rawjson.AppendString(dst, proof.Seal(proof.Proof{Maker: google, Signature: signature})), "}}"...)
}

// unsigned returns a message or a tool call without a sealed signature.
func unsigned(object []byte) []byte {
	if !proof.Within(rawjson.Get(object, extraContent)) {
		return object
	}
	return rawjson.Rewrite(object, func(name string) string {
		if name == extraContent {
			return ""
		}
		return name
	})
}

// signText puts a message's signature on its last text, or on a new empty one.
func signText(parts []llm.Part, signature string) []llm.Part {
	for i := len(parts) - 1; i >= 0; i-- {
		if parts[i].Kind == llm.PartText {
			parts[i].Signature, parts[i].Maker = signature, google
			return parts
		}
	}
	return append(parts, llm.Part{Kind: llm.PartText, Signature: signature, Maker: google})
}

// textSignature returns the signature of the last text that has one.
func textSignature(parts []llm.Part) (signature string) {
	for i := range parts {
		if p := &parts[i]; p.Kind == llm.PartText && p.Signature != "" {
			signature = p.Signature
		}
	}
	return signature
}

// signEvents puts a delta's signature on its last piece of text, or on a new empty one.
func signEvents(dst []llm.Event, from, choice int, extra []byte) []llm.Event {
	signature, _ := googleSignature(extra)
	if signature == "" {
		return dst
	}
	for i := len(dst) - 1; i >= from; i-- {
		if dst[i].Kind == llm.EventText {
			dst[i].Signature, dst[i].Maker = signature, google
			return dst
		}
	}
	return append(dst, llm.Event{Kind: llm.EventText, Choice: choice, Signature: signature, Maker: google})
}

func hasField(fields []llm.Field, name string) bool {
	for i := range fields {
		if fields[i].Name == name {
			return true
		}
	}
	return false
}
