package openai

import (
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// DecodeRequest builds the tree of a body that passed Scan. Unmodelled fields go to the Extra fields; raw JSON shares
// memory with body. Errors are *llm.Error.
func DecodeRequest(body []byte) (*llm.Request, error) {
	r := &llm.Request{ExtraOf: Name}
	var choice []byte
	tools, functions := false, false
	for m := range rawjson.PresentMembers(body) {
		known, err := decodeField(r, m)
		if err != nil {
			return nil, err
		}
		tools, functions = tools || m.Is("tools"), functions || m.Is("functions")
		if known {
			continue
		}
		r.Extra = append(r.Extra, llm.Field{Name: m.Name(), Value: m.Value})
		if m.Is("tool_choice") {
			choice = m.Value
		} else if !AsksSearch(m.Name(), m.Value) {
			essentials.Note(r, m.Name(), m.Value)
		}
	}
	if len(r.Messages) == 0 {
		return nil, llm.Invalid("messages",
			`The messages must be an array of at least one message such as {"role": "user", "content": "Hello"}.`)
	}
	noteSaid(r)
	parse.NoteLogprobs(r, "logprobs", "top_logprobs")
	parse.NoteAllowed(r, "tool_choice")
	noteElsewhere(r, choice, functions && !tools)
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
	case "stream_options":
		r.IncludeUsage, err = includeUsage(m.Value)
	case outputCap:
		r.MaxOutput, err = CapOrNone(m.Value, outputCap)
	case legacyOutputCap:
		if r.MaxOutput == nil {
			r.MaxOutput, err = CapOrNone(m.Value, legacyOutputCap)
		}
	case "n":
		r.Choices, err = parse.Pointer(parse.Int(m.Value, "n", 1, maxChoices))
	case "seed":
		r.Seed, err = parse.Pointer(parse.Int(m.Value, "seed", -1<<63, 1<<63-1))
	case "user":
		r.User, err = parse.String(m.Value, "user")
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
		r.Temperature, err = parse.Number(m.Value, "temperature")
	case "top_p":
		r.TopP, err = parse.Number(m.Value, "top_p")
	case "top_k":
		r.TopK, err = parse.Pointer(parse.Int(m.Value, "top_k", -1, parse.MaxCount))
	case "frequency_penalty":
		r.FrequencyPenalty, err = parse.Number(m.Value, "frequency_penalty")
	case "presence_penalty":
		r.PresencePenalty, err = parse.Number(m.Value, "presence_penalty")
	case "stop":
		r.Stop, err = stops(m.Value)
	case "reasoning_effort":
		r.Reasoning = &llm.ReasoningOptions{}
		r.Reasoning.Effort, err = parse.String(m.Value, "reasoning_effort")
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
	case "tools":
		r.Tools, err = parse.AppendTools(r.Tools, m.Value, "tools", decodeTool)
	case "functions": // the deprecated form of tools
		r.Tools, err = parse.AppendTools(r.Tools, m.Value, "functions", func(v []byte, at string) (llm.Tool, error) {
			return parse.Named(decodeFunction(v), at)
		})
	case "tool_choice", "function_call":
		if r.ToolChoice = decodeToolChoice(m.Value); r.ToolChoice == nil {
			return false, parse.CheckChoice(m.Value, m.Name())
		}
	case "parallel_tool_calls":
		r.ParallelTools, err = parse.Pointer(parse.Bool(m.Value, "parallel_tool_calls"))
	default:
		return false, nil
	}
	return true, err
}

func stops(v []byte) ([]string, error) {
	if s, ok := rawjson.AsString(v); ok {
		return []string{s}, nil
	}
	if rawjson.KindOf(v) != rawjson.Array {
		return nil, llm.Invalid("stop", "The stop must be a string or an array of strings.")
	}
	return parse.Strings(v, "stop")
}

// decodeFormat reads a response format. It returns nil without an error for an unknown type.
func decodeFormat(v []byte) (*llm.Format, error) {
	kind := llm.FormatKind(rawjson.Text(rawjson.Get(v, "type")))
	switch kind {
	case llm.FormatText, llm.FormatJSON:
		return &llm.Format{Kind: kind}, nil
	case llm.FormatSchema:
	case "":
		return nil, llm.Invalid("response_format",
			`The response_format must be an object such as {"type": "json_object"}.`)
	default:
		return nil, nil
	}
	wanted := rawjson.Get(v, "json_schema")
	if rawjson.KindOf(wanted) != rawjson.Object {
		return nil, llm.Invalid("response_format.json_schema",
			`A response_format of type "json_schema" needs a json_schema, an object such as {"name": "answer", `+
				`"schema": {"type": "object"}}.`)
	}
	f := &llm.Format{Kind: kind}
	for m := range rawjson.Members(wanted) {
		switch string(m.Key()) {
		case "name":
			f.Name = rawjson.Text(m.Value)
		case "description":
			f.Description = rawjson.Text(m.Value)
		case "schema":
			f.Schema = m.Value
		case "strict":
			f.Strict = parse.OptionalBool(m.Value)
		default:
			f.Extra = parse.Extra(f.Extra, m)
		}
	}
	return f, nil
}

func decodeTool(v []byte, at string) (llm.Tool, error) {
	if rawjson.Text(rawjson.Get(v, "type")) != "function" {
		return llm.Tool{Raw: v, Search: ToolWish(v, at)}, nil
	}
	tool := decodeFunction(rawjson.Get(v, "function"))
	for m := range rawjson.Members(v) {
		switch {
		case !rawjson.Present(m.Value), m.Is("type"), m.Is("function"):
		case m.Is("cache_control"):
			tool.CacheControl = m.Value
		default:
			tool.Extra = append(tool.Extra, llm.Field{Name: besideFunction + m.Name(), Value: m.Value})
		}
	}
	return parse.Named(tool, at+".function")
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
			t.Strict = parse.OptionalBool(m.Value)
		case "cache_control": // the place of some routers
			if rawjson.Present(m.Value) {
				t.CacheControl = m.Value
			}
		default:
			t.Extra = parse.Extra(t.Extra, m)
		}
	}
	return t
}

// decodeToolChoice reads a tool choice. It returns nil for an unknown one.
func decodeToolChoice(v []byte) *llm.ToolChoice {
	switch word := rawjson.Text(v); word {
	case "none", "auto", "required":
		return &llm.ToolChoice{Mode: llm.ToolMode(word)}
	case "any":
		return &llm.ToolChoice{Mode: llm.ToolsRequired}
	}
	if allowed := rawjson.Get(v, "allowed_tools"); allowed != nil {
		return DecodeAllowed(allowed, "function", "name")
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

// DecodeAllowed reads a choice among some of the functions, with the path of their names in each; nil for an unknown
// one: https://platform.openai.com/docs/guides/function-calling#allowed-tools (undated copy of 2026).
func DecodeAllowed(v []byte, path ...string) *llm.ToolChoice {
	c := &llm.ToolChoice{Mode: llm.ToolMode(rawjson.Text(rawjson.Get(v, "mode")))}
	if c.Mode != llm.ToolsAuto && c.Mode != llm.ToolsRequired {
		return nil
	}
	for _, tool := range rawjson.Elements(rawjson.Get(v, "tools")) {
		name := rawjson.Text(rawjson.Get(tool, path...))
		if name == "" || rawjson.Text(rawjson.Get(tool, "type")) != "function" {
			return nil
		}
		c.Allowed = append(c.Allowed, name)
	}
	if c.Allowed == nil {
		return nil
	}
	return c
}
