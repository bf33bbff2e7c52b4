package ollamatest

import (
	"net/http"

	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// fields are the members of a request that the gateway reads or that decide its price; optionFields are those of its
// options.
var (
	fields       = rawjson.Names{"model", "messages", "stream", optionsMember, "tools", "format", "think"}
	optionFields = rawjson.Names{
		outputCap, "temperature", "top_p", "top_k", "seed", "stop", "frequency_penalty", "presence_penalty", "num_ctx",
	}
)

// Scan validates the body as strict JSON and reads its head. The default is a stream, and every stream ends with its
// usage. Errors are *llm.Error.
func Scan(body []byte, _ *http.Request) (llm.Head, error) {
	h, err := parse.Body(body, parse.Complaint, "with a model and messages")
	if err != nil {
		return h, err
	}
	h.Stream, h.IncludeUsage = true, true
	err = parse.Members(body, fields, "", func(m rawjson.Member) error { return scanMember(&h, m) })
	if err != nil {
		return llm.Head{}, err
	}
	return h, nil
}

func scanMember(h *llm.Head, m rawjson.Member) (err error) {
	if m.Is("model") {
		return parse.Model(h, m)
	}
	if !rawjson.Present(m.Value) {
		return nil
	}
	switch string(m.Key()) {
	case "stream":
		h.Stream, err = parse.Bool(m.Value, "stream")
	case optionsMember:
		h.MaxOutput, err = scanOptions(m.Value)
	}
	return err
}

// scanOptions reads the output cap, 0 for none. A negative cap means none: -1 no limit, -2 up to the end of the
// context.
func scanOptions(v []byte) (limit int64, err error) {
	if rawjson.KindOf(v) != rawjson.Object {
		return 0, llm.Invalid(optionsMember, `The options must be an object such as {"temperature": 0}.`)
	}
	err = parse.Members(v, optionFields, optionPrefix, func(m rawjson.Member) error {
		if !m.Is(outputCap) || !rawjson.Present(m.Value) {
			return nil
		}
		n, ok := rawjson.AsInt(m.Value)
		if !ok || n > parse.MaxCount {
			return llm.Invalid(optionPrefix+outputCap, "The "+outputCap+" must be an integer.")
		}
		limit = max(n, 0)
		return nil
	})
	return limit, err
}
