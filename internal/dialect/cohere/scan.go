package cohere

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// fields are the members of a request that are acted on, or decide its price.
var fields = rawjson.Names{
	"model", "messages", "stream", outputCap, "tools", "tool_choice", "documents",
	"response_format", "thinking", "temperature", "p", "k", "stop_sequences",
}

// Scan validates the body as strict JSON and reads its head. Every stream ends
// with its usage here, so the client need not ask for it. Errors are *llm.Error.
func Scan(body []byte, _ *http.Request) (llm.Head, error) {
	if err := rawjson.Validate(body, maxDepth); err != nil {
		return llm.Head{}, &llm.Error{
			Code: llm.CodeInvalidRequest,
			Message: "We could not parse the JSON body of your request: " + err.Error() +
				". Send one JSON object with a model and messages.",
		}
	}
	if rawjson.KindOf(body) != rawjson.Object {
		return llm.Head{}, llm.Invalid("", "The body must be a JSON object with a model and messages.")
	}
	h := llm.Head{Choices: 1, IncludeUsage: true, Open: bytes.IndexByte(body, '{') + 1, Empty: true}
	var seen rawjson.Seen
	for m := range rawjson.Members(body) {
		h.Empty = false
		if _, err := fields.Find(m, &seen); err != nil {
			return llm.Head{}, misnamed(err)
		}
		if err := scanMember(&h, m); err != nil {
			return llm.Head{}, err
		}
	}
	return h, nil
}

func scanMember(h *llm.Head, m rawjson.Member) (err error) {
	if m.Is("model") {
		h.ModelSpan = llm.Span{Start: m.Start, End: m.Start + len(m.Value)}
	}
	if !rawjson.Present(m.Value) {
		return nil
	}
	switch string(m.Key()) {
	case "model":
		name, ok := rawjson.AsString(m.Value)
		if !ok || name == "" {
			return llm.Invalid("model", "The model must be a non-empty string.")
		}
		h.Model = name
	case "stream":
		h.Stream, err = truth(m)
	case outputCap:
		h.MaxOutput, err = count(m)
	}
	return err
}

func truth(m rawjson.Member) (bool, error) {
	b, ok := rawjson.AsBool(m.Value)
	if !ok {
		return false, llm.Invalid(m.Name(), "The "+m.Name()+" must be true or false.")
	}
	return b, nil
}

// count reads an integer from 1 to maxCount.
func count(m rawjson.Member) (int64, error) {
	n, ok := rawjson.AsInt(m.Value)
	if !ok || n < 1 || n > maxCount {
		return 0, llm.Invalid(m.Name(), fmt.Sprintf("The %s must be an integer from 1 to %d.", m.Name(), int64(maxCount)))
	}
	return n, nil
}

// misnamed is the error about a field that stands twice or in another case.
func misnamed(err error) error {
	e, ok := errors.AsType[*rawjson.NameError](err)
	if !ok {
		return err
	}
	return llm.Invalid(e.Name, "A field name is at fault: "+e.Error()+".")
}
