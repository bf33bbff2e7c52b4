package ollama

import (
	"bytes"
	"errors"
	"net/http"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// fields are the members of a request that are acted on, or decide its price;
// optionFields those of its options.
var (
	fields       = rawjson.Names{"model", "messages", "stream", optionsMember, "tools", "format", "think"}
	optionFields = rawjson.Names{
		outputCap, "temperature", "top_p", "top_k", "seed", "stop", "frequency_penalty", "presence_penalty", "num_ctx",
	}
)

// Scan validates the body as strict JSON and reads its head. A request is for a
// stream unless it says otherwise, and every stream ends with its usage. Errors
// are *llm.Error.
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
	h := llm.Head{Choices: 1, Stream: true, IncludeUsage: true, Open: bytes.IndexByte(body, '{') + 1, Empty: true}
	var seen rawjson.Seen
	for m := range rawjson.Members(body) {
		h.Empty = false
		if _, err := fields.Find(m, &seen); err != nil {
			return llm.Head{}, misnamed("", err)
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
	case optionsMember:
		h.MaxOutput, err = scanOptions(m.Value)
	}
	return err
}

// scanOptions reads the output cap, 0 for none. A negative one is none:
// -1 is without a limit, -2 up to the end of the context.
func scanOptions(v []byte) (limit int64, err error) {
	if rawjson.KindOf(v) != rawjson.Object {
		return 0, llm.Invalid(optionsMember, `The options must be an object such as {"temperature": 0}.`)
	}
	var seen rawjson.Seen
	for m := range rawjson.Members(v) {
		i, err := optionFields.Find(m, &seen)
		if err != nil {
			return 0, misnamed(optionPrefix, err)
		}
		if i != 0 || !rawjson.Present(m.Value) {
			continue
		}
		n, ok := rawjson.AsInt(m.Value)
		if !ok || n > maxCount {
			return 0, llm.Invalid(optionPrefix+outputCap, "The "+outputCap+" must be an integer.")
		}
		limit = max(n, 0)
	}
	return limit, nil
}

func truth(m rawjson.Member) (bool, error) {
	b, ok := rawjson.AsBool(m.Value)
	if !ok {
		return false, llm.Invalid(m.Name(), "The "+m.Name()+" must be true or false.")
	}
	return b, nil
}

// misnamed is the error about a field that stands twice or in another case.
func misnamed(path string, err error) error {
	e, ok := errors.AsType[*rawjson.NameError](err)
	if !ok {
		return err
	}
	return llm.Invalid(path+e.Name, "A field name is at fault: "+e.Error()+".")
}
