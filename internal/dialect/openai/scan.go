package openai

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
	"model", "messages", "stream", "stream_options", "max_tokens", "max_completion_tokens", "n",
	"service_tier", "tools", "functions", "web_search_options", "modalities",
	"temperature", "top_p", "stop", "best_of",
}

var streamFields = rawjson.Names{"include_usage"}

// Scan validates the body as strict JSON and reads its head. Of two output
// caps the larger one counts: providers differ in which they obey. Errors are
// *llm.Error.
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
	h := llm.Head{Choices: 1, Open: bytes.IndexByte(body, '{') + 1, Empty: true}
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
	span := llm.Span{Start: m.Start, End: m.Start + len(m.Value)}
	absent := !rawjson.Present(m.Value)
	switch string(m.Key()) {
	case "model":
		h.ModelSpan = span
		if absent {
			return nil
		}
		name, ok := rawjson.AsString(m.Value)
		if !ok || name == "" {
			return llm.Invalid("model", "The model must be a non-empty string.")
		}
		h.Model = name
	case "stream":
		if absent {
			return nil
		}
		h.Stream, err = truth(m)
	case "stream_options":
		h.StreamOptionsSpan = span
		h.IncludeUsage, err = includeUsage(m.Value)
	case legacyOutputCap, outputCap:
		if absent {
			return nil
		}
		n, err := count(m, maxCount)
		h.MaxOutput = max(h.MaxOutput, n)
		return err
	case "n":
		if absent {
			return nil
		}
		h.Choices, err = count(m, maxChoices)
	}
	return err
}

func includeUsage(v []byte) (wanted bool, err error) {
	if !rawjson.Present(v) {
		return false, nil
	}
	if rawjson.KindOf(v) != rawjson.Object {
		return false, llm.Invalid("stream_options", `The stream_options must be an object such as {"include_usage": true}.`)
	}
	var seen rawjson.Seen
	for m := range rawjson.Members(v) {
		i, err := streamFields.Find(m, &seen)
		if err != nil {
			return false, misnamed("stream_options.", err)
		}
		if i == 0 && rawjson.Present(m.Value) {
			if wanted, err = truth(m); err != nil {
				return false, err
			}
		}
	}
	return wanted, nil
}

func truth(m rawjson.Member) (bool, error) {
	b, ok := rawjson.AsBool(m.Value)
	if !ok {
		return false, llm.Invalid(m.Name(), "The "+m.Name()+" must be true or false.")
	}
	return b, nil
}

// count reads an integer from 1 to most.
func count(m rawjson.Member, most int64) (int64, error) {
	n, ok := rawjson.AsInt(m.Value)
	if !ok || n < 1 || n > most {
		return 0, llm.Invalid(m.Name(), fmt.Sprintf("The %s must be an integer from 1 to %d.", m.Name(), most))
	}
	return n, nil
}

// misnamed is the error about a field that stands twice or in another case.
func misnamed(path string, err error) error {
	e, ok := errors.AsType[*rawjson.NameError](err)
	if !ok {
		return err
	}
	return llm.Invalid(path+e.Name, "A field name is at fault: "+e.Error()+".")
}
