package gemini

import (
	"errors"
	"fmt"
	"net/http"

	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// CountSuffix is what the path of a request for a count of tokens ends with.
const CountSuffix = ":countTokens"

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

var errNoCount = errors.New("gemini: the reply has no totalTokens")

// DecodeCount is DecodeReply for a count of tokens, which costs nothing.
func DecodeCount(body []byte, _ *llm.Quirks) (*llm.Reply, error) {
	if err := rawjson.Validate(body, maxDepth); err != nil {
		return nil, fmt.Errorf("gemini: the reply is not JSON: %w", err)
	}
	r := &llm.Reply{Reported: true}
	var c parse.Counter
	if !c.Count(&r.Counted, get(body, "totalTokens")) {
		return nil, errNoCount
	}
	return r, nil
}

// EncodeCount is EncodeReply for a count of tokens.
func EncodeCount(dst []byte, r *llm.Reply) []byte {
	return append(rawjson.AppendCount(dst, `{"totalTokens":`, r.Counted), '}')
}
