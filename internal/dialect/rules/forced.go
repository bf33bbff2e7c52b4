package rules

import (
	"slices"

	"weir/internal/llm"
)

// NoForcedTools forbids forced tool calls: the vendor's API leaves the choice to the model.
type NoForcedTools struct{}

// Broken returns the field of a choice that forces the call of an offered tool.
func (NoForcedTools) Broken(r *llm.Request, _ []byte) string {
	if forced(r) == nil {
		return ""
	}
	return "tool_choice"
}

// forced returns the tools of which the model must call one.
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

// Fit offers only these tools, and instructs the model to call one.
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

func (NoForcedTools) String() string {
	return "Tool calls cannot be forced: an instruction to the model requests them instead"
}
