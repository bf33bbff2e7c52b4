package ollama

import (
	"encoding/json"
	"strconv"
	"strings"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// DecodeRequest builds the tree of a body that passed Scan. What nobody
// modelled goes to the Extra fields, an option under its name behind
// "options."; raw JSON shares memory with body. Errors are *llm.Error.
func DecodeRequest(body []byte) (*llm.Request, error) {
	r := &llm.Request{ExtraOf: Name, Stream: true}
	for m := range rawjson.Members(body) {
		if !rawjson.Present(m.Value) {
			continue
		}
		known, err := decodeField(r, m)
		if err != nil {
			return nil, err
		}
		if name := m.Name(); !known && !strings.HasPrefix(name, optionPrefix) {
			r.Extra = append(r.Extra, llm.Field{Name: name, Value: m.Value})
		}
	}
	if len(r.Messages) == 0 {
		return nil, llm.Invalid("messages", `The messages must be an array of at least one message such as {"role": "user", "content": "Hello"}.`)
	}
	r.IncludeUsage = r.Stream
	return r, nil
}

// decodeField reads one member and reports whether it has a place in the tree.
func decodeField(r *llm.Request, m rawjson.Member) (known bool, err error) {
	switch string(m.Key()) {
	case "model":
		r.Model, err = text(m.Value, "model")
	case "messages":
		r.Messages, err = decodeMessages(m.Value)
	case "stream":
		r.Stream, err = truth(m)
	case "tools":
		r.Tools, err = decodeTools(m.Value)
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
	for m := range rawjson.Members(v) {
		if !rawjson.Present(m.Value) {
			continue
		}
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

// decodeOption reads one of the options that other vendors have, too:
// https://docs.ollama.com/modelfile#valid-parameters-and-values.
func decodeOption(r *llm.Request, m rawjson.Member) (known bool, err error) {
	switch string(m.Key()) {
	case outputCap:
		n, err := integer(m)
		if err != nil || *n < 1 {
			return false, err // without a limit, in one of two ways
		}
		r.MaxOutput = n
	case "temperature":
		r.Temperature, err = number(m)
	case "top_p":
		r.TopP, err = number(m)
	case "top_k":
		r.TopK, err = integer(m)
	case "seed":
		r.Seed, err = integer(m)
	case "frequency_penalty":
		r.FrequencyPenalty, err = number(m)
	case "presence_penalty":
		r.PresencePenalty, err = number(m)
	case "stop":
		r.Stop, err = stops(m.Value)
	default:
		return false, nil
	}
	return true, err
}

func text(v []byte, param string) (string, error) {
	s, ok := rawjson.AsString(v)
	if !ok {
		return "", llm.Invalid(param, "The "+param+" must be a string.")
	}
	return s, nil
}

func integer(m rawjson.Member) (*int64, error) {
	n, ok := rawjson.AsInt(m.Value)
	if !ok {
		return nil, llm.Invalid(optionPrefix+m.Name(), "The "+m.Name()+" must be an integer.")
	}
	return &n, nil
}

// number keeps the client's own digits. Its range is the provider's to judge.
func number(m rawjson.Member) (*json.Number, error) {
	if rawjson.KindOf(m.Value) != rawjson.Number {
		return nil, llm.Invalid(optionPrefix+m.Name(), "The "+m.Name()+" must be a number.")
	}
	n := json.Number(m.Value)
	return &n, nil
}

func stops(v []byte) ([]string, error) {
	const param = optionPrefix + "stop"
	if s, ok := rawjson.AsString(v); ok {
		return []string{s}, nil
	}
	if rawjson.KindOf(v) != rawjson.Array {
		return nil, llm.Invalid(param, "The stop must be an array of strings.")
	}
	var list []string
	for i, e := range rawjson.Elements(v) {
		s, err := text(e, param+"["+strconv.Itoa(i)+"]")
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

// decodeFormat reads "json" or a schema. An empty string, which the official
// clients send, is none.
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

// The levels of thinking. One that is only switched on is the middle one:
// what it is for a model that knows levels.
const (
	effortNone   = "none"
	effortLow    = "low"
	effortMedium = "medium"
	effortHigh   = "high"
	effortMax    = "max"
)

// decodeThink is nil for what nobody modelled.
func decodeThink(v []byte) *llm.ReasoningOptions {
	if on, ok := rawjson.AsBool(v); ok {
		if on {
			return &llm.ReasoningOptions{Effort: effortMedium}
		}
		return &llm.ReasoningOptions{Effort: effortNone}
	}
	switch level := rawjson.Text(v); level {
	case effortLow, effortMedium, effortHigh, effortMax:
		return &llm.ReasoningOptions{Effort: level}
	}
	return nil
}

func decodeTools(v []byte) (tools []llm.Tool, err error) {
	if rawjson.KindOf(v) != rawjson.Array {
		return nil, llm.Invalid("tools", "The tools must be an array of objects.")
	}
	for i, e := range rawjson.Elements(v) {
		param := "tools[" + strconv.Itoa(i) + "]"
		if rawjson.KindOf(e) != rawjson.Object {
			return nil, llm.Invalid(param, "A tool must be an object.")
		}
		function := rawjson.Get(e, "function")
		if rawjson.KindOf(function) != rawjson.Object {
			tools = append(tools, llm.Tool{Raw: e})
			continue
		}
		tool := decodeFunction(function)
		if tool.Name == "" {
			return nil, llm.Invalid(param+".function.name", "A function needs a name, a non-empty string.")
		}
		tools = append(tools, tool)
	}
	return tools, nil
}

func decodeFunction(v []byte) (t llm.Tool) {
	for m := range rawjson.Members(v) {
		switch string(m.Key()) {
		case "name":
			t.Name = rawjson.Text(m.Value)
		case "description":
			t.Description = rawjson.Text(m.Value)
		case "parameters":
			if rawjson.Present(m.Value) {
				t.Parameters = m.Value
			}
		default:
			t.Extra = append(t.Extra, llm.Field{Name: m.Name(), Value: m.Value})
		}
	}
	return t
}
