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

// EncodeRequest writes the body of a request in the form of a provider with these quirks. For a request of another wire
// format, it asks the provider to store nothing and to return its thinking encrypted, so that later requests can
// include it. Dropped names the fields that the format cannot carry; EncodeRequest returns an *llm.Error that names a
// field if dropping it would change the meaning.
func EncodeRequest(r *llm.Request, q *llm.Quirks) (body []byte, dropped []string, err error) {
	r = compose.Uncited(compose.Offered(Name, r), nil)
	e := requestEncoder{messageEncoder{Writer: compose.New(Name, r, q), of: r.ExtraOf}}
	e.breaks = openai.TakesBreakpoints(e.Quirks, r.Model)
	e.Text("model", r.Model)
	e.input(e.Objects(r.Messages))
	e.tools(r)
	e.sampling(r)
	e.options(r)
	compose.CarryCache(&e.Writer, r, openai.Name, e.breaks)
	e.extra(r.Extra)
	return e.Close()
}

// requestEncoder writes the settings and tools of a request next to its conversation.
type requestEncoder struct{ messageEncoder }

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
		e.Refuse("stop", "The model's API has no stop sequences. Leave them out and cut the answer yourself.")
	}
	if r.Choices != nil && *r.Choices > 1 {
		e.Refuse("n", "The model's API returns one answer per request. Set n to 1 or send several requests.")
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

// object writes an object of the body: its modelled members, then its extra fields.
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
			name = "answer" // the format requires a name
		}
		if schema == nil {
			schema = json.RawMessage("{}")
		}
		e.function(name, f.Description, "schema", schema, f.Strict)
	}
	e.Dst = append(e.Dst, '}')
}

// function writes the members that a function and a schema share.
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

// effort returns the reasoning effort. The format has no field for a budget in tokens, so that becomes the nearest
// effort. No rule does it: rules only change values of the same option.
func (e *requestEncoder) effort(o *llm.ReasoningOptions) string {
	if o == nil {
		return ""
	}
	e.DropThinking(o)
	if o.Effort == "" && o.Budget > 0 {
		e.Drop("reasoning budget")
		return compose.EffortOf(o.Budget)
	}
	return o.Effort
}

func (e *requestEncoder) tools(r *llm.Request) {
	if len(r.Tools) > 0 && e.Key("tools") {
		e.Dst = append(e.Dst, '[')
		for i := range r.Tools {
			e.Dst = rawjson.AppendComma(e.Dst)
			e.tool(&r.Tools[i], i)
		}
		e.Dst = append(e.Dst, ']')
	}
	if len(r.Tools) == 0 && !e.Own { // a choice without tools is refused
		return
	}
	e.toolChoice(r.ToolChoice)
	e.Truth("parallel_tool_calls", r.ParallelTools)
	e.searchesAtMost(r.Tools)
}

// noParameters is the schema of a function without parameters.
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
		strict = new(bool) // unlike other formats, the default here is strict
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

// appendFunction writes a choice of one function.
func appendFunction(dst []byte, name string) []byte {
	return append(rawjson.AppendString(append(dst, `{"type":"function","name":`...), name), '}')
}

// extra writes the unmodelled fields, and drops those of another wire format.
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
	for _, f := range fields {
		dst = rawjson.AppendMember(rawjson.AppendComma(dst), f.Name, f.Value)
	}
	return append(dst, '}')
}
