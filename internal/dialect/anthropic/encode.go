package anthropic

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"weir/internal/dialect/compose"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// EncodeRequest writes the body of a request in the words of a provider with
// these quirks. Dropped names, as OpenAI's Chat Completions calls it, what the
// format cannot carry and leaves out. What it cannot carry and would change the
// answer's meaning is an *llm.Error that names it.
func EncodeRequest(r *llm.Request, q *llm.Quirks) (body []byte, dropped []string, err error) {
	r = cited(compose.InWords(Name, compose.Offered(Name, r)))
	e := requestEncoder{generation: generationOf(r.Model), cites: citesDocuments(r)}
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
	generation generation
	cites      bool // documents of another format's request are to be cited
}

// sampling writes what chooses among the words.
func (e *requestEncoder) sampling(r *llm.Request, how *thought) {
	if e.Own {
		e.Number("temperature", r.Temperature)
		e.Number("top_p", r.TopP)
		e.Integer("top_k", r.TopK)
	} else {
		e.temperature(r.Temperature, how)
		e.nucleus(r, how)
		e.topK(r.TopK, how)
		e.penalties(r)
	}
	if list := e.stops(r.Stop); len(list) > 0 && e.Key("stop_sequences") {
		e.Dst = rawjson.AppendStrings(e.Dst, list)
	}
}

// unsampled reports whether the model, or this model while it thinks, takes no
// parameter of sampling.
func (e *requestEncoder) unsampled(how *thought) bool {
	return e.generation >= firstUnsampled || how.on()
}

// temperature goes to 1 here and to 2 elsewhere. Where the model takes none, 1
// is what it has.
func (e *requestEncoder) temperature(n *json.Number, how *thought) {
	if n == nil {
		return
	}
	switch t, err := n.Float64(); {
	case e.unsampled(how):
		if t != 1 || err != nil {
			e.Drop("temperature")
		}
	case t > 1 || err != nil:
		e.Drop("temperature")
		e.Raw("temperature", []byte("1"))
	default:
		e.Number("temperature", n)
	}
}

// leastThinkingTopP is the least top_p of a model that thinks.
const leastThinkingTopP = 0.95

func (e *requestEncoder) nucleus(r *llm.Request, how *thought) {
	if r.TopP == nil {
		return
	}
	p, err := r.TopP.Float64()
	if p == 1 && err == nil {
		return // what a model has by default
	}
	if e.generation >= firstUnsampled || err != nil || how.on() && p < leastThinkingTopP ||
		r.Temperature != nil && e.generation >= firstOneSampling {
		e.Drop("top_p")
		return
	}
	e.Number("top_p", r.TopP)
}

func (e *requestEncoder) topK(n *int64, how *thought) {
	switch {
	case n == nil || *n < 0: // some servers' word for no limit
	case e.unsampled(how):
		e.Drop("top_k")
	default:
		e.Integer("top_k", n)
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
