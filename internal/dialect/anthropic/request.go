package anthropic

import (
	"weir/internal/dialect/parse"
	"weir/internal/dialect/proof"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// DecodeRequest builds the tree of a body that passed Scan. The system prompt becomes the first message. Unmodelled
// fields go to the Extra fields; raw JSON shares memory with body. Errors are *llm.Error.
func DecodeRequest(body []byte) (*llm.Request, error) {
	r := &llm.Request{ExtraOf: Name}
	var system, messages []byte
	for m := range rawjson.PresentMembers(body) {
		switch string(m.Key()) {
		case "system":
			system = m.Value
			continue
		case "messages":
			messages = m.Value
			continue
		case "thread": // only the vendor has the earlier messages
			return nil, &llm.Error{
				Code: llm.CodeInvalidRequest, Param: "thread", Word: threadUnsupported,
				Message: "The provider of this model does not store conversations. Send all messages, " +
					"without thread.",
			}
		}
		known, err := decodeField(r, m)
		if err != nil {
			return nil, err
		}
		if !known {
			r.Extra = append(r.Extra, llm.Field{Name: m.Name(), Value: m.Value})
			essentials.Note(r, m.Name(), m.Value)
		}
	}
	if hasSourceMark(messages) {
		messages = proof.Edit(messages, messageWithoutSources)
		r.LeftOut = append(r.LeftOut, "citations of another provider")
	}
	var err error
	r.Messages, err = decodeMessages(system, messages)
	if r.IncludeUsage = r.Stream; err != nil {
		return nil, err
	}
	said := r.Messages
	if system != nil {
		said = said[1:]
	}
	noteContent(r, said)
	noteDeferred(r)
	return r, nil
}

// decodeField reads one member and reports whether the tree models it.
func decodeField(r *llm.Request, m rawjson.Member) (known bool, err error) {
	switch string(m.Key()) {
	case "model":
		r.Model, err = parse.String(m.Value, "model")
	case "max_tokens":
		r.MaxOutput, err = parse.Pointer(parse.Int(m.Value, "max_tokens", 0, parse.MaxCount))
	case "stream":
		r.Stream, err = parse.Bool(m.Value, "stream")
	case "temperature":
		r.Temperature, err = parse.Number(m.Value, "temperature")
	case "top_p":
		r.TopP, err = parse.Number(m.Value, "top_p")
	case "top_k":
		r.TopK, err = parse.Pointer(parse.Int(m.Value, "top_k", 0, parse.MaxCount))
	case "stop_sequences":
		r.Stop, err = parse.Strings(m.Value, "stop_sequences")
	case "metadata":
		r.User = soleUser(m.Value)
		return r.User != "", nil
	case "tools":
		r.Tools, err = parse.AppendTools(nil, m.Value, "tools", readTool)
	case "tool_choice":
		return decodeToolChoice(r, m.Value)
	default:
		return decodeOutput(r, m)
	}
	return true, err
}

// decodeOutput reads the members that control thinking and the form of the answer.
func decodeOutput(r *llm.Request, m rawjson.Member) (known bool, err error) {
	switch string(m.Key()) {
	case "thinking":
		return true, decodeThinking(r, m.Value)
	case "output_config":
		return true, decodeOutputConfig(r, m.Value)
	case "output_format": // the name of output_config.format in its beta
		if f := decodeFormat(m.Value); f != nil && r.Format == nil {
			r.Format = f
			return true, nil
		}
	}
	return false, nil
}

// soleUser returns the user id of a metadata object without other members.
func soleUser(v []byte) (user string) {
	for m := range rawjson.Members(v) {
		if !m.Is("user_id") {
			return ""
		}
		user = rawjson.Text(m.Value)
	}
	return user
}

// decodeOutputConfig reads the effort and the answer's schema. Other members stay in the object, as an extra field of
// the same name.
func decodeOutputConfig(r *llm.Request, v []byte) error {
	if rawjson.KindOf(v) != rawjson.Object {
		return llm.Invalid("output_config", `The output_config must be an object such as {"effort": "low"}.`)
	}
	var rest []byte
	for m := range rawjson.PresentMembers(v) {
		switch string(m.Key()) {
		case "effort":
			word, err := parse.String(m.Value, "output_config.effort")
			if err != nil {
				return err
			}
			r.Thinking().Effort = word
			continue
		case "format":
			if f := decodeFormat(m.Value); f != nil {
				r.Format = f
				continue
			}
		}
		rest = rawjson.AppendMember(rest, m.Name(), m.Value)
		essentials.Note(r, "output_config."+m.Name(), m.Value)
	}
	if rest != nil {
		r.Extra = append(r.Extra, llm.Field{Name: "output_config", Value: append(rest, '}')})
	}
	return nil
}

// decodeFormat reads an output format; nil for an unknown type.
func decodeFormat(v []byte) *llm.Format {
	schema := rawjson.Get(v, "schema")
	if rawjson.Text(rawjson.Get(v, "type")) != string(llm.FormatSchema) || !rawjson.Present(schema) {
		return nil
	}
	return &llm.Format{Kind: llm.FormatSchema, Schema: schema}
}

func readTool(v []byte, at string) (llm.Tool, error) {
	if kind := rawjson.Text(rawjson.Get(v, "type")); kind != "" && kind != "custom" {
		return llm.Tool{Raw: v, Search: readSearch(v, at)}, nil // the vendor defines its schema or runs it
	}
	tool := decodeTool(v)
	if tool.Name == "" {
		return tool, llm.Invalid(at+".name", "The tool has no name. Set name to a non-empty string.")
	}
	return tool, nil
}

func decodeTool(v []byte) (t llm.Tool) {
	for m := range rawjson.PresentMembers(v) {
		switch string(m.Key()) {
		case "name":
			t.Name = rawjson.Text(m.Value)
		case "description":
			t.Description = rawjson.Text(m.Value)
		case "input_schema":
			t.Parameters = m.Value
		case "strict":
			t.Strict = parse.OptionalBool(m.Value)
		case "cache_control":
			t.CacheControl = m.Value
		default:
			t.Extra = append(t.Extra, llm.Field{Name: m.Name(), Value: m.Value})
		}
	}
	return t
}

// decodeToolChoice reads a tool choice. It reports false for an unknown one.
func decodeToolChoice(r *llm.Request, v []byte) (known bool, err error) {
	if rawjson.KindOf(v) != rawjson.Object {
		return false, llm.Invalid("tool_choice", `The tool_choice must be an object such as {"type": "auto"}.`)
	}
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
