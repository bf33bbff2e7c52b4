package anthropic

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// EncodeRequest writes the body of a request in the words of a provider with
// these quirks. Dropped names, as OpenAI's Chat Completions calls it, what the
// format cannot carry and leaves out. What it cannot carry and would change the
// answer's meaning is an *llm.Error that names it.
func EncodeRequest(r *llm.Request, q *llm.Quirks) (body []byte, dropped []string, err error) {
	e := requestEncoder{q: q, own: r.ExtraOf == Name, generation: generationOf(r.Model)}
	if q == nil {
		e.q = &llm.Quirks{}
	}
	if !e.own {
		if err := e.refuse(r); err != nil {
			return nil, nil, err
		}
	}
	how := e.plan(r)
	e.dst = make([]byte, 0, sizeOf(r))
	e.dst = append(e.dst, '{')
	e.str("model", r.Model)
	e.integer("max_tokens", outputCap(r, &how))
	e.messages(r.Messages)
	e.tools(r)
	e.sampling(r, &how)
	e.thinking(&how)
	e.options(r, &how)
	e.extras(r)
	return append(e.dst, '}'), e.dropped, nil
}

// outputCap is the client's, or the default beside what there is to think with.
func outputCap(r *llm.Request, how *thought) *int64 {
	if r.MaxOutput != nil {
		return r.MaxOutput
	}
	n := defaultOutput + how.budget
	return &n
}

