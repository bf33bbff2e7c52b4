package responses

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"weir/internal/dialect/openai"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// EncodeRequest writes the body of a request in the words of a provider with
// these quirks. Of a request in another wire format's words the provider keeps
// nothing, and gives its thinking in encrypted form, so that it survives in the
// turns to come. Dropped names what the format cannot carry and leaves out; what
// would change the meaning is an error, an *llm.Error that names it.
func EncodeRequest(r *llm.Request, q *llm.Quirks) (body []byte, dropped []string, err error) {
	e := requestEncoder{q: q, own: r.ExtraOf == Name, of: r.ExtraOf}
	if q == nil {
		e.q = &llm.Quirks{}
	}
	e.dst = append(make([]byte, 0, sizeOf(r)), '{')
	e.str("model", r.Model)
	e.input(r.Messages)
	e.tools(r)
	e.sampling(r)
	e.options(r)
	e.extra(r.Extra)
	if e.err != nil {
		return nil, nil, e.err
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
			n += 64 + len(p.Text) + len(p.Text)/16 + len(p.Redacted) + len(p.Raw)
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
	own     bool   // extras are in this format's words
	of      string // in whose words they are
	dropped []string
	err     error // the first thing that cannot be carried
}

// drop notes, once, what is left out.
func (e *requestEncoder) drop(what string) {
	if !slices.Contains(e.dropped, what) {
		e.dropped = append(e.dropped, what)
	}
}

// refuse notes what cannot be left out.
func (e *requestEncoder) refuse(param, why string) {
	if e.err == nil {
		e.err = llm.Invalid(param, why)
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
	e.name(name)
	return true
}

// name writes the name of a member, of the body or of an object within it,
// where the provider's quirks do not reach.
func (e *requestEncoder) name(name string) {
	if e.dst[len(e.dst)-1] != '{' {
		e.dst = append(e.dst, ',')
	}
	e.dst = append(rawjson.AppendString(e.dst, name), ':')
}

// inner writes a member of an object within the body.
func (e *requestEncoder) inner(name, value string) {
	e.name(name)
	e.dst = rawjson.AppendString(e.dst, value)
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

func (e *requestEncoder) number(name string, n *json.Number) {
	if n != nil && e.key(name) {
		e.dst = append(e.dst, *n...)
	}
}

func (e *requestEncoder) sampling(r *llm.Request) {
	limit := outputCap
	if e.q.MaxOutputField != "" {
		limit = e.q.MaxOutputField
	}
	if r.MaxOutput != nil && e.key(limit) {
		e.dst = strconv.AppendInt(e.dst, *r.MaxOutput, 10)
	}
	e.number("temperature", r.Temperature)
	e.number("top_p", r.TopP)
	for _, other := range []struct {
		name  string
		there bool
	}{
		{"top_k", r.TopK != nil},
		{"frequency_penalty", r.FrequencyPenalty != nil},
		{"presence_penalty", r.PresencePenalty != nil},
		{"seed", r.Seed != nil},
		{"stop", len(r.Stop) > 0},
	} {
		if other.there {
			e.drop(other.name)
		}
	}
	if r.Choices != nil && *r.Choices > 1 {
		e.refuse("n", "The model's API gives one answer at a time. Leave n out, or ask several times.")
	}
}

func (e *requestEncoder) options(r *llm.Request) {
	e.object("text", inText, r.Extra, r.Format != nil, func() { e.format(r.Format) })
	effort := e.effort(r.Reasoning)
	e.object("reasoning", inReasoning, r.Extra, effort != "", func() { e.inner("effort", effort) })
	if r.User != "" {
		e.str("user", r.User)
	}
	if r.Stream {
		e.raw("stream", []byte("true"))
	}
	if !e.own {
		e.raw("store", []byte("false"))
		e.raw("include", []byte(`["reasoning.encrypted_content"]`))
	}
}

// object writes an object of the body: what is modelled of it, then the extra
// fields that belong into it.
func (e *requestEncoder) object(name, prefix string, extra []llm.Field, modelled bool, write func()) {
	if !e.own {
		extra = nil
	}
	in := func(f llm.Field) bool { return strings.HasPrefix(f.Name, prefix) }
	if !modelled && !slices.ContainsFunc(extra, in) || !e.key(name) {
		return
	}
	e.dst = append(e.dst, '{')
	if modelled {
		write()
	}
	for _, f := range extra {
		if in(f) {
			e.name(strings.TrimPrefix(f.Name, prefix))
			e.dst = append(e.dst, f.Value...)
		}
	}
	e.dst = append(e.dst, '}')
}

func (e *requestEncoder) format(f *llm.Format) {
	e.name("format")
	e.dst = append(e.dst, '{')
	e.inner("type", string(f.Kind))
	if f.Kind == llm.FormatSchema {
		name, schema := f.Name, f.Schema
		if name == "" {
			name = "answer" // the format asks for one
		}
		if schema == nil {
			schema = json.RawMessage("{}")
		}
		e.function(name, f.Description, "schema", schema, f.Strict)
	}
	e.dst = append(e.dst, '}')
}

// function writes what a function and a schema have in common.
func (e *requestEncoder) function(name, description, schemaName string, schema []byte, strict *bool) {
	e.inner("name", name)
	if description != "" {
		e.inner("description", description)
	}
	if schema != nil {
		e.name(schemaName)
		e.dst = append(e.dst, schema...)
	}
	if strict != nil {
		e.name("strict")
		e.dst = strconv.AppendBool(e.dst, *strict)
	}
}

// effort is the word for how much to think. A budget in tokens has no place
// here and becomes the effort nearest to it.
func (e *requestEncoder) effort(o *llm.ReasoningOptions) string {
	if o == nil {
		return ""
	}
	if o.Effort == "" && o.Budget > 0 {
		e.drop("reasoning budget")
		return openai.EffortOf(o.Budget)
	}
	return o.Effort
}

func (e *requestEncoder) tools(r *llm.Request) {
	if len(r.Tools) > 0 && e.key("tools") {
		e.dst = append(e.dst, '[')
		for i := range r.Tools {
			if i > 0 {
				e.dst = append(e.dst, ',')
			}
			e.tool(&r.Tools[i], "tools["+strconv.Itoa(i)+"]")
		}
		e.dst = append(e.dst, ']')
	}
	if len(r.Tools) == 0 && !e.own { // a choice without a list is refused
		return
	}
	e.toolChoice(r.ToolChoice)
	if r.ParallelTools != nil && e.key("parallel_tool_calls") {
		e.dst = strconv.AppendBool(e.dst, *r.ParallelTools)
	}
}

// noParameters is the schema of a function that takes nothing.
var noParameters = json.RawMessage(`{"type":"object","properties":{}}`)

func (e *requestEncoder) tool(t *llm.Tool, param string) {
	if t.Raw != nil {
		if !e.own {
			e.refuse(param, "This tool is no function, and the model's API has no such tool. Leave it out, or choose a model that has it.")
		}
		e.dst = append(e.dst, t.Raw...)
		return
	}
	parameters, strict := t.Parameters, t.Strict
	if !e.own && strict == nil {
		strict = new(bool) // left out it would be strict where it can be, unlike elsewhere
	}
	if !e.own && parameters == nil {
		parameters = noParameters
	}
	e.dst = append(e.dst, `{"type":"function"`...)
	e.function(t.Name, t.Description, "parameters", parameters, strict)
	e.inside(t.Extra, "tool fields of another API")
	e.dst = append(e.dst, '}')
}

func (e *requestEncoder) toolChoice(c *llm.ToolChoice) {
	if c == nil || !e.key("tool_choice") {
		return
	}
	switch {
	case c.Mode == llm.ToolsNamed:
		e.dst = append(rawjson.AppendString(append(e.dst, `{"type":"function","name":`...), c.Name), '}')
	case c.Mode == llm.ToolsRequired && e.q.RequiredToolChoice != "":
		e.dst = rawjson.AppendString(e.dst, e.q.RequiredToolChoice)
	default:
		e.dst = rawjson.AppendString(e.dst, string(c.Mode))
	}
}

// inside writes extra members of an object within the body, and drops those of
// another wire format.
func (e *requestEncoder) inside(fields []llm.Field, what string) {
	if len(fields) > 0 && !e.own {
		e.drop(what)
		return
	}
	for _, f := range fields {
		if f.Name == markItem || f.Name == markContent {
			continue
		}
		e.name(f.Name)
		e.dst = append(e.dst, f.Value...)
	}
}

// extra writes the fields that nobody modelled. Those of another wire format
// are left out, but for the ones without which the answer would be another.
func (e *requestEncoder) extra(fields []llm.Field) {
	for _, f := range fields {
		switch {
		case !e.own && isDemand(f):
			e.refuse(f.Name, "The model's API has no such "+f.Name+". Leave it out, or choose a model that has it.")
		case !e.own:
			e.drop(f.Name)
		case strings.HasPrefix(f.Name, inText), strings.HasPrefix(f.Name, inReasoning): // written with their objects
		default:
			e.raw(f.Name, f.Value)
		}
	}
}

// isDemand reports whether a field of another wire format says what the answer
// has to be or what it has to be made with.
func isDemand(f llm.Field) bool {
	switch f.Name {
	case "tool_choice", "response_format", "web_search_options", "mcp_servers":
		return true
	case "modalities":
		for _, v := range rawjson.Elements(f.Value) {
			if rawjson.Text(v) != "text" {
				return true
			}
		}
	}
	return false
}

// appendObject writes fields as an object.
func appendObject(dst []byte, fields []llm.Field) []byte {
	dst = append(dst, '{')
	for i, f := range fields {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(rawjson.AppendString(dst, f.Name), ':')
		dst = append(dst, f.Value...)
	}
	return append(dst, '}')
}
