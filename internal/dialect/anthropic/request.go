package anthropic

import (
	"encoding/json"
	"strconv"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// DecodeRequest builds the tree of a body that passed Scan. The system prompt
// becomes the first message. What nobody modelled goes to the Extra fields; raw
// JSON shares memory with body. Errors are *llm.Error.
func DecodeRequest(body []byte) (*llm.Request, error) {
	r := &llm.Request{ExtraOf: Name}
	var system, messages []byte
	for m := range rawjson.Members(body) {
		if !rawjson.Present(m.Value) {
			continue
		}
		switch string(m.Key()) {
		case "system":
			system = m.Value
			continue
		case "messages":
			messages = m.Value
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
	var err error
	r.Messages, err = decodeMessages(system, messages)
	r.IncludeUsage = r.Stream
	return r, err
}

// decodeField reads one member and reports whether it has a place in the tree.
func decodeField(r *llm.Request, m rawjson.Member) (known bool, err error) {
	switch string(m.Key()) {
	case "model":
		r.Model, err = text(m.Value, "model")
	case "max_tokens":
		r.MaxOutput, err = optional(m)
	case "stream":
		r.Stream, err = truth(m.Value, "stream")
	case "temperature":
		r.Temperature, err = number(m)
	case "top_p":
		r.TopP, err = number(m)
	case "top_k":
		r.TopK, err = optional(m)
	case "stop_sequences":
		r.Stop, err = stops(m.Value)
	case "metadata":
		r.User = soleUser(m.Value)
		return r.User != "", nil
	case "tools":
		r.Tools, err = decodeTools(m.Value)
	case "tool_choice":
		return decodeToolChoice(r, m.Value)
	default:
		return decodeOutput(r, m)
	}
	return true, err
}

// decodeOutput reads the members that say how to think and in what shape to
// answer.
func decodeOutput(r *llm.Request, m rawjson.Member) (known bool, err error) {
	switch string(m.Key()) {
	case "thinking":
		return true, decodeThinking(r, m.Value)
	case "output_config":
		return true, decodeOutputConfig(r, m.Value)
	case "output_format": // what output_config.format was called in its beta
		if f := decodeFormat(m.Value); f != nil && r.Format == nil {
			r.Format = f
			return true, nil
		}
	}
	return false, nil
}

func optional(m rawjson.Member) (*int64, error) {
	n, err := count(m)
	return &n, err
}

func text(v []byte, param string) (string, error) {
	s, ok := rawjson.AsString(v)
	if !ok {
		return "", llm.Invalid(param, "The "+param+" must be a string.")
	}
	return s, nil
}

// number keeps the client's own digits. Its range is the provider's to judge.
func number(m rawjson.Member) (*json.Number, error) {
	if rawjson.KindOf(m.Value) != rawjson.Number {
		return nil, llm.Invalid(m.Name(), "The "+m.Name()+" must be a number.")
	}
	n := json.Number(m.Value)
	return &n, nil
}

func stops(v []byte) (list []string, err error) {
	if rawjson.KindOf(v) != rawjson.Array {
		return nil, llm.Invalid("stop_sequences", "The stop_sequences must be an array of strings.")
	}
	for i, e := range rawjson.Elements(v) {
		s, err := text(e, "stop_sequences["+strconv.Itoa(i)+"]")
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

// soleUser is the user id of a metadata object that holds nothing else.
func soleUser(v []byte) (user string) {
	for m := range rawjson.Members(v) {
		if !m.Is("user_id") {
			return ""
		}
		user = rawjson.Text(m.Value)
	}
	return user
}

// decodeOutputConfig reads the effort and the answer's schema. What else the
// object holds stays in it, as an extra field of the same name.
func decodeOutputConfig(r *llm.Request, v []byte) error {
	if rawjson.KindOf(v) != rawjson.Object {
		return llm.Invalid("output_config", `The output_config must be an object such as {"effort": "low"}.`)
	}
	var rest []byte
	for m := range rawjson.Members(v) {
		if !rawjson.Present(m.Value) {
			continue
		}
		switch string(m.Key()) {
		case "effort":
			word, err := text(m.Value, "output_config.effort")
			if err != nil {
				return err
			}
			reasoningOf(r).Effort = word
			continue
		case "format":
			if f := decodeFormat(m.Value); f != nil {
				r.Format = f
				continue
			}
		}
		rest = appendMember(rest, m.Name(), m.Value)
	}
	if rest != nil {
		r.Extra = append(r.Extra, llm.Field{Name: "output_config", Value: append(rest, '}')})
	}
	return nil
}

// appendMember appends a member to an object that is begun with its first one
// and not closed.
func appendMember(dst []byte, name string, value []byte) []byte {
	if dst == nil {
		dst = append(dst, '{')
	} else {
		dst = append(dst, ',')
	}
	return append(append(rawjson.AppendString(dst, name), ':'), value...)
}

// decodeFormat is nil for a kind that nobody modelled.
func decodeFormat(v []byte) *llm.Format {
	schema := rawjson.Get(v, "schema")
	if rawjson.Text(rawjson.Get(v, "type")) != string(llm.FormatSchema) || !rawjson.Present(schema) {
		return nil
	}
	return &llm.Format{Kind: llm.FormatSchema, Schema: schema}
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
		if kind := rawjson.Text(rawjson.Get(e, "type")); kind != "" && kind != "custom" {
			tools = append(tools, llm.Tool{Raw: e}) // one that the vendor has a schema for, or runs itself
			continue
		}
		tool := decodeTool(e)
		if tool.Name == "" {
			return nil, llm.Invalid(param+".name", "A tool needs a name, a non-empty string.")
		}
		tools = append(tools, tool)
	}
	return tools, nil
}

func decodeTool(v []byte) (t llm.Tool) {
	for m := range rawjson.Members(v) {
		if !rawjson.Present(m.Value) {
			continue
		}
		switch string(m.Key()) {
		case "name":
			t.Name = rawjson.Text(m.Value)
		case "description":
			t.Description = rawjson.Text(m.Value)
		case "input_schema":
			t.Parameters = m.Value
		case "strict":
			if b, ok := rawjson.AsBool(m.Value); ok {
				t.Strict = &b
			}
		default:
			t.Extra = append(t.Extra, llm.Field{Name: m.Name(), Value: m.Value})
		}
	}
	return t
}

// decodeToolChoice reports false for a choice that nobody modelled.
func decodeToolChoice(r *llm.Request, v []byte) (known bool, err error) {
	c := llm.ToolChoice{}
	switch rawjson.Text(rawjson.Get(v, "type")) {
	case "auto":
		c.Mode = llm.ToolsAuto
	case "any":
		c.Mode = llm.ToolsRequired
	case "none":
		c.Mode = llm.ToolsNone
	case "tool":
		c.Mode, c.Name = llm.ToolsNamed, rawjson.Text(rawjson.Get(v, "name"))
		if c.Name == "" {
			return false, llm.Invalid("tool_choice.name", `A tool_choice of type "tool" needs the name of a tool.`)
		}
	default:
		return false, nil
	}
	r.ToolChoice = &c
	if b, ok := rawjson.AsBool(rawjson.Get(v, "disable_parallel_tool_use")); ok {
		parallel := !b
		r.ParallelTools = &parallel
	}
	return true, nil
}
