package gemini

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// EncodeRequest writes the body of a request. Dropped names what the format
// cannot carry and can do without; what would change the meaning is refused
// with an *llm.Error instead. Of the quirks, Drop (by OpenAI's names) and
// NoCallIDs count.
func EncodeRequest(r *llm.Request, q *llm.Quirks) (body []byte, dropped []string, err error) {
	if q == nil {
		q = &llm.Quirks{}
	}
	e := requestEncoder{q: q, own: r.ExtraOf == Name, model: r.Model, modern: isModern(r.Model), called: map[string]called{}}
	e.dst = append(make([]byte, 0, sizeOf(r)), '{')
	e.contents(r.Messages)
	e.system(r.Messages)
	e.tools(r)
	e.config(r)
	e.extras(r.Extra)
	if e.err != nil {
		return nil, nil, e.err
	}
	return append(e.dst, '}'), e.dropped, nil
}

// sizeOf guesses the length of the body, so that it is allocated once.
func sizeOf(r *llm.Request) int {
	n := 256
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
	own     bool              // extras are in this format's words
	model   string            // the provider's name of it
	modern  bool              // the model is of the third generation or later
	called  map[string]called // the calls so far, by their ids
	calls   int
	dropped []string
	err     error // the first refusal
}

// drop notes, once, what is left out.
func (e *requestEncoder) drop(what string) {
	if !slices.Contains(e.dropped, what) {
		e.dropped = append(e.dropped, what)
	}
}

// refuse ends the encoding: what is at that parameter cannot be carried, nor
// left out.
func (e *requestEncoder) refuse(param, message string) {
	if e.err == nil {
		e.err = llm.Invalid(param, message)
	}
}

// key begins a member of the object at hand.
func (e *requestEncoder) key(name string) {
	if e.dst[len(e.dst)-1] != '{' {
		e.dst = append(e.dst, ',')
	}
	e.dst = append(rawjson.AppendString(e.dst, name), ':')
}

func (e *requestEncoder) str(name, value string) {
	e.key(name)
	e.dst = rawjson.AppendString(e.dst, value)
}

func (e *requestEncoder) raw(name string, value []byte) {
	e.key(name)
	e.dst = append(e.dst, value...)
}

// takes reports whether the provider takes the option that OpenAI calls so.
func (e *requestEncoder) takes(name string) bool {
	if slices.Contains(e.q.Drop, name) {
		e.drop(name)
		return false
	}
	return true
}

func (e *requestEncoder) integer(name, openai string, n *int64) {
	if n != nil && e.takes(openai) {
		e.key(name)
		e.dst = strconv.AppendInt(e.dst, *n, 10)
	}
}

func (e *requestEncoder) number(name, openai string, n *json.Number) {
	if n != nil && e.takes(openai) {
		e.raw(name, []byte(*n))
	}
}

// config writes the generationConfig, where there is anything in it.
func (e *requestEncoder) config(r *llm.Request) {
	before := len(e.dst)
	e.key("generationConfig")
	e.dst = append(e.dst, '{')
	empty := len(e.dst)
	e.sampling(r)
	e.format(r.Format)
	e.thinking(r)
	if e.own {
		for _, f := range r.Extra {
			if name, ok := strings.CutPrefix(f.Name, inConfig); ok && name != "thinkingConfig" {
				e.raw(name, f.Value)
			}
		}
	}
	if len(e.dst) == empty {
		e.dst = e.dst[:before]
		return
	}
	e.dst = append(e.dst, '}')
}

func (e *requestEncoder) sampling(r *llm.Request) {
	e.integer("maxOutputTokens", "max_completion_tokens", r.MaxOutput)
	e.number("temperature", "temperature", r.Temperature)
	e.number("topP", "top_p", r.TopP)
	e.integer("topK", "top_k", r.TopK)
	e.number("presencePenalty", "presence_penalty", r.PresencePenalty)
	e.number("frequencyPenalty", "frequency_penalty", r.FrequencyPenalty)
	e.integer("candidateCount", "n", r.Choices)
	if s := r.Seed; s != nil && !e.own && (*s < math.MinInt32 || *s > math.MaxInt32) {
		e.drop("seed") // here it has 32 bits
	} else {
		e.integer("seed", "seed", s)
	}
	if len(r.Stop) > 0 && e.takes("stop") {
		e.key("stopSequences")
		e.dst = appendStrings(e.dst, r.Stop)
	}
	if r.User != "" {
		e.drop("user")
	}
}

func appendStrings(dst []byte, all []string) []byte {
	dst = append(dst, '[')
	for i, s := range all {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = rawjson.AppendString(dst, s)
	}
	return append(dst, ']')
}

