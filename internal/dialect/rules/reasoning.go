package rules

import (
	"bytes"
	"slices"
	"strconv"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// ThinkingBack asks that the thinking of a turn with tool calls comes back in that field.
type ThinkingBack struct {
	Field string
	// Required is whether a turn without the field is refused, even where nothing was thought.
	Required bool
}

// Broken is the place of the first message whose calls come without their thinking, of a request that thinks.
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

// isOff reports whether a request switches thinking off, be it in the words that DeepSeek and Moonshot have for that.
func isOff(r *llm.Request) bool {
	if r.Reasoning != nil && r.Reasoning.Effort == "none" {
		return true
	}
	i := extra(r, "thinking")
	return i >= 0 && rawjson.Text(rawjson.Get(r.Extra[i].Value, "type")) == "disabled"
}

func isThinking(p llm.Part) bool { return p.Kind == llm.PartReasoning }

// missing is the place of the first message of a chat that calls tools and does not have the field.
func (a ThinkingBack) missing(body []byte) string {
	for i, m := range rawjson.Elements(rawjson.Get(body, "messages")) {
		if rawjson.KindOf(rawjson.Get(m, "tool_calls")) == rawjson.Array && rawjson.Get(m, a.Field) == nil {
			return strconv.Itoa(i)
		}
	}
	return ""
}

// Fit has the encoder send it.
func (a ThinkingBack) Fit(f *Fitting) error {
	f.Wants.Thinking, f.Wants.Required = a.Field, a.Required
	return nil
}

// Example has a turn whose thinking no encoder sends.
func (a ThinkingBack) Example() *llm.Request {
	r := calling("call_a", "f")
	r.Messages[1].Parts = append(r.Messages[1].Parts, llm.Part{Kind: llm.PartReasoning, Text: "it is to be called"})
	return r
}

func (a ThinkingBack) String() string {
	return "The thinking of a turn that calls tools comes back in `" + a.Field + "`"
}

// ToolsElsewhere asks that requests with tools for models that think come in another wire format.
type ToolsElsewhere struct{ Format string }

// Broken is the model of a request with tools that thinks.
func (a ToolsElsewhere) Broken(r *llm.Request, _ []byte) string {
	if len(r.Tools) == 0 || r.Reasoning != nil && r.Reasoning.Effort == "none" {
		return ""
	}
	return r.Model
}

// Fit switches thinking off, where the target has no other wire format.
func (a ToolsElsewhere) Fit(f *Fitting) error {
	f.Reasoning = &llm.ReasoningOptions{Effort: "none"}
	f.Drop("reasoning")
	return nil
}

// Example has a tool.
func (a ToolsElsewhere) Example() *llm.Request {
	r := saying("call it")
	r.Tools = []llm.Tool{{Name: "f", Parameters: []byte(`{"type":"object"}`)}}
	return r
}

func (a ToolsElsewhere) String() string {
	return "Requests with tools come in the wire format `" + a.Format + "`, or do not think"
}

// Format is the wire format in which requests for a model that are translated are to come where the target has it; empty
// for its usual one.
func (s Set) Format(model string) string {
	for _, rule := range s.of(model).all {
		if a, ok := rule.Ask.(ToolsElsewhere); ok {
			return a.Format
		}
	}
	return ""
}

// NoDeveloper asks that the system speaks as system, never as developer. The tree knows no other role, so a request that
// is written from it holds this.
type NoDeveloper struct{}

var developer = []byte(`"developer"`)

// Broken is the role, in a body that has it.
func (NoDeveloper) Broken(_ *llm.Request, body []byte) string {
	if !bytes.Contains(body, developer) {
		return ""
	}
	return "developer"
}

// Fit changes nothing: encoders write what is right.
func (NoDeveloper) Fit(*Fitting) error { return nil }

// Example is a request of one message. What breaks the rule is the word in its body.
func (NoDeveloper) Example() *llm.Request { return saying("hello") }

func (NoDeveloper) String() string { return "No message is a developer's: the system says it" }
