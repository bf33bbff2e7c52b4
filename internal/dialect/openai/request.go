package openai

import (
	"encoding/json"
	"fmt"
	"strconv"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// DecodeRequest builds the tree of a body that passed Scan. What nobody
// modelled goes to the Extra fields; raw JSON shares memory with body. Errors
// are *llm.Error.
func DecodeRequest(body []byte) (*llm.Request, error) {
	r := &llm.Request{ExtraOf: Name}
	for m := range rawjson.Members(body) {
		if !rawjson.Present(m.Value) {
			continue
		}
		known, err := decodeField(r, m)
		if err != nil {
			return nil, err
		}
		if !known {
			r.Extra = append(r.Extra, llm.Field{Name: m.Name(), Value: m.Value})
		}
	}
	if len(r.Messages) == 0 {
		return nil, llm.Invalid("messages", `The messages must be an array of at least one message such as {"role": "user", "content": "Hello"}.`)
	}
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
	case "stream_options":
		r.IncludeUsage, err = includeUsage(m.Value)
	case outputCap:
		r.MaxOutput, err = integer(m, 1, maxCount)
	case legacyOutputCap:
		if r.MaxOutput == nil {
			r.MaxOutput, err = integer(m, 1, maxCount)
		}
	case "n":
		r.Choices, err = integer(m, 1, maxChoices)
	case "seed":
		r.Seed, err = integer(m, -1<<63, 1<<63-1)
	case "user":
		r.User, err = text(m.Value, "user")
	default:
		if known, err = decodeSampling(r, m); known || err != nil {
			return known, err
		}
		return decodeTools(r, m)
	}
	return true, err
}

func decodeSampling(r *llm.Request, m rawjson.Member) (known bool, err error) {
	switch string(m.Key()) {
	case "temperature":
		r.Temperature, err = number(m)
	case "top_p":
		r.TopP, err = number(m)
	case "top_k":
		r.TopK, err = integer(m, -1, maxCount)
	case "frequency_penalty":
		r.FrequencyPenalty, err = number(m)
	case "presence_penalty":
		r.PresencePenalty, err = number(m)
	case "stop":
		r.Stop, err = stops(m.Value)
	case "reasoning_effort":
		r.Reasoning = &llm.ReasoningOptions{}
		r.Reasoning.Effort, err = text(m.Value, "reasoning_effort")
	case "response_format":
		r.Format, err = decodeFormat(m.Value)
		return r.Format != nil, err
	default:
		return false, nil
	}
	return true, err
}

func decodeTools(r *llm.Request, m rawjson.Member) (known bool, err error) {
	switch string(m.Key()) {
	case "tools", "functions":
		r.Tools, err = appendTools(r.Tools, m)
	case "tool_choice", "function_call":
		r.ToolChoice = decodeToolChoice(m.Value)
		return r.ToolChoice != nil, nil
	case "parallel_tool_calls":
		b, err := truth(m)
		r.ParallelTools = &b
		return true, err
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

func integer(m rawjson.Member, least, most int64) (*int64, error) {
	n, ok := rawjson.AsInt(m.Value)
	if !ok || n < least || n > most {
		return nil, llm.Invalid(m.Name(), fmt.Sprintf("The %s must be an integer from %d to %d.", m.Name(), least, most))
	}
	return &n, nil
}

// number keeps the client's own digits. Its range is the provider's to judge.
func number(m rawjson.Member) (*json.Number, error) {
	if rawjson.KindOf(m.Value) != rawjson.Number {
		return nil, llm.Invalid(m.Name(), "The "+m.Name()+" must be a number.")
	}
	n := json.Number(m.Value)
	return &n, nil
}

func stops(v []byte) ([]string, error) {
	if s, ok := rawjson.AsString(v); ok {
		return []string{s}, nil
	}
	if rawjson.KindOf(v) != rawjson.Array {
		return nil, llm.Invalid("stop", "The stop must be a string or an array of strings.")
	}
	var list []string
	for i, e := range rawjson.Elements(v) {
		s, err := text(e, "stop["+strconv.Itoa(i)+"]")
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

// decodeFormat is nil without an error for a kind that nobody modelled.
func decodeFormat(v []byte) (*llm.Format, error) {
	kind := llm.FormatKind(rawjson.Text(rawjson.Get(v, "type")))
	switch kind {
	case llm.FormatText, llm.FormatJSON:
		return &llm.Format{Kind: kind}, nil
	case llm.FormatSchema:
	case "":
		return nil, llm.Invalid("response_format", `The response_format must be an object such as {"type": "json_object"}.`)
	default:
		return nil, nil
	}
	f := &llm.Format{Kind: kind}
	for m := range rawjson.Members(rawjson.Get(v, "json_schema")) {
		switch string(m.Key()) {
		case "name":
			f.Name = rawjson.Text(m.Value)
		case "description":
			f.Description = rawjson.Text(m.Value)
		case "schema":
			f.Schema = m.Value
		case "strict":
			f.Strict = optionalBool(m.Value)
		}
	}
	return f, nil
}

func optionalBool(v []byte) *bool {
	if b, ok := rawjson.AsBool(v); ok {
		return &b
	}
	return nil
}

// appendTools reads tools, or functions, which were there before tools.
func appendTools(tools []llm.Tool, m rawjson.Member) ([]llm.Tool, error) {
	if rawjson.KindOf(m.Value) != rawjson.Array {
		return nil, llm.Invalid(m.Name(), "The "+m.Name()+" must be an array of objects.")
	}
	for i, e := range rawjson.Elements(m.Value) {
		param := m.Name() + "[" + strconv.Itoa(i) + "]"
		if rawjson.KindOf(e) != rawjson.Object {
			return nil, llm.Invalid(param, "A tool must be an object.")
		}
		def := e
		if m.Is("tools") {
			if rawjson.Text(rawjson.Get(e, "type")) != "function" {
				tools = append(tools, llm.Tool{Raw: e})
				continue
			}
			def = rawjson.Get(e, "function")
			param += ".function"
		}
		tool := decodeFunction(def)
		if tool.Name == "" {
			return nil, llm.Invalid(param+".name", "A function needs a name, a non-empty string.")
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
		case "strict":
			t.Strict = optionalBool(m.Value)
		}
	}
	return t
}

// decodeToolChoice is nil for a choice that nobody modelled.
func decodeToolChoice(v []byte) *llm.ToolChoice {
	switch word := rawjson.Text(v); word {
	case "none", "auto", "required":
		return &llm.ToolChoice{Mode: llm.ToolMode(word)}
	case "any":
		return &llm.ToolChoice{Mode: llm.ToolsRequired}
	}
	name := rawjson.Text(rawjson.Get(v, "name")) // function_call
	if rawjson.Text(rawjson.Get(v, "type")) == "function" {
		name = rawjson.Text(rawjson.Get(v, "function", "name"))
	}
	if name == "" {
		return nil
	}
	return &llm.ToolChoice{Mode: llm.ToolsNamed, Name: name}
}
