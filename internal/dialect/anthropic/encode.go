package anthropic

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"weir/internal/dialect/compose"
	"weir/internal/dialect/rules"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// EncodeRequest writes the body of a request in the words of a provider with
// these quirks. Dropped names, as OpenAI's Chat Completions calls it, what the
// format cannot carry and leaves out. What it cannot carry and would change the
// answer's meaning is an *llm.Error that names it.
func EncodeRequest(r *llm.Request, q *llm.Quirks) (body []byte, dropped []string, err error) {
	r = cited(compose.InWords(Name, compose.Offered(Name, r)))
	e := requestEncoder{version: rules.VersionOf(r.Model, "claude"), cites: citesDocuments(r)}
	if r.ExtraOf != Name {
		if err := e.refuse(r); err != nil {
			return nil, nil, err
		}
	}
	e.Writer = compose.New(Name, r, q)
	how := e.plan(r)
	e.Text("model", r.Model)
	e.Integer("max_tokens", outputCap(r, &how))
	e.messages(e.Objects(r.Messages))
	e.tools(r)
	e.sampling(r, &how)
	e.thinking(&how)
	e.options(r, &how)
	e.extras(r)
	return e.Close()
}

// outputCap is the client's, or the default beside what there is to think with.
func outputCap(r *llm.Request, how *thought) *int64 {
	if r.MaxOutput != nil {
		return r.MaxOutput
	}
	n := defaultOutput + how.budget
	return &n
}

type requestEncoder struct {
	compose.Writer
	version rules.Version // of a Claude; 0 for another model
	cites   bool          // documents of another format's request are to be cited
}

// sampling writes what chooses among the words.
func (e *requestEncoder) sampling(r *llm.Request, how *thought) {
	if e.Own {
		e.Number("temperature", r.Temperature)
		e.Number("top_p", r.TopP)
		e.Integer("top_k", r.TopK)
	} else {
		e.chosen(r, how)
		e.penalties(r)
	}
	if list := e.stops(r.Stop); len(list) > 0 && e.Key("stop_sequences") {
		e.Dst = rawjson.AppendStrings(e.Dst, list)
	}
}

// leastThinkingTopP is the least top_p of a model that thinks.
const leastThinkingTopP = 0.95

// chosen writes the sampling of another format's request, but for what a model has by default. While it thinks it takes
// next to none (https://platform.claude.com/docs/en/build-with-claude/extended-thinking, "Feature compatibility").
func (e *requestEncoder) chosen(r *llm.Request, how *thought) {
	keep := func(name string, n *json.Number, whileThinking float64) {
		if n == nil {
			return
		}
		switch v, err := n.Float64(); {
		case v == 1 && err == nil: // the default
		case err != nil, how.on() && v < whileThinking:
			e.Drop(name)
		default:
			e.Number(name, n)
		}
	}
	keep("temperature", r.Temperature, 1)
	keep("top_p", r.TopP, leastThinkingTopP)
	switch k := r.TopK; {
	case k == nil || *k < 0: // some servers' word for no limit
	case how.on():
		e.Drop("top_k")
	default:
		e.Integer("top_k", k)
	}
}

func (e *requestEncoder) penalties(r *llm.Request) {
	if r.FrequencyPenalty != nil {
		e.Drop("frequency_penalty")
	}
	if r.PresencePenalty != nil {
		e.Drop("presence_penalty")
	}
	if r.Seed != nil {
		e.Drop("seed")
	}
}

// stops refuses what holds nothing but white space, as the vendor does.
func (e *requestEncoder) stops(list []string) []string {
	if !e.Own && slices.ContainsFunc(list, func(s string) bool { return strings.TrimSpace(s) == "" }) {
		e.Refuse("stop", "Anthropic takes no stop sequence of white space alone. Leave it out, and cut the answer where it comes.")
	}
	return list
}

func (e *requestEncoder) options(r *llm.Request, how *thought) {
	e.outputConfig(r, how)
	if r.User != "" && e.Key("metadata") {
		e.Dst = rawjson.AppendString(append(e.Dst, `{"user_id":`...), r.User)
		e.Dst = append(e.Dst, '}')
	}
	if r.Stream {
		e.Raw("stream", []byte("true"))
	}
}

