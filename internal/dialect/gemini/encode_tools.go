package gemini

import (
	"slices"
	"strconv"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// tools writes the functions, all in one object, then the server-side tools.
func (e *requestEncoder) tools(r *llm.Request) {
	if len(r.Tools) > 0 {
		e.key("tools")
		e.dst = append(e.dst, '[')
		e.functions(r.Tools)
		for i := range r.Tools {
			if raw := r.Tools[i].Raw; raw != nil {
				e.serverTool(raw, i)
			}
		}
		e.dst = append(e.dst, ']')
	}
	if !e.own || !slices.ContainsFunc(r.Extra, func(f llm.Field) bool { return f.Name == "toolConfig" }) {
		e.choice(r)
	}
	if p := r.ParallelTools; p != nil && !*p && len(r.Tools) > 0 {
		e.drop("parallel_tool_calls")
	}
}

func (e *requestEncoder) functions(tools []llm.Tool) {
	first := true
	for i := range tools {
		t := &tools[i]
		if t.Raw != nil {
			continue
		}
		if first {
			e.dst = append(e.dst, `{"functionDeclarations":[`...)
			first = false
		} else {
			e.dst = append(e.dst, ',')
		}
		e.function(t)
	}
	if !first {
		e.dst = append(e.dst, "]}"...)
	}
}

// function writes a declaration. Its parameters go as JSON Schema, but for
// those that came in OpenAPI's words.
func (e *requestEncoder) function(t *llm.Tool) {
	e.dst = append(e.dst, '{')
	e.str("name", t.Name)
	if t.Description != "" {
		e.str("description", t.Description)
	}
	openAPI := false
	for _, f := range t.Extra {
		if !e.own {
			e.drop("tool fields of another API")
			break
		}
		openAPI = openAPI || f.Name == "parameters"
		e.raw(f.Name, f.Value)
	}
	if t.Parameters != nil && !openAPI {
		e.raw("parametersJsonSchema", t.Parameters)
	}
	if t.Strict != nil && *t.Strict {
		e.drop("strict")
	}
	e.dst = append(e.dst, '}')
}

func (e *requestEncoder) serverTool(raw []byte, position int) {
	if !e.own {
		at := "tools[" + strconv.Itoa(position) + "]"
		e.refuse(at, "The tool "+at+" is not a function, and the provider of this model has no such tool. Leave it out or choose another model.")
		return
	}
	if e.dst[len(e.dst)-1] == '}' {
		e.dst = append(e.dst, ',')
	}
	e.dst = append(e.dst, raw...)
}

// choice writes the toolConfig. Elsewhere a choice without tools is an error,
// or says nothing.
func (e *requestEncoder) choice(r *llm.Request) {
	c := r.ToolChoice
	if c == nil || len(r.Tools) == 0 && !e.own {
		return
	}
	e.key("toolConfig")
	e.dst = append(e.dst, `{"functionCallingConfig":{"mode":`...)
	switch c.Mode {
	case llm.ToolsNone:
		e.dst = rawjson.AppendString(e.dst, modeNone)
	case llm.ToolsRequired:
		e.dst = rawjson.AppendString(e.dst, modeAny)
	case llm.ToolsNamed:
		e.dst = append(rawjson.AppendString(e.dst, modeAny), `,"allowedFunctionNames":[`...)
		e.dst = append(rawjson.AppendString(e.dst, c.Name), ']')
	default:
		e.dst = rawjson.AppendString(e.dst, modeAuto)
	}
	e.dst = append(e.dst, "}}"...)
}
