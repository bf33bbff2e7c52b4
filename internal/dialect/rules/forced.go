package rules

import (
	"slices"

	"weir/internal/llm"
)

// NoForcedTools asks for requests that leave it to the model whether it calls a tool, which is all that there is.
type NoForcedTools struct{}

// Broken is the field of a choice that forces a call of a tool that is offered.
func (NoForcedTools) Broken(r *llm.Request, _ []byte) string {
	if forced(r) == nil {
		return ""
	}
	return "tool_choice"
}

// forced are the tools of which one has to be called.
func forced(r *llm.Request) []llm.Tool {
	switch c := r.ToolChoice; {
	case c == nil:
		return nil
	case c.Mode == llm.ToolsRequired && len(r.Tools) > 0:
		return r.Tools
	case c.Mode == llm.ToolsNamed:
		i := slices.IndexFunc(r.Tools, func(t llm.Tool) bool { return isFunction(&t) && t.Name == c.Name })
		if i >= 0 {
			return r.Tools[i : i+1]
		}
	}
	return nil
}

// Fit offers these alone, and asks for a call in words.
func (NoForcedTools) Fit(f *Fitting) error {
	f.Tools = slices.Clone(forced(f.Request))
	words := "Call one of the tools now, and say nothing else."
	if len(f.Tools) == 1 {
		words = "Call the tool " + f.Tools[0].Name + " now, and say nothing else."
	}
	f.ToolChoice = &llm.ToolChoice{Mode: llm.ToolsAuto}
	f.Messages = append(f.Messages, says(llm.RoleSystem, words))
	f.Drop("tool_choice")
	return nil
}

// Example forces a call.
func (NoForcedTools) Example() *llm.Request {
	r := saying("call it")
	r.Tools = []llm.Tool{{Name: "f", Parameters: []byte(`{"type":"object"}`)}}
	r.ToolChoice = &llm.ToolChoice{Mode: llm.ToolsRequired}
	return r
}

func (NoForcedTools) String() string {
	return "Whether a tool is called is left to the model: a forced call is asked for in words"
}
