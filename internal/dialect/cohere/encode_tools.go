package cohere

import (
	"strconv"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// tools writes the tools and the tool choice. The format cannot choose one tool: the gateway then requires a call and
// offers only that tool.
func (e *requestEncoder) tools(r *llm.Request) {
	only := ""
	if r.ToolChoice != nil && r.ToolChoice.Mode == llm.ToolsNamed {
		only = r.ToolChoice.Name
	}
	n := 0
	for i := range r.Tools {
		t := &r.Tools[i]
		if only != "" && t.Name != only {
			continue
		}
		if t.Search != nil && !e.Own {
			e.RefuseSearch(t.Search)
			return
		}
		if t.Raw != nil && !e.Own {
			e.RefuseTool(t.Raw, i)
			return
		}
		switch {
		case n > 0:
			e.Dst = append(e.Dst, ',')
		case e.Key("tools"):
			e.Dst = append(e.Dst, '[')
		default:
			return
		}
		e.tool(t)
		n++
	}
	if n > 0 {
		e.Dst = append(e.Dst, ']')
		e.strict(r.Tools)
	}
	e.choice(r.ToolChoice, n)
	if r.ParallelTools != nil && !*r.ParallelTools && n > 0 {
		e.Drop("parallel_tool_calls")
	}
}

func (e *requestEncoder) tool(t *llm.Tool) {
	if t.CacheControl != nil {
		e.Drop("cache_control")
	}
	if t.Raw != nil {
		e.Dst = append(e.Dst, t.Raw...)
		return
	}
	e.Dst = rawjson.AppendString(append(e.Dst, `{"type":"function","function":{"name":`...), t.Name)
	if t.Description != "" {
		e.Dst = rawjson.AppendString(append(e.Dst, `,"description":`...), t.Description)
	}
	switch {
	case t.Parameters != nil:
		e.Dst = append(append(e.Dst, `,"parameters":`...), t.Parameters...)
	case !e.Own: // required in this format
		e.Dst = append(e.Dst, `,"parameters":{"type":"object","properties":{}}`...)
	}
	e.InnerExtras(t.Extra, "tool fields of another API")
	e.Dst = append(e.Dst, "}}"...)
}

// strict writes whether tool calls must follow their schemas, which applies to all tools. It is omitted unless the
// client wants it for all.
func (e *requestEncoder) strict(tools []llm.Tool) {
	wanted, same := false, tools[0].Strict != nil
	for i := range tools {
		s := tools[i].Strict
		wanted = wanted || s != nil && *s
		same = same && s != nil && *s == *tools[0].Strict
	}
	switch {
	case same:
		e.Raw("strict_tools", strconv.AppendBool(nil, wanted))
	case wanted:
		e.Drop("strict")
	}
}

func (e *requestEncoder) choice(c *llm.ToolChoice, tools int) {
	if c == nil {
		return
	}
	switch c.Mode {
	case llm.ToolsNone:
		if tools > 0 || e.Own {
			e.Text("tool_choice", "NONE")
		}
	case llm.ToolsNamed, llm.ToolsRequired:
		if tools == 0 && !e.Own {
			e.Refuse("tool_choice", "The tool_choice names a tool that is not among the tools. Add it to tools.")
		}
		e.Text("tool_choice", "REQUIRED")
	}
}
