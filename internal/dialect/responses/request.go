package responses

import (
	"strconv"
	"strings"

	"weir/internal/dialect/openai"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Prefixes of Extra fields for the unmodelled members of objects in the request.
const (
	inText      = "text."
	inReasoning = "reasoning."
)

// DecodeRequest builds the tree of a body that passed Scan. Unmodelled fields go to the Extra fields; raw JSON shares
// memory with body. Errors are *llm.Error.
func DecodeRequest(body []byte) (*llm.Request, error) {
	r := &llm.Request{ExtraOf: Name, IncludeUsage: true}
	var input, instructions, tools, choice []byte
	for m := range rawjson.PresentMembers(body) {
		switch string(m.Key()) {
		case "input":
			input = m.Value
		case "instructions":
			instructions = m.Value
		case "tools":
			tools = m.Value
			fallthrough
		default:
			if m.Is("tool_choice") {
				choice = m.Value
			}
			if err := decodeField(r, m); err != nil {
				return nil, err
			}
		}
	}
	t := turns{tools: readTools(r.Tools, tools, input)}
	var err error
	if r.Messages, err = t.conversation(instructions, input); err != nil {
		return nil, err
	}
	if n := len(r.Messages); (n == 0 || n == 1 && r.Messages[0].Apart) && !continues(r) {
		return nil, llm.Invalid("input",
			`The input must be a string, or an array of at least one item such as {"role": "user", "content": `+
				`"Hello"}.`)
	}
	if r.Essential == nil {
		r.Essential = t.essential
	}
	t.tools.elsewhere(r, choice, t.effort)
	noteLogprobs(r)
	return r, nil
}

// continues reports whether the conversation is stored elsewhere.
func continues(r *llm.Request) bool {
	for _, f := range r.Extra {
		switch f.Name {
		case "previous_response_id", "conversation", "prompt":
			return true
		}
	}
	return false
}

func (t *turns) conversation(instructions, input []byte) ([]llm.Message, error) {
	if instructions != nil {
		s, err := parse.String(instructions, "instructions")
		if err != nil {
			return nil, err
		}
		t.messages = append(t.messages, llm.Message{
			Role: llm.RoleSystem, Apart: true, Parts: []llm.Part{{Kind: llm.PartText, Text: s}},
		})
	}
	if s, ok := rawjson.AsString(input); ok {
		t.at = 1
		t.message(llm.Message{Role: llm.RoleUser, Parts: []llm.Part{{Kind: llm.PartText, Text: s}}})
		return t.messages, nil
	}
	if input != nil && rawjson.KindOf(input) != rawjson.Array {
		return nil, llm.Invalid("input",
			`The input must be a string, or an array of items such as {"role": "user", "content": "Hello"}.`)
	}
	for i, v := range rawjson.Elements(input) {
		t.at = i + 1
		if err := t.item(v, "input["+strconv.Itoa(i)+"]"); err != nil {
			return nil, err
		}
	}
	return t.end(), nil
}

// decodeField reads one member; it stores an unmodelled one unchanged.
func decodeField(r *llm.Request, m rawjson.Member) (err error) {
	switch name := string(m.Key()); name {
	case "model":
		r.Model, err = parse.String(m.Value, name)
	case "stream":
		r.Stream, err = parse.Bool(m.Value, name)
	case outputCap:
		r.MaxOutput, err = openai.CapOrNone(m.Value, name)
	case "temperature":
		r.Temperature, err = parse.Number(m.Value, name)
	case "top_p":
		r.TopP, err = parse.Number(m.Value, name)
	case "user":
		r.User, err = parse.String(m.Value, name)
	case "tools":
		r.Tools, err = parse.AppendTools(nil, m.Value, name, decodeTool)
	case "tool_choice":
		r.ToolChoice = decodeToolChoice(m.Value)
		if r.ToolChoice == nil {
			err = parse.CheckChoice(m.Value, name)
			r.Extra = append(r.Extra, llm.Field{Name: name, Value: m.Value})
		}
	case "parallel_tool_calls":
		r.ParallelTools, err = parse.Pointer(parse.Bool(m.Value, name))
	case "text":
		err = decodeText(r, m.Value)
	case "reasoning":
		err = decodeEffort(r, m.Value)
	default:
		if strings.HasPrefix(name, inText) || strings.HasPrefix(name, inReasoning) {
			return llm.Invalid(name, "A field's name contains a dot. Put an object into the other object instead.")
		}
		addExtra(r, name, m.Value)
	}
	return err
}

// addExtra stores an unmodelled field.
func addExtra(r *llm.Request, name string, v []byte) {
	r.Extra = append(r.Extra, llm.Field{Name: name, Value: v})
	if !openai.AsksSearch(name, v) {
		essentials.Note(r, name, v)
	}
}

// decodeText reads the format of the answer's text.
func decodeText(r *llm.Request, v []byte) (err error) {
	if rawjson.KindOf(v) != rawjson.Object {
		return llm.Invalid("text", `The text must be an object such as {"format": {"type": "json_object"}}.`)
	}
	for m := range rawjson.PresentMembers(v) {
		if m.Is("format") {
			if r.Format, err = decodeFormat(m.Value); err != nil {
				return err
			}
			if r.Format != nil {
				continue
			}
		}
		addExtra(r, inText+m.Name(), m.Value)
	}
	return nil
}

// decodeFormat reads a text format. It returns nil without an error for an unknown type.
func decodeFormat(v []byte) (*llm.Format, error) {
	kind := llm.FormatKind(rawjson.Text(rawjson.Get(v, "type")))
	switch kind {
	case llm.FormatText, llm.FormatJSON, llm.FormatSchema:
	case "":
		return nil, llm.Invalid("text.format", `The text.format must be an object such as {"type": "json_object"}.`)
	default:
		return nil, nil
	}
	f := &llm.Format{Kind: kind}
	for m := range rawjson.Members(v) {
		switch string(m.Key()) {
		case "name":
			f.Name = rawjson.Text(m.Value)
		case "description":
			f.Description = rawjson.Text(m.Value)
		case "schema":
			f.Schema = m.Value
		case "strict":
			f.Strict = parse.OptionalBool(m.Value)
		}
	}
	if kind == llm.FormatSchema && rawjson.KindOf(f.Schema) != rawjson.Object {
		return nil, llm.Invalid("text.format.schema",
			`A text.format of type "json_schema" needs a schema, an object such as {"type": "object"}.`)
	}
	return f, nil
}

func decodeEffort(r *llm.Request, v []byte) error {
	if rawjson.KindOf(v) != rawjson.Object {
		return llm.Invalid("reasoning", `The reasoning must be an object such as {"effort": "low"}.`)
	}
	for m := range rawjson.PresentMembers(v) {
		if !m.Is("effort") {
			addExtra(r, inReasoning+m.Name(), m.Value)
			continue
		}
		effort, err := parse.String(m.Value, "reasoning.effort")
		if err != nil {
			return err
		}
		r.Reasoning = &llm.ReasoningOptions{Effort: effort}
	}
	return nil
}

func decodeTool(v []byte, at string) (llm.Tool, error) {
	if rawjson.Text(rawjson.Get(v, "type")) != "function" {
		return llm.Tool{Raw: v, Search: openai.ToolWish(v, at)}, nil
	}
	return parse.Named(decodeFunction(v), at)
}

func decodeFunction(v []byte) (t llm.Tool) {
	for m := range rawjson.Members(v) {
		switch string(m.Key()) {
		case "type":
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
		default:
			t.Extra = parse.Extra(t.Extra, m)
		}
	}
	return t
}

// namesNamespace reports whether a choice refers to tools of a namespace.
func namesNamespace(choice []byte) bool {
	for _, t := range rawjson.Elements(rawjson.Get(choice, "tools")) {
		if rawjson.Present(rawjson.Get(t, "namespace")) {
			return true
		}
	}
	return rawjson.Present(rawjson.Get(choice, "namespace"))
}

// decodeToolChoice reads a tool choice. It returns nil for an unknown one.
func decodeToolChoice(v []byte) *llm.ToolChoice {
	switch word := rawjson.Text(v); word {
	case "none", "auto", "required":
		return &llm.ToolChoice{Mode: llm.ToolMode(word)}
	}
	if namesNamespace(v) {
		return nil
	}
	if rawjson.Text(rawjson.Get(v, "type")) == "allowed_tools" {
		return openai.DecodeAllowed(v, "name")
	}
	name := rawjson.Text(rawjson.Get(v, "name"))
	if name == "" || rawjson.Text(rawjson.Get(v, "type")) != "function" {
		return nil
	}
	return &llm.ToolChoice{Mode: llm.ToolsNamed, Name: name}
}
