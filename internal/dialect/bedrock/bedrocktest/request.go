package bedrocktest

import (
	"slices"
	"strconv"

	"weir/internal/dialect/bedrock"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// DecodeRequest builds the tree of a body that passed Scan. The model and the stream flag are in the head, not in the
// body. Unmodelled fields go to the Extra fields, those of a configuration object as a smaller object; raw JSON shares
// memory with body. Errors are *llm.Error.
func DecodeRequest(body []byte) (*llm.Request, error) {
	r := &llm.Request{ExtraOf: bedrock.Name}
	var system, messages []byte
	for m := range rawjson.PresentMembers(body) {
		var rest []byte
		var err error
		switch string(m.Key()) {
		case "system":
			system = m.Value
		case "messages":
			messages = m.Value
		case "inferenceConfig":
			rest, err = decodeObject(m, r, decodeInference)
		case "toolConfig":
			rest, err = decodeObject(m, r, decodeTools)
		case "outputConfig":
			rest, err = decodeObject(m, r, decodeOutput)
		case "additionalModelRequestFields":
			rest, err = decodeObject(m, r, decodeAdditional)
		default:
			rest = m.Value
		}
		if err != nil {
			return nil, err
		}
		if rest != nil {
			r.Extra = append(r.Extra, llm.Field{Name: m.Name(), Value: rest})
			essentials.Note(r, m.Name(), rest)
		}
	}
	return decodeConversation(r, system, messages)
}

// decodeObject reads the members of a configuration object, and returns the object of the unmodelled ones, or nil.
func decodeObject(obj rawjson.Member, r *llm.Request, read func(*llm.Request, rawjson.Member) (known bool, err error)) (
	rest []byte, err error,
) {
	if rawjson.KindOf(obj.Value) != rawjson.Object {
		return nil, llm.Invalid(obj.Name(), "The "+obj.Name()+" must be an object.")
	}
	for m := range rawjson.PresentMembers(obj.Value) {
		known, err := read(r, m)
		if err != nil {
			return nil, err
		}
		if known {
			continue
		}
		if rest == nil {
			rest = []byte{'{'}
		}
		rest = rawjson.AppendMember(rest, m.Name(), m.Value)
		essentials.Note(r, obj.Name()+"."+m.Name(), m.Value)
	}
	if rest != nil {
		rest = append(rest, '}')
	}
	return rest, nil
}

func decodeInference(r *llm.Request, m rawjson.Member) (known bool, err error) {
	param := "inferenceConfig." + m.Name()
	switch string(m.Key()) {
	case "maxTokens":
		r.MaxOutput, err = parse.Pointer(parse.Int(m.Value, param, 1, parse.MaxCount))
	case "temperature":
		r.Temperature, err = parse.Number(m.Value, param)
	case "topP":
		r.TopP, err = parse.Number(m.Value, param)
	case "stopSequences":
		r.Stop, err = parse.Strings(m.Value, param)
	default:
		return false, nil
	}
	return true, err
}

// decodeAdditional reads the modelled parameters of a model's own: Claude's top_k and thinking.
func decodeAdditional(r *llm.Request, m rawjson.Member) (known bool, err error) {
	switch string(m.Key()) {
	case "top_k":
		n, ok := rawjson.AsInt(m.Value)
		if ok {
			r.TopK = &n
		}
		return ok, nil
	case "thinking":
		return decodeThinking(r, m.Value), nil
	}
	return false, nil
}

// decodeThinking reads {"type":"enabled","budget_tokens":1024} and {"type":"disabled"}; other values stay unchanged.
func decodeThinking(r *llm.Request, v []byte) (known bool) {
	var kind string
	var budget int64
	for m := range rawjson.Members(v) {
		switch string(m.Key()) {
		case "type":
			kind = rawjson.Text(m.Value)
		case "budget_tokens":
			budget, _ = rawjson.AsInt(m.Value)
		default:
			return false
		}
	}
	switch {
	case kind == "enabled" && budget > 0:
		r.Thinking().Budget = budget
	case kind == "disabled" && budget == 0:
		r.Thinking().Effort = "none"
	default:
		return false
	}
	return true
}

func decodeOutput(r *llm.Request, m rawjson.Member) (known bool, err error) {
	switch string(m.Key()) {
	case "effort":
		word := rawjson.Text(m.Value)
		if !slices.Contains([]string{"low", "medium", "high", "xhigh", "max"}, word) {
			return false, nil
		}
		r.Thinking().Effort = word
		return true, nil
	case "textFormat":
		r.Format, err = decodeFormat(m.Value)
		return r.Format != nil, err
	}
	return false, nil
}

// decodeFormat reads an OutputFormat, with a schema as JSON in a string. It returns nil without an error for an unknown
// one.
func decodeFormat(v []byte) (*llm.Format, error) {
	const param = "outputConfig.textFormat.structure.jsonSchema.schema"
	if rawjson.Text(rawjson.Get(v, "type")) != "json_schema" {
		return nil, nil
	}
	f := &llm.Format{Kind: llm.FormatSchema}
	for m := range rawjson.Members(rawjson.Get(v, "structure", "jsonSchema")) {
		switch string(m.Key()) {
		case "name":
			f.Name = rawjson.Text(m.Value)
		case "description":
			f.Description = rawjson.Text(m.Value)
		case "schema":
			f.Schema = []byte(rawjson.Text(m.Value))
		}
	}
	if rawjson.Validate(f.Schema, parse.MaxDepth) != nil || rawjson.KindOf(f.Schema) != rawjson.Object {
		return nil, llm.Invalid(param,
			`The schema must be a string that holds a JSON Schema, such as "{\"type\": \"object\"}".`)
	}
	return f, nil
}

func decodeTools(r *llm.Request, m rawjson.Member) (known bool, err error) {
	switch string(m.Key()) {
	case "tools":
		r.Tools, err = decodeToolList(m.Value)
		return true, err
	case "toolChoice":
		r.ToolChoice = decodeToolChoice(m.Value)
		return r.ToolChoice != nil, nil
	}
	return false, nil
}

// decodeToolList reads the tools. A cache point belongs to the tool before it.
func decodeToolList(v []byte) (tools []llm.Tool, err error) {
	if rawjson.KindOf(v) != rawjson.Array {
		return nil, llm.Invalid("toolConfig.tools", "The tools must be an array of objects.")
	}
	for i, e := range rawjson.Elements(v) {
		param := "toolConfig.tools[" + strconv.Itoa(i) + "]"
		name, inner, ok := bedrock.OnlyMember(e)
		if !ok {
			return nil, llm.Invalid(param, `A tool must be an object with one member, such as {"toolSpec": {...}}.`)
		}
		last := len(tools) - 1
		switch name {
		case "toolSpec":
			t := decodeToolSpec(e, inner)
			if t.Name == "" && t.Raw == nil {
				return nil, llm.Invalid(param+".toolSpec.name", "The tool has no name. Set name to a non-empty string.")
			}
			tools = append(tools, t)
		case "cachePoint":
			if mark := cacheMark(inner); mark != nil && last >= 0 && tools[last].CacheControl == nil {
				tools[last].CacheControl = mark
				continue
			}
			fallthrough
		default:
			tools = append(tools, llm.Tool{Raw: e})
		}
	}
	return tools, nil
}

// decodeToolSpec reads a tool; it also stores the original of one with unmodelled members.
func decodeToolSpec(tool, v []byte) (t llm.Tool) {
	for m := range rawjson.Members(v) {
		switch string(m.Key()) {
		case "name":
			t.Name = rawjson.Text(m.Value)
		case "description":
			t.Description = rawjson.Text(m.Value)
		case "inputSchema":
			if s := rawjson.Get(m.Value, "json"); rawjson.Present(s) {
				t.Parameters = s
			}
		case "strict":
			t.Strict = parse.OptionalBool(m.Value)
		default:
			return llm.Tool{Raw: tool}
		}
	}
	return t
}

// decodeToolChoice reads a tool choice. It returns nil for an unknown one.
func decodeToolChoice(v []byte) *llm.ToolChoice {
	name, inner, _ := bedrock.OnlyMember(v)
	switch name {
	case "auto":
		return &llm.ToolChoice{Mode: llm.ToolsAuto}
	case "any":
		return &llm.ToolChoice{Mode: llm.ToolsRequired}
	case "tool":
		if tool := rawjson.Text(rawjson.Get(inner, "name")); tool != "" {
			return &llm.ToolChoice{Mode: llm.ToolsNamed, Name: tool}
		}
	}
	return nil
}
