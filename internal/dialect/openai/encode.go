package openai

import (
	"encoding/json"
	"slices"
	"strconv"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// EncodeRequest writes the body of a request in the words of a provider with
// these quirks. A stream always asks for its usage. Dropped names what the
// format cannot carry; what stood in another wire format's words is dropped,
// too.
func EncodeRequest(r *llm.Request, q *llm.Quirks) (body []byte, dropped []string, err error) {
	e := requestEncoder{q: q, own: r.ExtraOf == Name}
	if q == nil {
		e.q = &llm.Quirks{}
	}
	e.dst = make([]byte, 0, sizeOf(r))
	e.dst = append(e.dst, '{')
	e.str("model", r.Model)
	e.messages(r.Messages)
	e.tools(r)
	e.sampling(r)
	e.options(r)
	if e.own {
		for _, f := range r.Extra {
			e.raw(f.Name, f.Value)
		}
	} else {
		for _, f := range r.Extra {
			e.drop(f.Name)
		}
	}
	return append(e.dst, '}'), e.dropped, nil
}

// sizeOf guesses the length of the body, so that it is allocated once.
func sizeOf(r *llm.Request) int {
	n := 256 + len(r.Model)
	for i := range r.Messages {
		n += 64
		for j := range r.Messages[i].Parts {
			p := &r.Messages[i].Parts[j]
			n += 64 + len(p.Text) + len(p.Text)/16
			if p.Media != nil {
				n += len(p.Media.Data)
			}
		}
	}
	for i := range r.Tools {
		n += 96 + len(r.Tools[i].Description) + len(r.Tools[i].Parameters)
	}
	return n
}

type requestEncoder struct {
	dst     []byte
	q       *llm.Quirks
	own     bool // extras are in this format's words
	dropped []string
}

// drop notes, once, what is left out.
func (e *requestEncoder) drop(what string) {
	if !slices.Contains(e.dropped, what) {
		e.dropped = append(e.dropped, what)
	}
}

// key writes a member's name as the provider calls it, and reports whether the
// provider takes it at all.
func (e *requestEncoder) key(name string) bool {
	if slices.Contains(e.q.Drop, name) {
		e.drop(name)
		return false
	}
	if other, ok := e.q.Rename[name]; ok {
		name = other
	}
	if e.dst[len(e.dst)-1] != '{' {
		e.dst = append(e.dst, ',')
	}
	e.dst = append(rawjson.AppendString(e.dst, name), ':')
	return true
}

func (e *requestEncoder) str(name, value string) {
	if e.key(name) {
		e.dst = rawjson.AppendString(e.dst, value)
	}
}

func (e *requestEncoder) raw(name string, value []byte) {
	if e.key(name) {
		e.dst = append(e.dst, value...)
	}
}

func (e *requestEncoder) integer(name string, n *int64) {
	if n != nil && e.key(name) {
		e.dst = strconv.AppendInt(e.dst, *n, 10)
	}
}

func (e *requestEncoder) number(name string, n *json.Number) {
	if n != nil && e.key(name) {
		e.dst = append(e.dst, *n...)
	}
}

func (e *requestEncoder) truth(name string, b *bool) {
	if b != nil && e.key(name) {
		e.dst = strconv.AppendBool(e.dst, *b)
	}
}

func (e *requestEncoder) sampling(r *llm.Request) {
	limit := outputCap
	if e.q.MaxOutputField != "" {
		limit = e.q.MaxOutputField
	}
	e.integer(limit, r.MaxOutput)
	e.number("temperature", r.Temperature)
	e.number("top_p", r.TopP)
	if r.TopK != nil && e.own {
		e.integer("top_k", r.TopK)
	} else if r.TopK != nil {
		e.drop("top_k")
	}
	e.number("frequency_penalty", r.FrequencyPenalty)
	e.number("presence_penalty", r.PresencePenalty)
	e.integer("seed", r.Seed)
	e.integer("n", r.Choices)
	if len(r.Stop) > 0 && e.key("stop") {
		e.dst = appendStrings(e.dst, r.Stop)
	}
}

func appendStrings(dst []byte, list []string) []byte {
	dst = append(dst, '[')
	for i, s := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = rawjson.AppendString(dst, s)
	}
	return append(dst, ']')
}

