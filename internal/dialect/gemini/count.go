package gemini

import (
	"net/http"

	"weir/internal/dialect"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// CountSuffix is what the path of a request for a count of tokens ends with.
const CountSuffix = ":countTokens"

// counted is the member of a reply that is the count.
const counted = "totalTokens"

// wholeRequest is where a request for a count has the whole of the request that it is
// about, in place of its contents alone.
const wholeRequest = "generateContentRequest"

// CountPath is what follows a provider's base URL
// (https://ai.google.dev/api/tokens).
func CountPath(model string, _ bool) string { return modelPath(model) + CountSuffix }

// ScanCount is Scan for a request for a count of tokens.
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

// DecodeCounted is DecodeRequest for a request for a count of tokens.
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

// SpliceCount is Splice for a request for a count of tokens.
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

// counters count the tokens of a chat. Google's own API takes the whole request in a member
// (https://ai.google.dev/api/tokens), and counting is free there: the vendor's answer at
// https://discuss.ai.google.dev/t/189068 (Gemini 3.5 Flash-Lite countTokens, undated copy of 2026). Vertex AI takes what
// decides the input beside one another
// (https://cloud.google.com/vertex-ai/docs/reference/rest/v1beta1/publishers.models/countTokens), for which there is no
// charge (https://firebase.google.com/docs/vertex-ai/count-tokens, undated copy). Whether media are counted at the
// resolution that is asked for, neither says.
func counters() []*dialect.Counter {
	own := &dialect.Counter{Name: Name, Path: CountPath, Decode: parse.Counted(counted), Body: wholeBody}
	vertex := *own
	vertex.Name, vertex.Body = "vertex", vertexBody
	return []*dialect.Counter{own, &vertex}
}

// wholeBody is a request for a count of a whole chat.
func wholeBody(chat []byte, model string) []byte {
	name := rawjson.AppendString(nil, modelsPrefix+Canonical(model))
	whole := rawjson.Splice(nil, chat, rawjson.Set(chat, "model", name))
	return append(append([]byte(`{"`+wholeRequest+`":`), whole...), '}')
}

// vertexBody is a request to Vertex AI for a count of a chat.
func vertexBody(chat []byte, _ string) []byte {
	return rawjson.Rewrite(chat, func(name string) string {
		switch string(spelled([]byte(name))) {
		case "contents", "systemInstruction", "tools", "generationConfig":
			return name
		}
		return ""
	})
}
