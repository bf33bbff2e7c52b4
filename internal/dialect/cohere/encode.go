package cohere

import (
	"strconv"

	"weir/internal/dialect/compose"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// EncodeRequest writes the body of a request in the form of a provider with these quirks. It returns an *llm.Error that
// names a field if the format cannot carry it and dropping it would change the meaning. Dropped names the other fields
// that are left out or adapted: preferences, and fields of other wire formats.
func EncodeRequest(r *llm.Request, q *llm.Quirks) (body []byte, dropped []string, err error) {
	r = uncited(compose.Offered(Name, r))
	e := requestEncoder{Writer: compose.New(Name, r, q)}
	e.gather(r)
	e.Text("model", r.Model)
	e.messages(e.Objects(r.Messages))
	if e.documents != nil && e.Key("documents") {
		e.Dst = append(append(append(e.Dst, '['), e.documents...), ']')
	}
	e.tools(r)
	e.sampling(r)
	e.options(r)
	e.Extras(r.Extra)
	return e.Close()
}

type requestEncoder struct {
	compose.Writer
	documents []byte          // that the answer must cite
	ids       map[string]bool // of these documents
}

func (e *requestEncoder) sampling(r *llm.Request) {
	if r.MaxOutput != nil && e.Takes(outputCap) {
		e.Name(Renamed(outputCap, e.Quirks))
		e.Dst = strconv.AppendInt(e.Dst, *r.MaxOutput, 10)
	}
	e.Number("temperature", r.Temperature)
	e.Number("p", r.TopP)
	e.Integer("k", r.TopK)
	e.Number("frequency_penalty", r.FrequencyPenalty)
	e.Number("presence_penalty", r.PresencePenalty)
	e.Integer("seed", r.Seed)
	if len(r.Stop) > 0 && e.Key("stop_sequences") {
		e.Dst = rawjson.AppendStrings(e.Dst, r.Stop)
	}
	if r.Choices != nil && *r.Choices > 1 {
		e.Refuse("n", "Cohere returns one answer per request. Set n to 1 or send several requests.")
	}
}

func (e *requestEncoder) options(r *llm.Request) {
	if r.Format != nil {
		e.format(r.Format)
	}
	if r.Reasoning != nil {
		e.thinking(r.Reasoning)
	}
	if r.User != "" {
		e.Drop("user")
	}
	if r.Stream {
		e.Raw("stream", []byte("true"))
	}
}

// format writes the form of the answer. A schema needs no name in this format, and is always enforced.
func (e *requestEncoder) format(f *llm.Format) {
	kind := f.Kind
	if kind == llm.FormatSchema {
		kind = llm.FormatJSON
	}
	if f.Description != "" {
		e.Drop("response_format.json_schema.description")
	}
	if len(f.Extra) > 0 {
		e.Drop("response_format fields of another API")
	}
	if !e.Key("response_format") {
		return
	}
	e.Dst = rawjson.AppendString(append(e.Dst, `{"type":`...), string(kind))
	if f.Kind == llm.FormatSchema && f.Schema != nil {
		e.Dst = append(append(e.Dst, `,"json_schema":`...), f.Schema...)
	}
	e.Dst = append(e.Dst, '}')
}

// The efforts with a separate meaning here.
const (
	effortNone = "none"
	effortHigh = "high"
)

// Thinking budgets, in tokens, that stand for efforts below the highest.
const (
	lowBudget    = 1024
	mediumBudget = 8192
)

// thinking writes whether the model thinks, and its budget. The format has no efforts: lower ones become a budget,
// higher ones have no limit. No rule does it: rules only change values of the same option.
func (e *requestEncoder) thinking(o *llm.ReasoningOptions) {
	e.DropThinking(o)
	budget := o.Budget
	if budget == 0 {
		switch o.Effort {
		case "":
			return
		case effortNone:
			e.Raw("thinking", []byte(`{"type":"disabled"}`))
			return
		case "minimal", "low":
			budget = lowBudget
		case "medium":
			budget = mediumBudget
		case effortHigh, "xhigh", "max":
		default:
			e.Drop("reasoning_effort")
			return
		}
	}
	if !e.Key("thinking") {
		return
	}
	e.Dst = append(e.Dst, `{"type":"enabled"`...)
	if budget > 0 {
		e.Dst = strconv.AppendInt(append(e.Dst, `,"token_budget":`...), budget, 10)
	}
	e.Dst = append(e.Dst, '}')
}

// Renamed returns the provider's name of a field.
func Renamed(name string, q *llm.Quirks) string {
	if name == outputCap && q.MaxOutputField != "" {
		return q.MaxOutputField
	}
	if other, ok := q.Rename[name]; ok {
		return other
	}
	return name
}