// format asks for structured output. A schema is always kept to here, strict or
// not.
func (e *requestEncoder) format(f *llm.Format) {
	if f == nil || f.Kind == llm.FormatText && !e.own {
		return
	}
	if f.Kind == llm.FormatText {
		e.str("responseMimeType", mimeText)
		return
	}
	e.str("responseMimeType", mimeJSON)
	if f.Description != "" {
		e.drop("response_format.json_schema.description")
	}
	switch {
	case e.own && len(f.Extra) > 0:
		for _, s := range f.Extra {
			e.raw(s.Name, s.Value)
		}
	case f.Kind == llm.FormatSchema && f.Schema != nil:
		e.raw("responseJsonSchema", f.Schema)
	}
}

// Thinking tokens for OpenAI's efforts, as Google's own translation has them:
// https://ai.google.dev/gemini-api/docs/openai#thinking.
const (
	leastBudget  = 128
	lowBudget    = 1024
	mediumBudget = 8192
	highBudget   = 24576
)

// thinking writes the thinkingConfig. Whoever asks for thinking in another
// format's words gets to see it, as there.
func (e *requestEncoder) thinking(r *llm.Request) {
	rest := thinkingRest(r, e.own)
	if r.Reasoning == nil && rest == nil || !e.takes("reasoning_effort") {
		return
	}
	e.key("thinkingConfig")
	e.dst = append(e.dst, '{')
	if o := r.Reasoning; o != nil && e.own {
		e.ownThinking(o)
	} else if o != nil {
		e.effort(o)
	}
	for m := range rawjson.Members(rest) {
		e.raw(m.Name(), m.Value)
	}
	e.dst = append(e.dst, '}')
}

// thinkingRest is what a thinkingConfig had beside level and budget.
func thinkingRest(r *llm.Request, own bool) []byte {
	for _, f := range r.Extra {
		if own && f.Name == inConfig+"thinkingConfig" {
			return f.Value
		}
	}
	return nil
}

func (e *requestEncoder) ownThinking(o *llm.ReasoningOptions) {
	budget := o.Budget
	if o.Effort == effortNone {
		e.raw("thinkingBudget", []byte{'0'})
	} else if o.Effort != "" {
		e.str("thinkingLevel", strings.ToUpper(o.Effort))
	}
	if budget > 0 {
		e.integer("thinkingBudget", "", &budget)
	}
}

func (e *requestEncoder) effort(o *llm.ReasoningOptions) {
	budget := o.Budget
	switch {
	case budget > 0 && o.Effort != effortNone:
		e.integer("thinkingBudget", "", &budget)
	case e.modern:
		e.level(o.Effort)
	case o.Effort != "":
		budget = e.budgetOf(o.Effort)
		e.integer("thinkingBudget", "", &budget)
	}
	if o.Effort != effortNone {
		e.raw("includeThoughts", []byte("true"))
	}
}

// budgetOf is the budget for an effort. The larger models cannot be kept from
// thinking.
func (e *requestEncoder) budgetOf(effort string) int64 {
	switch effort {
	case effortNone:
		if strings.Contains(e.model, "-pro") {
			e.drop("reasoning_effort")
			return leastBudget
		}
		return 0
	case "minimal", "low":
		return lowBudget
	case "medium":
		return mediumBudget
	}
	return highBudget
}

// level writes the level for an effort. Below "low" not every model goes, and
// none can be kept from thinking.
func (e *requestEncoder) level(effort string) {
	switch effort {
	case "":
	case effortNone:
		e.drop("reasoning_effort")
		e.str("thinkingLevel", "LOW")
	case "minimal", "low":
		e.str("thinkingLevel", "LOW")
	case "medium":
		e.str("thinkingLevel", "MEDIUM")
	default:
		e.str("thinkingLevel", "HIGH")
	}
}

// extras writes the top-level fields that nobody modelled. In the words of
// another API they are dropped, but for those without which the answer would be
// another one.
func (e *requestEncoder) extras(extra []llm.Field) {
	for _, f := range extra {
		switch {
		case e.own && strings.HasPrefix(f.Name, inConfig):
		case e.own:
			e.raw(f.Name, f.Value)
		case isEssential(f):
			e.refuse(f.Name, "The provider of this model has no way to carry the "+f.Name+" of this request. Leave it out or choose another model.")
		default:
			e.drop(f.Name)
		}
	}
}

// isEssential tells fields of other APIs that demand a tool, a tool choice, a
// shape of the answer, or hold part of the conversation.
func isEssential(f llm.Field) bool {
	switch f.Name {
	case "tool_choice", "response_format", "web_search_options", "audio", "mcp_servers",
		"previous_response_id", "conversation", "prompt":
		return true
	case "modalities":
		for _, m := range rawjson.Elements(f.Value) {
			if rawjson.Text(m) != "text" {
				return true
			}
		}
	}
	return false
}
