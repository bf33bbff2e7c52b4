package ollama

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// EncodeRequest writes the body of a request in the words of a provider with
// these quirks. What the format cannot carry and would change the meaning is an
// *llm.Error that names it; dropped names what is left out for being a
// preference or in another wire format's words.
func EncodeRequest(r *llm.Request, q *llm.Quirks) (body []byte, dropped []string, err error) {
	e := requestEncoder{q: q, own: r.ExtraOf == Name}
	if q == nil {
		e.q = &llm.Quirks{}
	}
	e.dst = append(make([]byte, 0, sizeOf(r)), '{')
	e.str("model", r.Model)
	e.messages(r.Messages)
	e.tools(r)
	e.answer(r)
	e.options(r)
	for _, f := range r.Extra {
		switch {
		case !e.own:
			e.drop(f.Name)
		case !strings.HasPrefix(f.Name, optionPrefix): // else it stands among the options
			e.raw(f.Name, f.Value)
		}
	}
	e.raw("stream", strconv.AppendBool(nil, r.Stream)) // without it, it would be a stream
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
	// names are those of the called functions by the id of the call: a result
	// is told by the name here.
	names map[string]string
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

// key writes a top-level member's name as the provider calls it, and reports
// whether the provider takes it at all.
func (e *requestEncoder) key(name string) bool {
	if slices.Contains(e.q.Drop, name) {
		e.drop(name)
		return false
	}
	if other, ok := e.q.Rename[name]; ok {
		name = other
	}
	e.member(name)
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

// options writes the model's parameters.
func (e *requestEncoder) options(r *llm.Request) {
	before := len(e.dst)
	if !e.key(optionsMember) {
		return
	}
	e.dst = append(e.dst, '{')
	first := len(e.dst)
	e.integer(outputCap, r.MaxOutput)
	e.number("temperature", r.Temperature)
	e.number("top_p", r.TopP)
	e.integer("top_k", r.TopK)
	e.number("frequency_penalty", r.FrequencyPenalty)
	e.number("presence_penalty", r.PresencePenalty)
	e.integer("seed", r.Seed)
	e.stop(r.Stop)
	for _, f := range r.Extra {
		if name, ok := strings.CutPrefix(f.Name, optionPrefix); ok && e.own && e.option(name) {
			e.dst = append(e.dst, f.Value...)
		}
	}
	if len(e.dst) == first {
		e.dst = e.dst[:before]
		return
	}
	e.dst = append(e.dst, '}')
}

// option writes an option's name and reports whether the provider takes it.
func (e *requestEncoder) option(name string) bool {
	if slices.Contains(e.q.Drop, optionPrefix+name) {
		e.drop(optionPrefix + name)
		return false
	}
	e.member(name)
	return true
}

func (e *requestEncoder) integer(name string, n *int64) {
	if n != nil && e.option(name) {
		e.dst = strconv.AppendInt(e.dst, *n, 10)
	}
}

func (e *requestEncoder) number(name string, n *json.Number) {
	if n != nil && e.option(name) {
		e.dst = append(e.dst, *n...)
	}
}

func (e *requestEncoder) stop(list []string) {
	if len(list) == 0 || !e.option("stop") {
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

// answer writes what the answer is to be like: its shape, the thinking before
// it, how many there are.
func (e *requestEncoder) answer(r *llm.Request) {
	if f := r.Format; f != nil {
		if f.Description != "" {
			e.drop("response_format.json_schema.description")
		}
		if len(f.Extra) > 0 {
			e.drop("response_format fields of another API")
		}
		switch {
		case f.Kind == llm.FormatSchema && f.Schema != nil:
			e.raw("format", f.Schema)
		case f.Kind == llm.FormatSchema || f.Kind == llm.FormatJSON:
			e.raw("format", []byte(`"json"`))
		}
	}
	if r.Reasoning != nil {
		e.think(r.Reasoning)
	}
	if r.User != "" {
		e.drop("user")
	}
	if r.Choices != nil && *r.Choices > 1 {
		e.refuse("n", "Ollama gives one answer a request: n must be 1.")
	}
}

// Above these many tokens of thinking an effort is the next higher one.
const (
	mediumBudget = 4096
	highBudget   = 16384
)

// think writes whether to think and how much. A budget in tokens has no word
// here and becomes the level nearest to it, as do the efforts beyond the
// levels. The middle level is written as a plain true, which models that know
// no levels take, too.
func (e *requestEncoder) think(o *llm.ReasoningOptions) {
	effort := o.Effort
	if effort == "" && o.Budget > 0 {
		e.drop("reasoning budget")
		switch {
		case o.Budget < mediumBudget:
			effort = effortLow
		case o.Budget < highBudget:
			effort = effortMedium
		default:
			effort = effortHigh
		}
	}
	switch effort {
	case "":
	case effortNone:
		e.raw("think", []byte("false"))
	case effortMedium:
		e.raw("think", []byte("true"))
	case "minimal", effortLow:
		e.str("think", effortLow)
	case effortHigh:
		e.str("think", effortHigh)
	case "xhigh", effortMax:
		e.str("think", effortMax)
	default:
		e.drop("reasoning_effort")
	}
}

// tools writes the functions that may be called. A choice among them has no
// word here: that none may be called is said by leaving them out.
func (e *requestEncoder) tools(r *llm.Request) {
	mode := llm.ToolsAuto
	if r.ToolChoice != nil {
		mode = r.ToolChoice.Mode
	}
	if mode == llm.ToolsRequired || mode == llm.ToolsNamed {
		e.refuse("tool_choice", `Ollama cannot be made to call a tool: the tool_choice must be "auto" or "none".`)
	}
	if len(r.Tools) == 0 || mode == llm.ToolsNone || !e.key("tools") {
		return
	}
	e.dst = append(e.dst, '[')
	for i := range r.Tools {
		if i > 0 {
			e.dst = append(e.dst, ',')
		}
		e.tool(&r.Tools[i], i)
	}
	e.dst = append(e.dst, ']')
	if r.ParallelTools != nil && !*r.ParallelTools {
		e.drop("parallel_tool_calls")
	}
}

func (e *requestEncoder) tool(t *llm.Tool, i int) {
	if t.CacheControl != nil {
		e.drop("cache_control")
	}
	if t.Raw != nil {
		if !e.own {
			e.refuse("tools["+strconv.Itoa(i)+"]", "Ollama takes tools that are functions, and no other.")
		}
		e.dst = append(e.dst, t.Raw...)
		return
	}
	if t.Strict != nil && *t.Strict {
		e.drop("strict")
	}
	e.dst = rawjson.AppendString(append(e.dst, `{"type":"function","function":{"name":`...), t.Name)
	if t.Description != "" {
		e.dst = rawjson.AppendString(append(e.dst, `,"description":`...), t.Description)
	}
	switch {
	case t.Parameters != nil:
		e.dst = append(append(e.dst, `,"parameters":`...), t.Parameters...)
	case !e.own: // required here
		e.dst = append(e.dst, `,"parameters":{"type":"object","properties":{}}`...)
	}
	e.extra(t.Extra, "tool fields of another API")
	e.dst = append(e.dst, "}}"...)
}
