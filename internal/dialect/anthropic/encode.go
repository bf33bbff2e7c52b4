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

// EncodeRequest writes the body of a request in the form of a provider with these quirks. Dropped names the fields that
// the format cannot carry, by their names in OpenAI's Chat Completions. EncodeRequest returns an *llm.Error that names
// a field if dropping it would change the meaning of the answer.
func EncodeRequest(r *llm.Request, q *llm.Quirks) (body []byte, dropped []string, err error) {
	r = cited(compose.InWords(Name, compose.Offered(Name, r)))
	if r.ExtraOf != Name {
		if err := refuse(r); err != nil {
			return nil, nil, err
		}
	}
	e := requestEncoder{messageEncoder{
		Writer: compose.New(Name, r, q), version: rules.VersionOf(r.Model, "claude"), cites: citesDocuments(r),
	}}
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

// outputCap returns the client's cap, or the default plus the budget for thinking.
func outputCap(r *llm.Request, how *thought) *int64 {
	if r.MaxOutput != nil {
		return r.MaxOutput
	}
	n := defaultOutput + how.budget
	return &n
}

// requestEncoder writes the settings and tools of a request next to its conversation.
type requestEncoder struct{ messageEncoder }

// sampling writes the sampling parameters.
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

// leastThinkingTopP is the lowest top_p of a model that thinks.
const leastThinkingTopP = 0.95

// chosen writes the sampling parameters of another format's request, except defaults. With thinking, the vendor accepts
// hardly any (https://platform.claude.com/docs/en/build-with-claude/extended-thinking, "Feature compatibility").
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
	case k == nil || *k < 0: // means no limit on some servers
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

// stops refuses stop sequences of white space only, as the vendor does.
func (e *requestEncoder) stops(list []string) []string {
	if !e.Own && slices.ContainsFunc(list, func(s string) bool { return strings.TrimSpace(s) == "" }) {
		e.Refuse("stop", "Anthropic accepts no stop sequence of only white space. Leave it out and cut the answer "+
			"yourself.")
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

// outputConfig writes the effort and the answer's schema, and the unmodelled members that a client of this format sent.
func (e *requestEncoder) outputConfig(r *llm.Request, how *thought) {
	var config []byte
	if how.effort != "" {
		config = rawjson.AppendMember(config, "effort", rawjson.AppendString(nil, how.effort))
	}
	if f := r.Format; f != nil && f.Kind == llm.FormatSchema {
		if f.Description != "" {
			e.Drop("response_format description")
		}
		schema := append([]byte(`{"type":"json_schema","schema":`), orEmpty(f.Schema)...)
		config = rawjson.AppendMember(config, "format", append(schema, '}'))
	}
	if e.Own {
		for _, f := range r.Extra {
			if f.Name != "output_config" {
				continue
			}
			for m := range rawjson.Members(f.Value) {
				config = rawjson.AppendMember(config, m.Name(), m.Value)
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

// extras writes unmodelled fields to a provider of the same format, and drops them otherwise.
func (e *requestEncoder) extras(r *llm.Request) {
	for _, f := range r.Extra {
		switch {
		case !e.Own && f.Name == "modalities": // other modalities than text were refused
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
		e.Dst = rawjson.AppendComma(e.Dst)
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

// schema returns the schema of a tool's input as one of an object, as the vendor requires.
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

// toolChoice also writes whether the model may call several tools at once; the vendor's default is yes.
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
