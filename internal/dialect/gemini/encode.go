package gemini

import (
	"encoding/json"
	"strconv"
	"strings"

	"weir/internal/dialect/compose"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// EncodeRequest writes the body of a request. Dropped names the fields that the format cannot carry; EncodeRequest
// returns an *llm.Error if dropping a field would change the meaning. Of the quirks, it uses Drop (by OpenAI's names)
// and NoCallIDs.
func EncodeRequest(r *llm.Request, q *llm.Quirks) (body []byte, dropped []string, err error) {
	r = compose.Uncited(compose.Offered(Name, r), nil)
	e := requestEncoder{
		messageEncoder: messageEncoder{
			Writer: compose.New(Name, r, q), modern: isModern(r.Model), called: map[string]called{},
		},
		model: r.Model,
	}
	e.contents(e.Objects(r.Messages))
	e.system(r.Messages)
	e.tools(r)
	e.config(r)
	e.extras(r.Extra)
	return e.Close()
}

// requestEncoder writes the settings and tools of a request next to its conversation.
type requestEncoder struct {
	messageEncoder
	model string // the provider's name
}

// integer writes an option that quirks name by OpenAI's name.
func (e *requestEncoder) integer(name, openai string, n *int64) {
	if n != nil && e.Takes(openai) {
		e.Name(name)
		e.Dst = strconv.AppendInt(e.Dst, *n, 10)
	}
}

func (e *requestEncoder) number(name, openai string, n *json.Number) {
	if n != nil && e.Takes(openai) {
		e.InnerRaw(name, []byte(*n))
	}
}

// config writes the generationConfig unless it is empty.
func (e *requestEncoder) config(r *llm.Request) {
	before := len(e.Dst)
	e.Name("generationConfig")
	e.Dst = append(e.Dst, '{')
	empty := len(e.Dst)
	e.sampling(r)
	e.format(r.Format)
	e.thinking(r)
	e.logprobs(r)
	if e.Own {
		for _, f := range r.Extra {
			if name, ok := strings.CutPrefix(f.Name, inConfig); ok && name != "thinkingConfig" {
				e.InnerRaw(name, f.Value)
			}
		}
	}
	if len(e.Dst) == empty {
		e.Dst = e.Dst[:before]
		return
	}
	e.Dst = append(e.Dst, '}')
}

func (e *requestEncoder) sampling(r *llm.Request) {
	e.integer("maxOutputTokens", "max_completion_tokens", r.MaxOutput)
	e.number("temperature", "temperature", r.Temperature)
	e.number("topP", "top_p", r.TopP)
	e.integer("topK", "top_k", r.TopK)
	e.number("presencePenalty", "presence_penalty", r.PresencePenalty)
	e.number("frequencyPenalty", "frequency_penalty", r.FrequencyPenalty)
	e.integer("candidateCount", "n", r.Choices)
	e.integer("seed", "seed", r.Seed)
	if len(r.Stop) > 0 && e.Takes("stop") {
		e.Name("stopSequences")
		e.Dst = rawjson.AppendStrings(e.Dst, r.Stop)
	}
	if r.User != "" {
		e.Drop("user")
	}
}

// format requests structured output. The provider always enforces a schema, strict or not.
func (e *requestEncoder) format(f *llm.Format) {
	if f == nil || f.Kind == llm.FormatText && !e.Own {
		return
	}
	if f.Kind == llm.FormatText {
		e.Inner("responseMimeType", mimeText)
		return
	}
	e.Inner("responseMimeType", mimeJSON)
	if f.Description != "" {
		e.Drop("response_format.json_schema.description")
	}
	switch {
	case e.Own && len(f.Extra) > 0:
		for _, s := range f.Extra {
			e.InnerRaw(s.Name, s.Value)
		}
	case f.Kind == llm.FormatSchema && f.Schema != nil:
		e.InnerRaw("responseJsonSchema", f.Schema)
	}
}

// Thinking tokens for OpenAI's efforts, as in Google's own translation:
// https://ai.google.dev/gemini-api/docs/openai#thinking.
const (
	leastBudget  = 128
	lowBudget    = 1024
	mediumBudget = 8192
	highBudget   = 24576
)

// thinking writes the thinkingConfig. A request of another format that asks for thinking receives its text, as in that
// format. No rule chooses level or budget: they are two fields for one option, and rules only change values.
func (e *requestEncoder) thinking(r *llm.Request) {
	rest := thinkingRest(r, e.Own)
	if r.Reasoning == nil && rest == nil || !e.Takes("reasoning_effort") {
		return
	}
	e.Name("thinkingConfig")
	e.Dst = append(e.Dst, '{')
	if o := r.Reasoning; o != nil && e.Own {
		e.ownThinking(o)
	} else if o != nil {
		e.effort(o)
	}
	for m := range rawjson.Members(rest) {
		e.InnerRaw(m.Name(), m.Value)
	}
	e.Dst = append(e.Dst, '}')
}

// thinkingRest returns the members of a thinkingConfig other than level and budget.
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
		e.InnerRaw("thinkingBudget", []byte{'0'})
	} else if o.Effort != "" {
		e.Inner("thinkingLevel", strings.ToUpper(o.Effort))
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
		e.InnerRaw("includeThoughts", []byte("true"))
	}
}

// budgetOf returns the budget for an effort. The larger models cannot switch thinking off.
func (e *requestEncoder) budgetOf(effort string) int64 {
	switch effort {
	case effortNone:
		if strings.Contains(e.model, "-pro") {
			e.Drop("reasoning_effort")
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

// level writes the level for an effort. Some models support no level below "low", and none can switch thinking off.
func (e *requestEncoder) level(effort string) {
	switch effort {
	case "":
	case effortNone:
		e.Drop("reasoning_effort")
		e.Inner("thinkingLevel", "LOW")
	case "minimal", "low":
		e.Inner("thinkingLevel", "LOW")
	case "medium":
		e.Inner("thinkingLevel", "MEDIUM")
	default:
		e.Inner("thinkingLevel", "HIGH")
	}
}

// extras writes the unmodelled top-level fields, and drops those of another API.
func (e *requestEncoder) extras(extra []llm.Field) {
	for _, f := range extra {
		switch {
		case e.Own && strings.HasPrefix(f.Name, inConfig):
		case e.Own:
			e.InnerRaw(f.Name, f.Value)
		default:
			e.DropExtra(f.Name)
		}
	}
}