func (e *requestEncoder) options(r *llm.Request) {
	if r.Format != nil && e.key("response_format") {
		e.format(r.Format)
	}
	e.reasoning(r.Reasoning)
	if r.User != "" {
		e.str("user", r.User)
	}
	if !r.Stream {
		return
	}
	e.raw("stream", []byte("true"))
	if !e.q.NoStreamOptions {
		e.raw("stream_options", []byte(`{"include_usage":true}`))
	}
}

func (e *requestEncoder) format(f *llm.Format) {
	e.dst = rawjson.AppendString(append(e.dst, `{"type":`...), string(f.Kind))
	if f.Kind == llm.FormatSchema {
		e.dst = append(e.dst, `,"json_schema":`...)
		name := f.Name
		if name == "" {
			name = "answer" // the format asks for one
		}
		e.named(name, f.Description, "schema", f.Schema, f.Strict)
	}
	e.dst = append(e.dst, '}')
}

// named writes what a function and a schema have in common.
func (e *requestEncoder) named(name, description, schemaName string, schema []byte, strict *bool) {
	e.dst = rawjson.AppendString(append(e.dst, `{"name":`...), name)
	if description != "" {
		e.dst = rawjson.AppendString(append(e.dst, `,"description":`...), description)
	}
	if schema != nil {
		e.dst = append(rawjson.AppendString(append(e.dst, ','), schemaName), ':')
		e.dst = append(e.dst, schema...)
	}
	if strict != nil {
		e.dst = strconv.AppendBool(append(e.dst, `,"strict":`...), *strict)
	}
	e.dst = append(e.dst, '}')
}

// Above these many tokens of thinking an effort is the next higher one.
const (
	mediumBudget = 4096
	highBudget   = 16384
)

// reasoning writes the effort. A budget in tokens has no word here and becomes
// the effort nearest to it.
func (e *requestEncoder) reasoning(o *llm.ReasoningOptions) {
	if o == nil {
		return
	}
	effort := o.Effort
	if effort == "" && o.Budget > 0 {
		e.drop("reasoning budget")
		effort = EffortOf(o.Budget)
	}
	if effort == "max" && !e.own { // Anthropic's word; this is the highest that all models know
		effort = "high"
	}
	if effort != "" {
		e.str("reasoning_effort", effort)
	}
}

// EffortOf is the reasoning effort nearest to a budget in tokens.
func EffortOf(budget int64) string {
	switch {
	case budget < mediumBudget:
		return "low"
	case budget < highBudget:
		return "medium"
	}
	return "high"
}

func (e *requestEncoder) tools(r *llm.Request) {
	before := len(e.dst)
	if len(r.Tools) == 0 || !e.key("tools") {
		return
	}
	e.dst = append(e.dst, '[')
	first := len(e.dst)
	for i := range r.Tools {
		t := &r.Tools[i]
		if t.Raw != nil && !e.own {
			e.drop("tools that are not functions")
			continue
		}
		if len(e.dst) > first {
			e.dst = append(e.dst, ',')
		}
		if t.Raw != nil {
			e.dst = append(e.dst, t.Raw...)
			continue
		}
		if len(t.Extra) > 0 && !e.own {
			e.drop("tool fields of another API")
		}
		e.dst = append(e.dst, `{"type":"function","function":`...)
		e.named(t.Name, t.Description, "parameters", t.Parameters, t.Strict)
		e.dst = append(e.dst, '}')
	}
	if len(e.dst) == first { // an empty list is refused, and so is a choice without one
		e.dst = e.dst[:before]
		return
	}
	e.dst = append(e.dst, ']')
	e.toolChoice(r.ToolChoice)
	e.truth("parallel_tool_calls", r.ParallelTools)
}

func (e *requestEncoder) toolChoice(c *llm.ToolChoice) {
	if c == nil || !e.key("tool_choice") {
		return
	}
	switch {
	case c.Mode == llm.ToolsNamed:
		e.dst = rawjson.AppendString(append(e.dst, `{"type":"function","function":{"name":`...), c.Name)
		e.dst = append(e.dst, "}}"...)
	case c.Mode == llm.ToolsRequired && e.q.RequiredToolChoice != "":
		e.dst = rawjson.AppendString(e.dst, e.q.RequiredToolChoice)
	default:
		e.dst = rawjson.AppendString(e.dst, string(c.Mode))
	}
}
