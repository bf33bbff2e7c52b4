package responses

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
	"model", "input", "instructions", "stream", outputCap, "service_tier", "tools", "tool_choice",
	"temperature", "top_p", "text", "reasoning", "previous_response_id", "conversation", "prompt",
	"background", "store", "max_tool_calls",
}

// Scan validates the body as strict JSON and reads its head. A stream always
// tells its usage here. Errors are *llm.Error.
func Scan(body []byte, _ *http.Request) (llm.Head, error) {
	if err := rawjson.Validate(body, maxDepth); err != nil {
		return llm.Head{}, &llm.Error{
			Code: llm.CodeInvalidRequest,
			Message: "We could not parse the JSON body of your request: " + err.Error() +
				". Send one JSON object with a model and input.",
		}
	}
	if rawjson.KindOf(body) != rawjson.Object {
		return llm.Head{}, llm.Invalid("", "The body must be a JSON object with a model and input.")
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
	absent := !rawjson.Present(m.Value)
	switch string(m.Key()) {
	case "model":
		h.ModelSpan = llm.Span{Start: m.Start, End: m.Start + len(m.Value)}
		if absent {
			return nil
		}
		name, ok := rawjson.AsString(m.Value)
		if !ok || name == "" {
			return llm.Invalid("model", "The model must be a non-empty string.")
		}
		h.Model = name
	case "stream":
		if !absent {
			h.Stream, err = truth(m)
		}
	case outputCap:
		if absent {
			return nil
		}
		n, err := limit(m)
		if err != nil {
			return err
		}
		h.MaxOutput = *n
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

// limit reads an integer from 1 on.
func limit(m rawjson.Member) (*int64, error) {
	n, ok := rawjson.AsInt(m.Value)
	if !ok || n < 1 || n > maxCount {
		return nil, llm.Invalid(m.Name(), fmt.Sprintf("The %s must be an integer from 1 to %d.", m.Name(), int64(maxCount)))
	}
	return &n, nil
}

// misnamed is the error about a field that stands twice or in another case.
func misnamed(err error) error {
	e, ok := errors.AsType[*rawjson.NameError](err)
	if !ok {
		return err
	}
	return llm.Invalid(e.Name, "A field name is at fault: "+e.Error()+".")
}
