package gemini

import (
	"slices"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// tools writes the functions, all in one object, then the server-side tools.
func (e *requestEncoder) tools(r *llm.Request) {
	if len(r.Tools) > 0 {
		e.Name("tools")
		e.Dst = append(e.Dst, '[')
		e.functions(r.Tools)
		for i := range r.Tools {
			switch t := &r.Tools[i]; {
			case t.Search != nil && !e.Own:
				e.search(t.Search)
			case t.Raw != nil:
				e.serverTool(t.Raw, i)
			}
		}
		e.Dst = append(e.Dst, ']')
	}
	if !e.Own || !slices.ContainsFunc(r.Extra, func(f llm.Field) bool { return f.Name == "toolConfig" }) {
		e.choice(r)
	}
	if p := r.ParallelTools; p != nil && !*p && len(r.Tools) > 0 {
		e.Drop("parallel_tool_calls")
	}
}

func (e *requestEncoder) functions(tools []llm.Tool) {
	first := true
	for i := range tools {
		t := &tools[i]
		if t.Raw != nil || t.Search != nil {
			continue
		}
		if first {
			e.Dst = append(e.Dst, `{"functionDeclarations":[`...)
			first = false
		} else {
			e.Dst = append(e.Dst, ',')
		}
		e.function(t)
	}
	if !first {
		e.Dst = append(e.Dst, "]}"...)
	}
}

// function writes a declaration. Its parameters are JSON Schema, unless the client sent them as OpenAPI.
func (e *requestEncoder) function(t *llm.Tool) {
	if t.CacheControl != nil {
		e.Drop("cache_control")
	}
	e.Dst = append(e.Dst, '{')
	e.Inner("name", t.Name)
	if t.Description != "" {
		e.Inner("description", t.Description)
	}
	openAPI := false
	for _, f := range t.Extra {
		if !e.Own {
			e.Drop("tool fields of another API")
			break
		}
		openAPI = openAPI || f.Name == "parameters"
		e.InnerRaw(f.Name, f.Value)
	}
	if t.Parameters != nil && !openAPI {
		e.InnerRaw("parametersJsonSchema", t.Parameters)
	}
	if t.Strict != nil && *t.Strict {
		e.Drop("strict")
	}
	e.Dst = append(e.Dst, '}')
}

func (e *requestEncoder) serverTool(raw []byte, position int) {
	if !e.Own {
		e.RefuseTool(raw, position)
		return
	}
	if e.Dst[len(e.Dst)-1] == '}' {
		e.Dst = append(e.Dst, ',')
	}
	e.Dst = append(e.Dst, raw...)
}

// choice writes the toolConfig. In other formats a choice without tools is an error, or has no effect.
func (e *requestEncoder) choice(r *llm.Request) {
	c := r.ToolChoice
	if c == nil || len(r.Tools) == 0 && !e.Own {
		return
	}
	e.Name("toolConfig")
	e.Dst = append(e.Dst, `{"functionCallingConfig":{"mode":`...)
	switch c.Mode {
	case llm.ToolsNone:
		e.Dst = rawjson.AppendString(e.Dst, modeNone)
	case llm.ToolsRequired:
		e.Dst = rawjson.AppendString(e.Dst, modeAny)
		if c.Allowed != nil && e.Own {
			e.Dst = rawjson.AppendStrings(append(e.Dst, `,"allowedFunctionNames":`...), c.Allowed)
		}
	case llm.ToolsNamed:
		e.Dst = append(rawjson.AppendString(e.Dst, modeAny), `,"allowedFunctionNames":[`...)
		e.Dst = append(rawjson.AppendString(e.Dst, c.Name), ']')
	default:
		e.Dst = rawjson.AppendString(e.Dst, modeAuto)
	}
	e.Dst = append(e.Dst, "}}"...)
}
