package cohere

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// EncodeRequest writes the body of a request in the words of a provider with
// these quirks. What the format cannot carry and would change the meaning is an
// *llm.Error that names it; dropped names what is left out, or bent to what
// Cohere takes, for being a preference or in another wire format's words.
func EncodeRequest(r *llm.Request, q *llm.Quirks) (body []byte, dropped []string, err error) {
	e := requestEncoder{q: q, own: r.ExtraOf == Name}
	if q == nil {
		e.q = &llm.Quirks{}
	}
	e.dst = append(make([]byte, 0, sizeOf(r)), '{')
	e.str("model", r.Model)
	e.messages(r.Messages)
	e.tools(r)
	e.sampling(r)
	e.options(r)
	for _, f := range r.Extra {
		if e.own {
			e.raw(f.Name, f.Value)
		} else {
			e.drop(f.Name)
		}
	}
	if e.err != nil {
		return nil, nil, e.err
	}
	return append(e.dst, '}'), e.dropped, nil
}

// sizeOf guesses the length of the body, so that it is allocated once.
func sizeOf(r *llm.Request) int {
	n := 256 + len(r.Model)
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
	own     bool // extras are in this format's words
	dropped []string
	err     error // the first thing that cannot be carried
}

// drop notes, once, what is left out.
func (e *requestEncoder) drop(what string) {
	if !slices.Contains(e.dropped, what) {
		e.dropped = append(e.dropped, what)
	}
}

// refuse notes what cannot be carried and must not be left out.
func (e *requestEncoder) refuse(param, message string) {
	if e.err == nil {
		e.err = llm.Invalid(param, message)
	}
}

// key writes a member's name as the provider calls it, and reports whether the
// provider takes it at all.
func (e *requestEncoder) key(name string) bool {
	if slices.Contains(e.q.Drop, name) {
		e.drop(name)
		return false
	}
	e.member(renamed(name, e.q))
	return true
}

// member writes a name, with the comma that it needs.
func (e *requestEncoder) member(name string) {
	if e.dst[len(e.dst)-1] != '{' {
		e.dst = append(e.dst, ',')
	}
	e.dst = append(rawjson.AppendString(e.dst, name), ':')
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

func (e *requestEncoder) sampling(r *llm.Request) {
	if r.MaxOutput != nil && e.key(outputCap) {
		e.dst = strconv.AppendInt(e.dst, *r.MaxOutput, 10)
	}
	e.number("temperature", "temperature", r.Temperature, "0", "1")
	e.number("p", "top_p", r.TopP, "0.01", "0.99")
	e.topK(r.TopK)
	e.number("frequency_penalty", "frequency_penalty", r.FrequencyPenalty, "0", "1")
	e.number("presence_penalty", "presence_penalty", r.PresencePenalty, "0", "1")
	switch {
	case r.Seed == nil:
	case *r.Seed < 0 && !e.own:
		e.drop("seed") // only from 0 to 2^64-1 here
	case e.key("seed"):
		e.dst = strconv.AppendInt(e.dst, *r.Seed, 10)
	}
	e.stops(r.Stop)
	if r.Choices != nil && *r.Choices > 1 {
		e.refuse("n", "Cohere gives one answer a request: n must be 1.")
	}
}

// number writes a number that Cohere takes within bounds. What another wire
// format allows beyond them is brought to the nearest bound, which is told as
// theirs, the name that format has for it.
func (e *requestEncoder) number(name, theirs string, n *json.Number, least, most string) {
	if n == nil {
		return
	}
	value := n.String()
	if !e.own {
		value = within(value, least, most)
	}
	if value != n.String() {
		e.drop(theirs)
	}
	if e.key(name) {
		e.dst = append(e.dst, value...)
	}
}

func within(value, least, most string) string {
	v, low, high := float(value), float(least), float(most)
	switch {
	case v < low:
		return least
	case v > high:
		return most
	}
	return value
}

// float is the value of a JSON number; infinite where it is beyond all bounds.
func float(s string) float64 {
	v, _ := strconv.ParseFloat(s, 64)
	return v
}

// maxTopK is the documented limit of k.
const maxTopK = 500

func (e *requestEncoder) topK(n *int64) {
	if n == nil {
		return
	}
	k := *n
	if !e.own && (k < 0 || k > maxTopK) {
		e.drop("top_k")
		k = min(max(k, 0), maxTopK)
	}
	if e.key("k") {
		e.dst = strconv.AppendInt(e.dst, k, 10)
	}
}

func (e *requestEncoder) stops(list []string) {
	if len(list) > maxStops && !e.own {
		e.refuse("stop", fmt.Sprintf("Cohere takes at most %d stop sequences, not %d.", maxStops, len(list)))
	}
	if len(list) == 0 || !e.key("stop_sequences") {
		return
	}
	e.dst = append(e.dst, '[')
	for i, s := range list {
		if i > 0 {
			e.dst = append(e.dst, ',')
		}
		e.dst = rawjson.AppendString(e.dst, s)
	}
	e.dst = append(e.dst, ']')
}

func (e *requestEncoder) options(r *llm.Request) {
	if r.Format != nil {
		e.format(r.Format)
	}
	if r.Reasoning != nil {
		e.thinking(r.Reasoning)
	}
	if r.User != "" {
		e.drop("user")
	}
	if r.Stream {
		e.raw("stream", []byte("true"))
	}
}

// format writes the shape of the answer. A schema needs no name here, and is
// always kept to.
func (e *requestEncoder) format(f *llm.Format) {
	kind := f.Kind
	if kind == llm.FormatSchema {
		kind = llm.FormatJSON
	}
	if f.Description != "" {
		e.drop("response_format.json_schema.description")
	}
	if len(f.Extra) > 0 {
		e.drop("response_format fields of another API")
	}
	if !e.key("response_format") {
		return
	}
	e.dst = rawjson.AppendString(append(e.dst, `{"type":`...), string(kind))
	if f.Kind == llm.FormatSchema && f.Schema != nil {
		e.dst = append(append(e.dst, `,"json_schema":`...), f.Schema...)
	}
	e.dst = append(e.dst, '}')
}

// The efforts that have a word of their own here.
const (
	effortNone = "none"
	effortHigh = "high"
)

// Thinking budgets, in tokens, that stand for efforts below the highest.
const (
	lowBudget    = 1024
	mediumBudget = 8192
)

// thinking writes whether to think and for how long. An effort has no word
// here: the lower ones become a budget, the higher ones are without a limit.
func (e *requestEncoder) thinking(o *llm.ReasoningOptions) {
	budget := o.Budget
	if budget == 0 {
		switch o.Effort {
		case "":
			return
		case effortNone:
			e.raw("thinking", []byte(`{"type":"disabled"}`))
			return
		case "minimal", "low":
			budget = lowBudget
		case "medium":
			budget = mediumBudget
		case effortHigh, "xhigh", "max":
		default:
			e.drop("reasoning_effort")
			return
		}
	}
	if !e.key("thinking") {
		return
	}
	e.dst = append(e.dst, `{"type":"enabled"`...)
	if budget > 0 {
		e.dst = strconv.AppendInt(append(e.dst, `,"token_budget":`...), budget, 10)
	}
	e.dst = append(e.dst, '}')
}
