package rules

import (
	"fmt"
	"slices"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// NoCustomTools allows only functions: no tools of OpenAI's type custom and no calls of such tools.
type NoCustomTools struct{}

const custom = "custom"

// Broken returns the first such tool, or the first message with such a call.
func (NoCustomTools) Broken(r *llm.Request, _ []byte) string {
	if i := slices.IndexFunc(r.Tools, isCustomTool); i >= 0 {
		return fmt.Sprintf("tools.%d", i)
	}
	for i := range r.Messages {
		if slices.ContainsFunc(r.Messages[i].Parts, isCustomCall) {
			return fmt.Sprintf("messages.%d.tool_calls", i)
		}
	}
	return ""
}

func isCustomTool(t llm.Tool) bool {
	return t.Raw != nil && rawjson.Text(rawjson.Get(t.Raw, "type")) == custom
}

func isCustomCall(p llm.Part) bool {
	return p.Call != nil && slices.ContainsFunc(p.Call.Extra, func(f llm.Field) bool {
		return f.Name == "type" && rawjson.Text(f.Value) == custom
	})
}

// Fit rewrites custom tools and their calls as functions. The gateway turns the answer's calls back.
func (NoCustomTools) Fit(f *Fitting) error {
	f.offerFunctions()
	for i := range f.Messages {
		for j := range f.Messages[i].Parts {
			if p := f.Messages[i].Parts[j]; isCustomCall(p) && p.Elsewhere != nil && len(p.Elsewhere.Parts) == 1 {
				call := *p.Elsewhere.Parts[0].Call
				call.ID = p.Call.ID
				f.part(i, j).Call = &call
			}
		}
	}
	return nil
}

// offerFunctions replaces custom tools by functions, and a choice of one by its function. All other tools stay.
func (f *Fitting) offerFunctions() {
	e := f.Elsewhere
	if e == nil {
		return
	}
	for i := range f.Tools {
		if t := &f.Tools[i]; isCustomTool(*t) {
			if n := functionOf(e, t.Raw); n >= 0 {
				*t = e.Tools[n]
			}
		}
	}
	if f.ToolChoice == nil && e.ToolChoice != nil {
		f.ToolChoice = e.ToolChoice
		f.Extra = slices.DeleteFunc(slices.Clone(f.Extra), func(m llm.Field) bool { return m.Name == "tool_choice" })
	}
	if e.OneCall {
		f.ParallelTools = new(bool)
	}
	f.Elsewhere = nil
}

// functionOf returns the index of the function that stands for a custom tool; -1 for none.
func functionOf(e *llm.Elsewhere, tool []byte) int {
	name := rawjson.Text(rawjson.Get(tool, custom, "name"))
	return slices.IndexFunc(e.Tools, func(t llm.Tool) bool {
		of, is := e.Called.Of(t.Name)
		return is && of.Kind == llm.ToolCustom && of.Name == name
	})
}

// isLegacy reports whether a request has the deprecated list of functions, which no encoder writes.
func isLegacy(r *llm.Request) bool { return r.Elsewhere != nil && r.Elsewhere.Called.Legacy }

func (NoCustomTools) String() string {
	return "All tools are functions: the type `custom` is not accepted"
}

// NoFunctions forbids the deprecated list of functions: functions must be in the list of tools.
type NoFunctions struct{}

// Broken returns the name of the list.
func (NoFunctions) Broken(r *llm.Request, _ []byte) string {
	if r.ExtraOf != chat || !isLegacy(r) {
		return ""
	}
	return "functions"
}

// Fit lists the functions as tools. The gateway turns the answer's calls back.
func (NoFunctions) Fit(f *Fitting) error {
	f.offerFunctions()
	return nil
}

func (NoFunctions) String() string { return "Functions are listed in `tools`, not in `functions`" }
