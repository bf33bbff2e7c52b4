package ollama

import (
	"encoding/json"
	"strconv"
	"strings"

	"weir/internal/dialect/compose"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// EncodeRequest writes the body of a request in the form of a provider with these quirks. It returns an *llm.Error that
// names a field if the format cannot carry it and dropping it would change the meaning. Dropped names the other fields
// that are left out: preferences, and fields of other wire formats.
func EncodeRequest(r *llm.Request, q *llm.Quirks) (body []byte, dropped []string, err error) {
	r = compose.Uncited(compose.Offered(Name, r), nil)
	e := requestEncoder{Writer: compose.New(Name, r, q)}
	e.Text("model", r.Model)
	e.messages(e.Objects(r.Messages))
	e.tools(r)
	e.answer(r)
	e.options(r)
	e.Logprobs(r)
	for _, f := range r.Extra {
		switch {
		case !e.Own:
			e.DropExtra(f.Name)
		case !strings.HasPrefix(f.Name, optionPrefix): // otherwise it is among the options
			e.Raw(f.Name, f.Value)
		}
	}
	e.Raw("stream", strconv.AppendBool(nil, r.Stream)) // the default is a stream
	return e.Close()
}

type requestEncoder struct {
	compose.Writer
	// names maps ids of calls to function names, because a result of this format refers to its call by name.
	names map[string]string
}

// options writes the model's parameters.
func (e *requestEncoder) options(r *llm.Request) {
	before := len(e.Dst)
	if !e.Key(optionsMember) {
		return
	}
	e.Dst = append(e.Dst, '{')
	first := len(e.Dst)
	e.integer(outputCap, r.MaxOutput)
	e.number("temperature", r.Temperature)
	e.number("top_p", r.TopP)
	e.integer("top_k", r.TopK)
	e.number("frequency_penalty", r.FrequencyPenalty)
	e.number("presence_penalty", r.PresencePenalty)
	e.integer("seed", r.Seed)
	e.stop(r.Stop)
	for _, f := range r.Extra {
		if name, ok := strings.CutPrefix(f.Name, optionPrefix); ok && e.Own && e.option(name) {
			e.Dst = append(e.Dst, f.Value...)
		}
	}
	if len(e.Dst) == first {
		e.Dst = e.Dst[:before]
		return
	}
	e.Dst = append(e.Dst, '}')
}

// option writes an option's name and reports whether the provider accepts it.
func (e *requestEncoder) option(name string) bool {
	if !e.Takes(optionPrefix + name) {
		return false
	}
	e.Name(name)
	return true
}

// integer writes an option if it has a value; so does number.
func (e *requestEncoder) integer(name string, n *int64) {
	if n != nil && e.option(name) {
		e.Dst = strconv.AppendInt(e.Dst, *n, 10)
	}
}

func (e *requestEncoder) number(name string, n *json.Number) {
	if n != nil && e.option(name) {
		e.Dst = append(e.Dst, *n...)
	}
}

func (e *requestEncoder) stop(list []string) {
	if len(list) > 0 && e.option("stop") {
		e.Dst = rawjson.AppendStrings(e.Dst, list)
	}
}

// answer writes the form of the answer, the thinking, and the number of answers.
func (e *requestEncoder) answer(r *llm.Request) {
	if f := r.Format; f != nil {
		if f.Description != "" {
			e.Drop("response_format.json_schema.description")
		}
		if len(f.Extra) > 0 {
			e.Drop("response_format fields of another API")
		}
		switch {
		case f.Kind == llm.FormatSchema && f.Schema != nil:
			e.Raw("format", f.Schema)
		case f.Kind == llm.FormatSchema || f.Kind == llm.FormatJSON:
			e.Raw("format", []byte(`"json"`))
		}
	}
	if r.Reasoning != nil {
		e.think(r.Reasoning)
	}
	if r.User != "" {
		e.Drop("user")
	}
	if r.Choices != nil && *r.Choices > 1 {
		e.Refuse("n", "Ollama returns one answer per request. Set n to 1 or send several requests.")
	}
}

// think writes whether the model thinks, and its level. A budget in tokens becomes the nearest level, as do efforts
// beyond the levels. The middle level is written as true, which models without levels accept, too. No rule does it:
// rules only change values of the same option.
func (e *requestEncoder) think(o *llm.ReasoningOptions) {
	e.DropThinking(o)
	effort := o.Effort
	if effort == "" && o.Budget > 0 {
		e.Drop("reasoning budget")
		effort = compose.EffortOf(o.Budget)
	}
	switch effort {
	case "":
	case effortNone:
		e.Raw("think", []byte("false"))
	case effortMedium:
		e.Raw("think", []byte("true"))
	case "minimal", effortLow:
		e.Text("think", effortLow)
	case effortHigh:
		e.Text("think", effortHigh)
	case "xhigh", effortMax:
		e.Text("think", effortMax)
	default:
		e.Drop("reasoning_effort")
	}
}

// tools writes the functions. The format has no tool choice: a choice of none omits the tools.
func (e *requestEncoder) tools(r *llm.Request) {
	mode := llm.ToolsAuto
	if r.ToolChoice != nil {
		mode = r.ToolChoice.Mode
	}
	if mode == llm.ToolsRequired || mode == llm.ToolsNamed {
		e.Refuse("tool_choice", `Ollama cannot be made to call a tool: the tool_choice must be "auto" or "none".`)
	}
	if len(r.Tools) == 0 || mode == llm.ToolsNone || !e.Key("tools") {
		return
	}
	e.Dst = append(e.Dst, '[')
	for i := range r.Tools {
		e.Dst = rawjson.AppendComma(e.Dst)
		e.tool(&r.Tools[i], i)
	}
	e.Dst = append(e.Dst, ']')
	if r.ParallelTools != nil && !*r.ParallelTools {
		e.Drop("parallel_tool_calls")
	}
}

func (e *requestEncoder) tool(t *llm.Tool, i int) {
	if t.CacheControl != nil {
		e.Drop("cache_control")
	}
	if t.Search != nil && !e.Own {
		e.RefuseSearch(t.Search)
		return
	}
	if t.Raw != nil {
		if !e.Own {
			e.RefuseTool(t.Raw, i)
		}
		e.Dst = append(e.Dst, t.Raw...)
		return
	}
	if t.Strict != nil && *t.Strict {
		e.Drop("strict")
	}
	e.Dst = rawjson.AppendString(append(e.Dst, `{"type":"function","function":{"name":`...), t.Name)
	if t.Description != "" {
		e.Dst = rawjson.AppendString(append(e.Dst, `,"description":`...), t.Description)
	}
	switch {
	case t.Parameters != nil && e.Own:
		e.Dst = append(append(e.Dst, `,"parameters":`...), t.Parameters...)
	case t.Parameters != nil:
		e.Dst = appendParameters(append(e.Dst, `,"parameters":`...), t.Parameters)
	case !e.Own: // required in this format
		e.Dst = append(e.Dst, `,"parameters":{"type":"object","properties":{}}`...)
	}
	e.InnerExtras(t.Extra, "tool fields of another API")
	e.Dst = append(e.Dst, "}}"...)
}

// The levels of thinking. Thinking that is only switched on counts as the middle level, as models with levels treat it.
const (
	effortNone   = "none"
	effortLow    = "low"
	effortMedium = "medium"
	effortHigh   = "high"
	effortMax    = "max"
)