// outputConfig writes the effort and the answer's schema, beside what a client
// of this format had there that nobody modelled.
func (e *requestEncoder) outputConfig(r *llm.Request, how *thought) {
	var config []byte
	if how.effort != "" {
		config = appendMember(config, "effort", rawjson.AppendString(nil, how.effort))
	}
	if f := r.Format; f != nil && f.Kind == llm.FormatSchema {
		if f.Description != "" {
			e.Drop("response_format description")
		}
		schema := append([]byte(`{"type":"json_schema","schema":`), orEmpty(f.Schema)...)
		config = appendMember(config, "format", append(schema, '}'))
	}
	if e.Own {
		for _, f := range r.Extra {
			if f.Name != "output_config" {
				continue
			}
			for m := range rawjson.Members(f.Value) {
				config = appendMember(config, m.Name(), m.Value)
			}
		}
	}
	if config != nil {
		e.Raw("output_config", append(config, '}'))
	}
}

func orEmpty(schema []byte) []byte {
	if !rawjson.Present(schema) {
		return []byte("{}")
	}
	return schema
}

// extras writes what nobody modelled to a provider of the same format, and
// drops it otherwise.
func (e *requestEncoder) extras(r *llm.Request) {
	for _, f := range r.Extra {
		switch {
		case !e.Own && f.Name == "modalities": // text alone, else it was refused
		case !e.Own:
			e.Drop(f.Name)
		case f.Name != "output_config":
			e.Raw(f.Name, f.Value)
		}
	}
}

func (e *requestEncoder) tools(r *llm.Request) {
	if len(r.Tools) == 0 || !e.Key("tools") {
		if e.Own {
			e.toolChoice(r)
		}
		return
	}
	e.Dst = append(e.Dst, '[')
	for i := range r.Tools {
		if i > 0 {
			e.Dst = append(e.Dst, ',')
		}
		e.tool(&r.Tools[i])
	}
	e.Dst = append(e.Dst, ']')
	e.toolChoice(r)
}

func (e *requestEncoder) tool(t *llm.Tool) {
	switch {
	case t.Search != nil && !e.Own:
		e.search(t.Search)
		return
	case t.Raw != nil:
		e.Dst = append(e.Dst, t.Raw...)
		return
	}
	e.Dst = rawjson.AppendString(append(e.Dst, `{"name":`...), t.Name)
	if t.Description != "" {
		e.Inner("description", t.Description)
	}
	e.InnerRaw("input_schema", e.schema(t.Parameters))
	if t.Strict != nil {
		e.InnerRaw("strict", strconv.AppendBool(nil, *t.Strict))
	}
	e.mark(t.CacheControl)
	e.InnerExtras(t.Extra, "tool fields of another API")
	e.Dst = append(e.Dst, '}')
}

// schema is that of a tool's input, which the vendor wants to be an object's.
func (e *requestEncoder) schema(parameters []byte) []byte {
	switch {
	case e.Own && parameters != nil:
		return parameters
	case rawjson.KindOf(parameters) != rawjson.Object:
		return []byte(`{"type":"object","properties":{}}`)
	case rawjson.Present(rawjson.Get(parameters, "type")):
		return parameters
	}
	return rawjson.Splice(nil, parameters, rawjson.Set(parameters, "type", []byte(`"object"`)))
}

// toolChoice says as well whether several tools may be called at once; that
// they may is the vendor's default.
func (e *requestEncoder) toolChoice(r *llm.Request) {
	single := r.ParallelTools != nil && !*r.ParallelTools
	c := r.ToolChoice
	if c == nil && single {
		c = &llm.ToolChoice{Mode: llm.ToolsAuto}
	}
	if c == nil || !e.Key("tool_choice") {
		return
	}
	kind := string(c.Mode)
	switch c.Mode {
	case llm.ToolsRequired:
		kind = "any"
	case llm.ToolsNamed:
		kind = "tool"
	}
	e.Dst = rawjson.AppendString(append(e.Dst, `{"type":`...), kind)
	if c.Mode == llm.ToolsNamed {
		e.Inner("name", c.Name)
	}
	if c.Mode != llm.ToolsNone && (single || e.Own && r.ParallelTools != nil) {
		e.InnerRaw("disable_parallel_tool_use", strconv.AppendBool(nil, single))
	}
	e.Dst = append(e.Dst, '}')
}