// sizeOf guesses the length of the body, so that it is allocated once.
func sizeOf(r *llm.Request) int {
	n := 256 + len(r.Model)
	for i := range r.Messages {
		n += 64
		for j := range r.Messages[i].Parts {
			p := &r.Messages[i].Parts[j]
			n += 64 + len(p.Text) + len(p.Text)/16 + len(p.Raw) + len(p.Signature)
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
	dst        []byte
	q          *llm.Quirks
	own        bool // extras are in this format's words
	generation generation
	dropped    []string
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

// inner writes a member of an object within the body, where the provider's
// quirks do not reach.
func (e *requestEncoder) inner(name, value string) {
	e.dst = append(rawjson.AppendString(append(e.dst, ','), name), ':')
	e.dst = rawjson.AppendString(e.dst, value)
}

func (e *requestEncoder) innerRaw(name string, value []byte) {
	e.dst = append(rawjson.AppendString(append(e.dst, ','), name), ':')
	e.dst = append(e.dst, value...)
}

// sampling writes what chooses among the words.
func (e *requestEncoder) sampling(r *llm.Request, how *thought) {
	if e.own {
		e.number("temperature", r.Temperature)
		e.number("top_p", r.TopP)
		e.integer("top_k", r.TopK)
	} else {
		e.temperature(r.Temperature, how)
		e.nucleus(r, how)
		e.topK(r.TopK, how)
		e.penalties(r)
	}
	if list := e.stops(r.Stop); len(list) > 0 && e.key("stop_sequences") {
		e.dst = appendStrings(e.dst, list)
	}
}

func (e *requestEncoder) number(name string, n *json.Number) {
	if n != nil && e.key(name) {
		e.dst = append(e.dst, *n...)
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
			e.drop("temperature")
		}
	case t > 1 || err != nil:
		e.drop("temperature")
		e.raw("temperature", []byte("1"))
	default:
		e.number("temperature", n)
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
		e.drop("top_p")
		return
	}
	e.number("top_p", r.TopP)
}

func (e *requestEncoder) topK(n *int64, how *thought) {
	switch {
	case n == nil || *n < 0: // some servers' word for no limit
	case e.unsampled(how):
		e.drop("top_k")
	default:
		e.integer("top_k", n)
	}
}

func (e *requestEncoder) penalties(r *llm.Request) {
	if r.FrequencyPenalty != nil {
		e.drop("frequency_penalty")
	}
	if r.PresencePenalty != nil {
		e.drop("presence_penalty")
	}
	if r.Seed != nil {
		e.drop("seed")
	}
}

// stops leaves out what holds nothing but white space: the vendor refuses it.
func (e *requestEncoder) stops(list []string) []string {
	if e.own {
		return list
	}
	var kept []string
	for _, s := range list {
		if strings.TrimSpace(s) == "" {
			e.drop("stop")
			continue
		}
		kept = append(kept, s)
	}
	return kept
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

func (e *requestEncoder) options(r *llm.Request, how *thought) {
	e.outputConfig(r, how)
	if r.User != "" && e.key("metadata") {
		e.dst = rawjson.AppendString(append(e.dst, `{"user_id":`...), r.User)
		e.dst = append(e.dst, '}')
	}
	if r.Stream {
		e.raw("stream", []byte("true"))
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
			e.drop("response_format description")
		}
		schema := append([]byte(`{"type":"json_schema","schema":`), orEmpty(f.Schema)...)
		config = appendMember(config, "format", append(schema, '}'))
	}
	if e.own {
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
		e.raw("output_config", append(config, '}'))
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
		case !e.own && f.Name == "modalities": // text alone, else it was refused
		case !e.own:
			e.drop(f.Name)
		case f.Name != "output_config":
			e.raw(f.Name, f.Value)
		}
	}
}

func (e *requestEncoder) tools(r *llm.Request) {
	if len(r.Tools) == 0 || !e.key("tools") {
		if e.own {
			e.toolChoice(r)
		}
		return
	}
	e.dst = append(e.dst, '[')
	for i := range r.Tools {
		if i > 0 {
			e.dst = append(e.dst, ',')
		}
		e.tool(&r.Tools[i])
	}
	e.dst = append(e.dst, ']')
	e.toolChoice(r)
}

func (e *requestEncoder) tool(t *llm.Tool) {
	if t.Raw != nil {
		e.dst = append(e.dst, t.Raw...)
		return
	}
	e.dst = rawjson.AppendString(append(e.dst, `{"name":`...), t.Name)
	if t.Description != "" {
		e.inner("description", t.Description)
	}
	e.innerRaw("input_schema", e.schema(t.Parameters))
	if t.Strict != nil {
		e.innerRaw("strict", strconv.AppendBool(nil, *t.Strict))
	}
	e.extra(t.Extra, "tool fields of another API")
	e.dst = append(e.dst, '}')
}

// schema is that of a tool's input, which the vendor wants to be an object's.
func (e *requestEncoder) schema(parameters []byte) []byte {
	switch {
	case e.own && parameters != nil:
		return parameters
	case rawjson.KindOf(parameters) != rawjson.Object:
		return []byte(`{"type":"object","properties":{}}`)
	case rawjson.Present(rawjson.Get(parameters, "type")):
		return parameters
	}
	return rawjson.Splice(nil, parameters, rawjson.Set(parameters, "type", []byte(`"object"`)))
}

// extra writes members in this format's words, and drops those of another.
func (e *requestEncoder) extra(fields []llm.Field, what string) {
	if len(fields) > 0 && !e.own {
		e.drop(what)
		return
	}
	for _, f := range fields {
		e.innerRaw(f.Name, f.Value)
	}
}

// toolChoice says as well whether several tools may be called at once; that
// they may is the vendor's default.
func (e *requestEncoder) toolChoice(r *llm.Request) {
	single := r.ParallelTools != nil && !*r.ParallelTools
	c := r.ToolChoice
	if c == nil && single {
		c = &llm.ToolChoice{Mode: llm.ToolsAuto}
	}
	if c == nil || !e.key("tool_choice") {
		return
	}
	kind := string(c.Mode)
	switch c.Mode {
	case llm.ToolsRequired:
		kind = "any"
	case llm.ToolsNamed:
		kind = "tool"
	}
	e.dst = rawjson.AppendString(append(e.dst, `{"type":`...), kind)
	if c.Mode == llm.ToolsNamed {
		e.inner("name", c.Name)
	}
	if c.Mode != llm.ToolsNone && (single || e.own && r.ParallelTools != nil) {
		e.innerRaw("disable_parallel_tool_use", strconv.AppendBool(nil, single))
	}
	e.dst = append(e.dst, '}')
}
