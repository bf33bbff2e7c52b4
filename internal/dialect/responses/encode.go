package responses

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"weir/internal/dialect/compose"
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
	r = compose.Uncited(compose.Offered(Name, r), nil)
	e := requestEncoder{Writer: compose.New(Name, r, q), of: r.ExtraOf}
	e.Text("model", r.Model)
	e.input(e.Objects(r.Messages))
	e.tools(r)
	e.sampling(r)
	e.options(r)
	e.extra(r.Extra)
	return e.Close()
}

type requestEncoder struct {
	compose.Writer
	of string // in whose words the extras are
}

func (e *requestEncoder) sampling(r *llm.Request) {
	e.Integer(cmp.Or(e.Quirks.MaxOutputField, outputCap), r.MaxOutput)
	e.Number("temperature", r.Temperature)
	e.Number("top_p", r.TopP)
	for _, other := range []struct {
		name  string
		there bool
	}{
		{"top_k", r.TopK != nil},
		{"frequency_penalty", r.FrequencyPenalty != nil},
		{"presence_penalty", r.PresencePenalty != nil},
		{"seed", r.Seed != nil},
	} {
		if other.there {
			e.Drop(other.name)
		}
	}
	if len(r.Stop) > 0 {
		e.Refuse("stop", "The model's API has no stop sequences. Leave them out, and cut the answer where one comes.")
	}
	if r.Choices != nil && *r.Choices > 1 {
		e.Refuse("n", "The model's API gives one answer at a time. Ask for one, or ask several times.")
	}
}

func (e *requestEncoder) options(r *llm.Request) {
	e.object("text", inText, r.Extra, r.Format != nil, func() { e.format(r.Format) })
	effort := e.effort(r.Reasoning)
	e.object("reasoning", inReasoning, r.Extra, effort != "", func() { e.Inner("effort", effort) })
	if r.User != "" {
		e.Text("user", r.User)
	}
	if r.Stream {
		e.Raw("stream", []byte("true"))
	}
	if e.Own {
		return
	}
	e.Raw("store", []byte("false"))
	include := e.included(r.Tools)
	if l := e.CarryLogprobs(r); l != nil {
		include = append(include, includeLogprobs)
		if l.Top > 0 {
			e.Integer("top_logprobs", &l.Top)
		}
	}
	e.Raw("include", rawjson.AppendStrings(nil, include))
}

// object writes an object of the body: what is modelled of it, then the extra
// fields that belong into it.
func (e *requestEncoder) object(name, prefix string, extra []llm.Field, modelled bool, write func()) {
	if !e.Own {
		extra = nil
	}
	in := func(f llm.Field) bool { return strings.HasPrefix(f.Name, prefix) }
	if !modelled && !slices.ContainsFunc(extra, in) || !e.Key(name) {
		return
	}
	e.Dst = append(e.Dst, '{')
	if modelled {
		write()
	}
	for _, f := range extra {
		if in(f) {
			e.InnerRaw(strings.TrimPrefix(f.Name, prefix), f.Value)
		}
	}
	e.Dst = append(e.Dst, '}')
}

func (e *requestEncoder) format(f *llm.Format) {
	e.Name("format")
	e.Dst = append(e.Dst, '{')
	e.Inner("type", string(f.Kind))
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
	e.Dst = append(e.Dst, '}')
}

// function writes what a function and a schema have in common.
func (e *requestEncoder) function(name, description, schemaName string, schema []byte, strict *bool) {
	e.Inner("name", name)
	if description != "" {
		e.Inner("description", description)
	}
	if schema != nil {
		e.InnerRaw(schemaName, schema)
	}
	if strict != nil {
		e.Name("strict")
		e.Dst = strconv.AppendBool(e.Dst, *strict)
	}
}

// effort is the word for how much to think. A budget in tokens has no place
// here and becomes the effort nearest to it.
func (e *requestEncoder) effort(o *llm.ReasoningOptions) string {
	if o == nil {
		return ""
	}
	e.DropThinking(o)
	if o.Effort == "" && o.Budget > 0 {
		e.Drop("reasoning budget")
		return openai.EffortOf(o.Budget)
	}
	return o.Effort
}

func (e *requestEncoder) tools(r *llm.Request) {
	if len(r.Tools) > 0 && e.Key("tools") {
		e.Dst = append(e.Dst, '[')
		for i := range r.Tools {
			if i > 0 {
				e.Dst = append(e.Dst, ',')
			}
			e.tool(&r.Tools[i], i)
		}
		e.Dst = append(e.Dst, ']')
	}
	if len(r.Tools) == 0 && !e.Own { // a choice without a list is refused
		return
	}
	e.toolChoice(r.ToolChoice)
	e.Truth("parallel_tool_calls", r.ParallelTools)
	e.searchesAtMost(r.Tools)
}

// noParameters is the schema of a function that takes nothing.
var noParameters = json.RawMessage(`{"type":"object","properties":{}}`)

func (e *requestEncoder) tool(t *llm.Tool, place int) {
	switch {
	case t.Search != nil && !e.Own:
		e.search(t.Search)
		return
	case t.Raw != nil:
		if !e.Own {
			e.RefuseTool(t.Raw, place)
		}
		e.Dst = append(e.Dst, t.Raw...)
		return
	}
	if t.CacheControl != nil {
		e.Drop("cache_control")
	}
	parameters, strict := t.Parameters, t.Strict
	if !e.Own && strict == nil {
		strict = new(bool) // left out it would be strict where it can be, unlike elsewhere
	}
	if !e.Own && parameters == nil {
		parameters = noParameters
	}
	e.Dst = append(e.Dst, `{"type":"function"`...)
	e.function(t.Name, t.Description, "parameters", parameters, strict)
	e.inside(t.Extra, "tool fields of another API")
	e.Dst = append(e.Dst, '}')
}

func (e *requestEncoder) toolChoice(c *llm.ToolChoice) {
	if c == nil || !e.Key("tool_choice") {
		return
	}
	switch {
	case c.Mode == llm.ToolsNamed:
		e.Dst = appendFunction(e.Dst, c.Name)
	case c.Allowed != nil && e.Own:
		e.Dst = append(e.Dst, `{"type":"allowed_tools","mode":`...)
		e.Dst = append(openai.AppendAllowed(e.Dst, c, appendFunction), '}')
	case c.Mode == llm.ToolsRequired && e.Quirks.RequiredToolChoice != "":
		e.Dst = rawjson.AppendString(e.Dst, e.Quirks.RequiredToolChoice)
	default:
		e.Dst = rawjson.AppendString(e.Dst, string(c.Mode))
	}
}

// appendFunction names a function.
func appendFunction(dst []byte, name string) []byte {
	return append(rawjson.AppendString(append(dst, `{"type":"function","name":`...), name), '}')
}

// inside writes extra members of an object within the body, and drops those of
// another wire format.
func (e *requestEncoder) inside(fields []llm.Field, what string) {
	if len(fields) > 0 && !e.Own {
		e.Drop(what)
		return
	}
	for _, f := range fields {
		if f.Name == markItem || f.Name == markContent {
			continue
		}
		e.InnerRaw(f.Name, f.Value)
	}
}

// extra writes the fields that nobody modelled, and drops those of another wire format.
func (e *requestEncoder) extra(fields []llm.Field) {
	for _, f := range fields {
		switch {
		case !e.Own:
			e.DropExtra(f.Name)
		case strings.HasPrefix(f.Name, inText), strings.HasPrefix(f.Name, inReasoning): // written with their objects
		default:
			e.Raw(f.Name, f.Value)
		}
	}
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
