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

// Fit rewrites earlier calls as function calls. It refuses a custom tool, because the client would receive a function
// call.
func (NoCustomTools) Fit(f *Fitting) error {
	if i := slices.IndexFunc(f.Tools, isCustomTool); i >= 0 {
		return llm.Invalid(fmt.Sprintf("tools[%d]", i), "The model accepts only functions as tools. "+
			"Offer a function with one argument, or choose a model that accepts custom tools.")
	}
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

// Example returns a request with such a call.
func (NoCustomTools) Example() *llm.Request {
	r := saying("patch it")
	function := llm.ToolCall{ID: "AbCdEfGh9", Name: "patch", Arguments: `{"input":"x"}`}
	call := function
	call.Arguments, call.Extra = "x", []llm.Field{{Name: "type", Value: []byte(`"custom"`)}}
	r.Messages = append(r.Messages, llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{{
		Kind: llm.PartToolCall, Call: &call,
		Elsewhere: &llm.PartElsewhere{Parts: []llm.Part{{Kind: llm.PartToolCall, Call: &function}}},
	}}}, llm.Message{Role: llm.RoleTool, Parts: []llm.Part{{
		Kind:   llm.PartToolResult,
		Result: &llm.ToolResult{CallID: call.ID, Parts: []llm.Part{{Kind: llm.PartText, Text: "done"}}},
	}}})
	return r
}

func (NoCustomTools) String() string {
	return "All tools are functions: the type `custom` is not accepted"
}

// NoFunctions forbids the deprecated list of functions: functions must be in the list of tools.
type NoFunctions struct{}

// Broken returns the name of the list.
func (NoFunctions) Broken(r *llm.Request, _ []byte) string {
	if r.ExtraOf != chat || r.Elsewhere == nil || !r.Elsewhere.Called.Legacy {
		return ""
	}
	return "functions"
}

// Fit refuses it, because the client would receive calls in a form that it does not know.
func (NoFunctions) Fit(*Fitting) error {
	return llm.Invalid("functions", "The model does not accept the field functions. Send them as tools, or choose "+
		"a model that accepts functions.")
}

// Example returns a request with one function.
func (NoFunctions) Example() *llm.Request {
	r := saying("hello")
	r.ExtraOf, r.Tools = chat, []llm.Tool{{Name: "f", Parameters: []byte(`{"type":"object"}`)}}
	r.Elsewhere = &llm.Elsewhere{Tools: r.Tools, Called: llm.Called{Legacy: true}}
	return r
}

func (NoFunctions) String() string { return "Functions are listed in `tools`, not in `functions`" }
