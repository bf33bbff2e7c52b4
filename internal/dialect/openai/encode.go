package openai

import (
	"cmp"
	"strconv"
	"strings"

	"weir/internal/dialect/compose"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// EncodeRequest writes the body of a request in the form of a provider with these quirks. A stream always requests its
// usage. Dropped names the fields that the format cannot carry, and fields of other wire formats.
func EncodeRequest(r *llm.Request, q *llm.Quirks) (body []byte, dropped []string, err error) {
	r = compose.Uncited(compose.Offered(Name, r), nil)
	e := requestEncoder{messageEncoder{Writer: compose.New(Name, r, q), of: r.ExtraOf, wants: r.Wants}}
	e.breaks = TakesBreakpoints(e.Quirks, r.Model)
	e.Text("model", r.Model)
	e.messages(e.Objects(r.Messages))
	e.tools(r)
	e.sampling(r)
	e.options(r)
	e.Logprobs(r)
	compose.CarryCache(&e.Writer, r, "responses", e.breaks)
	e.Extras(r.Extra)
	return e.Close()
}

// requestEncoder writes the settings and tools of a request next to its conversation.
type requestEncoder struct{ messageEncoder }

func (e *requestEncoder) sampling(r *llm.Request) {
	e.Integer(cmp.Or(e.Quirks.MaxOutputField, outputCap), r.MaxOutput)
	e.Number("temperature", r.Temperature)
	e.Number("top_p", r.TopP)
	if r.TopK != nil && e.Extends("top_k") {
		e.Integer("top_k", r.TopK)
	} else if r.TopK != nil {
		e.Drop("top_k")
	}
	e.Number("frequency_penalty", r.FrequencyPenalty)
	e.Number("presence_penalty", r.PresencePenalty)
	e.Integer("seed", r.Seed)
	e.Integer("n", r.Choices)
	if len(r.Stop) > 0 && e.Key("stop") {
		e.Dst = rawjson.AppendStrings(e.Dst, r.Stop)
	}
}

func (e *requestEncoder) options(r *llm.Request) {
	if r.Format != nil && e.Key("response_format") {
		e.format(r.Format)
	}
	e.reasoning(r.Reasoning)
	if r.User != "" {
		e.Text("user", r.User)
	}
	if !r.Stream {
		return
	}
	e.Raw("stream", []byte("true"))
	if !e.Quirks.NoStreamOptions {
		e.Raw("stream_options", []byte(`{"include_usage":true}`))
	}
}

func (e *requestEncoder) format(f *llm.Format) {
	e.Dst = rawjson.AppendString(append(e.Dst, `{"type":`...), string(f.Kind))
	if f.Kind == llm.FormatSchema {
		e.Dst = append(e.Dst, `,"json_schema":`...)
		name := f.Name
		if name == "" {
			name = "answer" // the format requires a name
		}
		e.named(name, f.Description, "schema", f.Schema, f.Strict)
		e.Dst = e.Dst[:len(e.Dst)-1]
		e.InnerExtras(f.Extra, "response_format fields of another API")
		e.Dst = append(e.Dst, '}')
	}
	e.Dst = append(e.Dst, '}')
}

// named writes the members that a function and a schema share.
func (e *requestEncoder) named(name, description, schemaName string, schema []byte, strict *bool) {
	e.Dst = rawjson.AppendString(append(e.Dst, `{"name":`...), name)
	if description != "" {
		e.Dst = rawjson.AppendString(append(e.Dst, `,"description":`...), description)
	}
	if schema != nil {
		e.Dst = rawjson.AppendMember(e.Dst, schemaName, schema)
	}
	if strict != nil {
		e.Dst = strconv.AppendBool(append(e.Dst, `,"strict":`...), *strict)
	}
	e.Dst = append(e.Dst, '}')
}

// reasoning writes the effort. The format has no field for a budget in tokens, so that becomes the nearest effort.
// No rule replaces max: OpenAI's schema has it, and no page lists the models that accept it.
func (e *requestEncoder) reasoning(o *llm.ReasoningOptions) {
	if o == nil {
		return
	}
	e.DropThinking(o)
	effort := o.Effort
	if effort == "" && o.Budget > 0 {
		e.Drop("reasoning budget")
		effort = compose.EffortOf(o.Budget)
	}
	if effort == "max" && !e.Own { // Anthropic's; high is the highest that all models know
		effort = "high"
	}
	if effort != "" {
		e.Text("reasoning_effort", effort)
	}
}

func (e *requestEncoder) tools(r *llm.Request) {
	if !e.Own {
		r = e.searched(r)
	}
	if len(r.Tools) == 0 || !e.Key("tools") { // providers refuse an empty list, and a choice without tools
		return
	}
	e.Dst = append(e.Dst, '[')
	for i := range r.Tools {
		e.Dst = rawjson.AppendComma(e.Dst)
		e.tool(&r.Tools[i], i)
	}
	e.Dst = append(e.Dst, ']')
	e.toolChoice(r.ToolChoice)
	e.Truth("parallel_tool_calls", r.ParallelTools)
}

// besideFunction prefixes the names of the Extra fields of a tool that are next to its function.
const besideFunction = "tool."

func (e *requestEncoder) tool(t *llm.Tool, place int) {
	switch {
	case t.Search != nil && !e.Own:
		e.Dst = append(e.Dst, SearchTool(t.Search, e.Quirks)...)
		return
	case t.Raw != nil && !e.Own:
		e.RefuseTool(t.Raw, place)
		return
	case t.Raw != nil:
		e.Dst = append(e.Dst, t.Raw...)
		return
	}
	e.Dst = append(e.Dst, `{"type":"function","function":`...)
	e.named(t.Name, t.Description, "parameters", t.Parameters, t.Strict)
	if !e.Own {
		switch {
		case t.CacheControl == nil:
		case e.Extends("tools.cache_control"):
			e.InnerRaw("cache_control", t.CacheControl)
		default:
			e.Drop("cache_control")
		}
		e.InnerExtras(t.Extra, "tool fields of another API")
		e.Dst = append(e.Dst, '}')
		return
	}
	e.Dst = e.Dst[:len(e.Dst)-1]
	for _, f := range t.Extra {
		if !strings.HasPrefix(f.Name, besideFunction) {
			e.InnerRaw(f.Name, f.Value)
		}
	}
	e.Dst = append(e.Dst, '}')
	for _, f := range t.Extra {
		if name, ok := strings.CutPrefix(f.Name, besideFunction); ok {
			e.InnerRaw(name, f.Value)
		}
	}
	if t.CacheControl != nil {
		e.InnerRaw("cache_control", t.CacheControl)
	}
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
		e.Dst = append(e.Dst, `{"type":"allowed_tools","allowed_tools":{"mode":`...)
		e.Dst = append(AppendAllowed(e.Dst, c, appendFunction), "}}"...)
	case c.Mode == llm.ToolsRequired && e.Quirks.RequiredToolChoice != "":
		e.Dst = rawjson.AppendString(e.Dst, e.Quirks.RequiredToolChoice)
	default:
		e.Dst = rawjson.AppendString(e.Dst, string(c.Mode))
	}
}

// appendFunction writes a choice of one function.
func appendFunction(dst []byte, name string) []byte {
	dst = rawjson.AppendString(append(dst, `{"type":"function","function":{"name":`...), name)
	return append(dst, "}}"...)
}

// AppendAllowed writes the mode of a choice among some of the functions, and their names by the given function.
func AppendAllowed(dst []byte, c *llm.ToolChoice, function func(dst []byte, name string) []byte) []byte {
	dst = append(rawjson.AppendString(dst, string(c.Mode)), `,"tools":[`...)
	for _, name := range c.Allowed {
		dst = function(rawjson.AppendComma(dst), name)
	}
	return append(dst, ']')
}
