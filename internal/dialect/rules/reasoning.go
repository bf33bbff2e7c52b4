package rules

import (
	"slices"
	"strconv"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// ThinkingBack requires that requests return the thinking before tool calls in a field.
type ThinkingBack struct {
	Field string
	// Required says that the vendor refuses a message without the field even if there was no thinking.
	Required bool
}

// Broken returns the index of the first message with tool calls but without their thinking, if the request uses
// thinking.
func (a ThinkingBack) Broken(r *llm.Request, body []byte) string {
	switch {
	case isOff(r), r.Wants.Thinking != "":
		return ""
	case body != nil && a.Required:
		return a.missing(body)
	case body != nil:
		return ""
	}
	for i := range r.Messages {
		m := &r.Messages[i]
		if slices.ContainsFunc(m.Parts, isCall) && (a.Required || slices.ContainsFunc(m.Parts, isThinking)) {
			return strconv.Itoa(i)
		}
	}
	return ""
}

// isOff reports whether a request switches thinking off, also in the form of DeepSeek and Moonshot.
func isOff(r *llm.Request) bool {
	if r.Reasoning != nil && r.Reasoning.Effort == "none" {
		return true
	}
	i := extra(r, "thinking")
	return i >= 0 && rawjson.Text(rawjson.Get(r.Extra[i].Value, "type")) == "disabled"
}

func isThinking(p llm.Part) bool { return p.Kind == llm.PartReasoning }

// missing returns the index of the first message of a chat with tool calls and without the field.
func (a ThinkingBack) missing(body []byte) string {
	for i, m := range rawjson.Elements(rawjson.Get(body, "messages")) {
		if rawjson.KindOf(rawjson.Get(m, "tool_calls")) == rawjson.Array && rawjson.Get(m, a.Field) == nil {
			return strconv.Itoa(i)
		}
	}
	return ""
}

// Fit makes the encoder send the thinking.
func (a ThinkingBack) Fit(f *Fitting) error {
	f.Wants.Thinking, f.Wants.Required = a.Field, a.Required
	return nil
}

func (a ThinkingBack) String() string {
	return "The thinking before tool calls is returned in `" + a.Field + "`"
}

// ToolsElsewhere requires another wire format for requests with tools if the model thinks.
type ToolsElsewhere struct{ Format string }

// Broken returns the model of a request with tools and thinking.
func (a ToolsElsewhere) Broken(r *llm.Request, _ []byte) string {
	if len(r.Tools) == 0 || r.Reasoning != nil && r.Reasoning.Effort == "none" {
		return ""
	}
	return r.Model
}

// Fit switches thinking off, for targets without the other wire format.
func (a ToolsElsewhere) Fit(f *Fitting) error {
	f.Reasoning = &llm.ReasoningOptions{Effort: "none"}
	f.Drop("reasoning")
	return nil
}

func (a ToolsElsewhere) String() string {
	return "Requests with tools use the wire format `" + a.Format + "` or switch reasoning off"
}

// Format returns the preferred wire format of a target for requests that are translated; empty for its default.
func (s Set) Format(model string) string {
	for _, rule := range s.of(model).all {
		if a, ok := rule.Ask.(ToolsElsewhere); ok {
			return a.Format
		}
	}
	return ""
}
