package ollamatest

import (
	"encoding/json"
	"strings"

	"weir/internal/dialect/dialecttest"
	"weir/internal/dialect/ollama"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// DecodeRequest builds the tree of a body that passed Scan. Unmodelled fields go to the Extra fields, options with the
// prefix "options."; raw JSON shares memory with body. Errors are *llm.Error.
func DecodeRequest(body []byte) (*llm.Request, error) {
	r := &llm.Request{ExtraOf: ollama.Name, Stream: true}
	for m := range rawjson.PresentMembers(body) {
		known, err := decodeField(r, m)
		if err != nil {
			return nil, err
		}
		if name := m.Name(); !known && !strings.HasPrefix(name, optionPrefix) {
			r.Extra = append(r.Extra, llm.Field{Name: name, Value: m.Value})
		}
	}
	if len(r.Messages) == 0 {
		return nil, llm.Invalid("messages",
			`The messages must be an array of at least one message such as {"role": "user", "content": "Hello"}.`)
	}
	r.IncludeUsage = r.Stream
	return r, nil
}

// decodeField reads one member and reports whether the tree models it.
func decodeField(r *llm.Request, m rawjson.Member) (known bool, err error) {
	switch string(m.Key()) {
	case "model":
		r.Model, err = parse.String(m.Value, "model")
	case "messages":
		r.Messages, err = decodeMessages(m.Value)
	case "stream":
		r.Stream, err = parse.Bool(m.Value, "stream")
	case "tools":
		r.Tools, err = parse.AppendTools(nil, m.Value, "tools", decodeTool)
	case "format":
		r.Format, err = decodeFormat(m.Value)
	case "think":
		r.Reasoning = decodeThink(m.Value)
		return r.Reasoning != nil, nil
	case optionsMember:
		err = decodeOptions(r, m.Value)
	default:
		return false, nil
	}
	return true, err
}

func decodeOptions(r *llm.Request, v []byte) error {
	for m := range rawjson.PresentMembers(v) {
		known, err := decodeOption(r, m)
		if err != nil {
			return err
		}
		if !known {
			r.Extra = append(r.Extra, llm.Field{Name: optionPrefix + m.Name(), Value: m.Value})
		}
	}
	return nil
}

// decodeOption reads an option that other vendors have, too:
// https://docs.ollama.com/modelfile#valid-parameters-and-values.
func decodeOption(r *llm.Request, m rawjson.Member) (known bool, err error) {
	switch string(m.Key()) {
	case outputCap:
		n, err := integer(m)
		if err != nil || *n < 1 {
			return false, err // without a limit, in one of two forms
		}
		r.MaxOutput = n
	case "temperature":
		r.Temperature, err = number(m.Value, "temperature")
	case "top_p":
		r.TopP, err = number(m.Value, "top_p")
	case "top_k":
		r.TopK, err = integer(m)
	case "seed":
		r.Seed, err = integer(m)
	case "frequency_penalty":
		r.FrequencyPenalty, err = number(m.Value, "frequency_penalty")
	case "presence_penalty":
		r.PresencePenalty, err = number(m.Value, "presence_penalty")
	case "stop":
		r.Stop, err = stops(m.Value)
	default:
		return false, nil
	}
	return true, err
}

// integer and number read one of the options.
func integer(m rawjson.Member) (*int64, error) {
	n, ok := rawjson.AsInt(m.Value)
	if !ok {
		return nil, llm.Invalid(optionPrefix+m.Name(), "The "+m.Name()+" must be an integer.")
	}
	return &n, nil
}

func number(v []byte, name string) (*json.Number, error) {
	n, err := parse.Number(v, name)
	return n, parse.Under(optionPrefix, err)
}

func stops(v []byte) ([]string, error) {
	const param = optionPrefix + "stop"
	if s, ok := rawjson.AsString(v); ok {
		return []string{s}, nil
	}
	if rawjson.KindOf(v) != rawjson.Array {
		return nil, llm.Invalid(param, "The stop must be an array of strings.")
	}
	return parse.Strings(v, param)
}

// decodeFormat reads "json" or a schema. An empty string, which the official clients send, means no format.
func decodeFormat(v []byte) (*llm.Format, error) {
	word, isWord := rawjson.AsString(v)
	switch {
	case isWord && word == "":
		return nil, nil
	case isWord && word == "json":
		return &llm.Format{Kind: llm.FormatJSON}, nil
	case rawjson.KindOf(v) == rawjson.Object:
		return &llm.Format{Kind: llm.FormatSchema, Schema: v}, nil
	}
	return nil, llm.Invalid("format", `The format must be "json" or a JSON Schema.`)
}

// decodeThink reads the thinking option. It returns nil for an unknown value.
func decodeThink(v []byte) *llm.ReasoningOptions {
	if on, ok := rawjson.AsBool(v); ok {
		if on {
			return &llm.ReasoningOptions{Effort: "medium"}
		}
		return &llm.ReasoningOptions{Effort: "none"}
	}
	switch level := rawjson.Text(v); level {
	case "low", "medium", "high", "max":
		return &llm.ReasoningOptions{Effort: level}
	}
	return nil
}

func decodeTool(v []byte, at string) (llm.Tool, error) {
	function := rawjson.Get(v, "function")
	if rawjson.KindOf(function) != rawjson.Object {
		return llm.Tool{Raw: v}, nil
	}
	return parse.Named(dialecttest.Function(function), at+".function")
}
