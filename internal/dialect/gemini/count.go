package gemini

import (
	"net/http"

	"weir/internal/dialect"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// CountSuffix ends the path of token counting.
const CountSuffix = ":countTokens"

// counted is the member of a reply with the count.
const counted = "totalTokens"

// wholeRequest is the member of a count request with a whole request, instead of only its contents.
const wholeRequest = "generateContentRequest"

// CountPath returns the path after a provider's base URL (https://ai.google.dev/api/tokens).
func CountPath(model string, _ bool) string { return modelPath(model) + CountSuffix }

// ScanCount implements Scan for token counting.
func ScanCount(body []byte, r *http.Request) (llm.Head, error) {
	h, err := scanMethod(body, r, CountSuffix, "with contents")
	if err != nil {
		return h, err
	}
	if err := (names{"contents", wholeRequest, "model"}).once(body, ""); err != nil {
		return llm.Head{}, err
	}
	if err := fields.once(get(body, wholeRequest), wholeRequest+"."); err != nil {
		return llm.Head{}, err
	}
	if err := sameModel(&h, body); err != nil {
		return llm.Head{}, err
	}
	if err := sameModel(&h, get(body, wholeRequest)); err != nil {
		return llm.Head{}, parse.Under(wholeRequest+".", err)
	}
	return h, nil
}

// DecodeCounted implements DecodeRequest for token counting.
func DecodeCounted(body []byte) (*llm.Request, error) {
	inner := get(body, wholeRequest)
	if inner == nil {
		return DecodeRequest(body)
	}
	if rawjson.KindOf(inner) != rawjson.Object {
		return nil, llm.Invalid(wholeRequest, `The `+wholeRequest+` must be an object with contents.`)
	}
	r, err := DecodeRequest(rawjson.Rewrite(inner, func(name string) string {
		if name == "model" {
			return ""
		}
		return name
	}))
	return r, parse.Under(wholeRequest+".", err)
}

// SpliceCount implements Splice for token counting.
func SpliceCount(dst, body []byte, _ *llm.Head, s llm.Splice, _ *llm.Quirks) []byte {
	for m := range rawjson.Members(body) {
		if string(spelled(m.Key())) != wholeRequest || rawjson.KindOf(m.Value) != rawjson.Object {
			continue
		}
		e := rawjson.Set(m.Value, "model", rawjson.AppendString(nil, modelsPrefix+Canonical(s.Model)))
		e.Start, e.End = e.Start+m.Start, e.End+m.Start
		return rawjson.Splice(dst, body, e)
	}
	return append(dst, body...)
}

// counters count the tokens of a chat. Google's own API accepts the whole request in a member
// (https://ai.google.dev/api/tokens), and its count is free: the vendor's answer at
// https://discuss.ai.google.dev/t/189068 (Gemini 3.5 Flash-Lite countTokens, undated copy of 2026). Vertex AI accepts
// the fields that decide the input as members
// (https://cloud.google.com/vertex-ai/docs/reference/rest/v1beta1/publishers.models/countTokens), free of charge
// (https://firebase.google.com/docs/vertex-ai/count-tokens, undated copy). Neither documents whether media count at the
// requested resolution.
func counters() []*dialect.Counter {
	own := &dialect.Counter{Name: Name, Path: CountPath, Decode: parse.Counted(counted), Body: wholeBody}
	vertex := *own
	vertex.Name, vertex.Body = "vertex", vertexBody
	return []*dialect.Counter{own, &vertex}
}

// wholeBody returns a count request for a whole chat.
func wholeBody(chat []byte, model string) []byte {
	name := rawjson.AppendString(nil, modelsPrefix+Canonical(model))
	whole := rawjson.Splice(nil, chat, rawjson.Set(chat, "model", name))
	return append(append([]byte(`{"`+wholeRequest+`":`), whole...), '}')
}

// vertexBody returns a count request to Vertex AI for a chat.
func vertexBody(chat []byte, _ string) []byte {
	return rawjson.Rewrite(chat, func(name string) string {
		switch string(spelled([]byte(name))) {
		case "contents", "systemInstruction", "tools", "generationConfig":
			return name
		}
		return ""
	})
}
