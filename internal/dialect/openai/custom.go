package openai

import (
	"slices"

	"weir/internal/dialect/clienttool"
	"weir/internal/dialect/compose"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// The type of a custom tool and of its calls.
const typeCustom = "custom"

// customTools turns the custom tools of a request into functions, for wire formats that have only functions:
// https://platform.openai.com/docs/api-reference/chat/create (undated copy of 2026).
type customTools struct{ clienttool.Names }

func customTool(name string) llm.ClientTool { return llm.ClientTool{Kind: llm.ToolCustom, Name: name} }

// noteElsewhere notes how other wire formats express the request's tools, calls and tool choice. Functions in the
// deprecated form are called one at a time and have a member of their own.
func noteElsewhere(r *llm.Request, choice []byte, legacy bool) {
	noteTools(r, choice, legacy)
	AddWish(r)
}

// noteTools does the part of noteElsewhere that concerns tools.
func noteTools(r *llm.Request, choice []byte, legacy bool) {
	if !hasCustom(r) {
		if choice != nil {
			essentials.Note(r, "tool_choice", choice)
		}
		if legacy {
			r.Elsewhere = &llm.Elsewhere{
				Tools: r.Tools, ToolChoice: r.ToolChoice, OneCall: true, Called: llm.Called{Legacy: true},
			}
		}
		return
	}
	var c customTools
	for _, t := range r.Tools {
		if t.Name != "" {
			c.Keep(t.Name)
		}
	}
	e := &llm.Elsewhere{ToolChoice: r.ToolChoice}
	for i, t := range r.Tools {
		switch {
		case t.Raw == nil, t.Search != nil:
			e.Tools = append(e.Tools, t)
		case isCustomTool(t):
			e.Tools = append(e.Tools, c.function(t.Raw))
		case e.Refused == nil:
			e.Refused = compose.ForeignTool(t.Raw, i)
		}
	}
	for i := range r.Messages {
		c.calls(r.Messages[i].Parts)
	}
	if r.ToolChoice == nil && choice != nil {
		if e.ToolChoice = c.choice(choice, e.Tools); e.ToolChoice == nil {
			essentials.Note(r, "tool_choice", choice)
		}
	}
	e.Called = c.Called
	if legacy && !slices.ContainsFunc(r.Tools, isCustomTool) { // only the history has custom calls
		e.OneCall, e.Called.Legacy = true, true
	}
	r.Elsewhere = e
}

// hasCustom reports whether a request has custom tools or calls of them.
func hasCustom(r *llm.Request) bool {
	isCall := func(p llm.Part) bool { return p.Kind == llm.PartToolCall && isCustom(p.Call) }
	return slices.ContainsFunc(r.Tools, isCustomTool) ||
		slices.ContainsFunc(r.Messages, func(m llm.Message) bool { return slices.ContainsFunc(m.Parts, isCall) })
}

func isCustomTool(t llm.Tool) bool {
	return t.Raw != nil && rawjson.Text(rawjson.Get(t.Raw, "type")) == typeCustom
}

func (c *customTools) function(raw []byte) llm.Tool {
	get := func(path ...string) string {
		return rawjson.Text(rawjson.Get(raw, append([]string{typeCustom}, path...)...))
	}
	return clienttool.TextTool(c.Of(customTool(get("name"))), get("description"), clienttool.Grammar{
		Syntax: get("format", "grammar", "syntax"), Definition: get("format", "grammar", "definition"),
	})
}

// calls notes how other wire formats express calls of custom tools.
func (c *customTools) calls(parts []llm.Part) {
	for i := range parts {
		p := &parts[i]
		if p.Kind != llm.PartToolCall || !isCustom(p.Call) {
			continue
		}
		other, call := *p, *p.Call
		call.Name, call.Arguments = c.Of(customTool(call.Name)), clienttool.Arguments(call.Arguments)
		call.Extra = slices.DeleteFunc(slices.Clone(call.Extra), func(f llm.Field) bool { return f.Name == "type" })
		other.Call = &call
		p.Elsewhere = &llm.PartElsewhere{Parts: []llm.Part{other}}
	}
}

// choice returns a tool choice where some tools are not functions; nil if it names other tools.
func (c *customTools) choice(v []byte, tools []llm.Tool) *llm.ToolChoice {
	if name := c.chosen(v, tools); name != "" {
		return &llm.ToolChoice{Mode: llm.ToolsNamed, Name: name}
	}
	allowed := rawjson.Get(v, "allowed_tools")
	choice := &llm.ToolChoice{Mode: llm.ToolMode(rawjson.Text(rawjson.Get(allowed, "mode")))}
	for _, t := range rawjson.Elements(rawjson.Get(allowed, "tools")) {
		name := c.chosen(t, tools)
		if name == "" {
			return nil
		}
		choice.Allowed = append(choice.Allowed, name)
	}
	if choice.Allowed == nil || choice.Mode != llm.ToolsAuto && choice.Mode != llm.ToolsRequired {
		return nil
	}
	return choice
}

// chosen returns the name of the offered function that a choice names, or "".
func (c *customTools) chosen(v []byte, tools []llm.Tool) string {
	name := rawjson.Text(rawjson.Get(v, "function", "name"))
	if rawjson.Text(rawjson.Get(v, "type")) == typeCustom {
		name = c.Of(customTool(rawjson.Text(rawjson.Get(v, typeCustom, "name"))))
	}
	if !slices.ContainsFunc(tools, func(t llm.Tool) bool { return t.Raw == nil && t.Name == name }) {
		return ""
	}
	return name
}
