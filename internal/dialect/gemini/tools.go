package gemini

import (
	"strconv"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// decodeTools reads the tools. One object may hold functions and server-side tools; each of the latter becomes a
// separate tool.
func decodeTools(v []byte) (tools []llm.Tool, err error) {
	if !isList(v) {
		return nil, llm.Invalid("tools", "The tools must be an array of objects.")
	}
	for i, e := range list(v) {
		param := "tools[" + strconv.Itoa(i) + "]"
		if rawjson.KindOf(e) != rawjson.Object {
			return nil, llm.Invalid(param, "A tool must be an object.")
		}
		for m := range rawjson.Members(e) {
			switch {
			case !rawjson.Present(m.Value):
			case string(spelled(m.Key())) == "functionDeclarations":
				if tools, err = appendFunctions(tools, m.Value, param+".functionDeclarations"); err != nil {
					return nil, err
				}
			default:
				raw := append(rawjson.AppendString([]byte{'{'}, m.Name()), ':')
				tools = append(tools, llm.Tool{
					Raw:    append(append(raw, m.Value...), '}'),
					Search: readSearch(string(spelled(m.Key())), m.Value, param),
				})
			}
		}
	}
	return tools, nil
}

func appendFunctions(tools []llm.Tool, v []byte, param string) ([]llm.Tool, error) {
	if !isList(v) {
		return nil, llm.Invalid(param, "The functionDeclarations must be an array of objects.")
	}
	for i, e := range list(v) {
		t := decodeFunction(e)
		if t.Name == "" {
			at := param + "[" + strconv.Itoa(i) + "].name"
			return nil, llm.Invalid(at, "The function has no name. Set name to a non-empty string.")
		}
		tools = append(tools, t)
	}
	return tools, nil
}

// decodeFunction reads a declaration. The original of OpenAPI parameters is next to their translation.
func decodeFunction(v []byte) (t llm.Tool) {
	var openAPI []byte
	for m := range rawjson.PresentMembers(v) {
		switch name := string(spelled(m.Key())); name {
		case "name":
			t.Name = rawjson.Text(m.Value)
		case "description":
			t.Description = rawjson.Text(m.Value)
		case "parametersJsonSchema":
			t.Parameters = m.Value
		case "parameters":
			openAPI = m.Value
			t.Extra = append(t.Extra, llm.Field{Name: name, Value: m.Value})
		default:
			t.Extra = append(t.Extra, llm.Field{Name: name, Value: m.Value})
		}
	}
	if t.Parameters == nil && openAPI != nil {
		t.Parameters = appendJSONSchema(nil, openAPI)
	}
	return t
}

// decodeToolConfig reads the tool choice. If the tree models only a part of it, it also stores the original.
func decodeToolConfig(r *llm.Request, v []byte) {
	whole := true
	for m := range rawjson.Members(v) {
		if string(spelled(m.Key())) != "functionCallingConfig" {
			whole = whole && !rawjson.Present(m.Value)
			continue
		}
		var exact, known bool
		if r.ToolChoice, exact, known = decodeChoice(m.Value); !known {
			essentials.Note(r, "toolConfig", v)
		}
		whole = whole && exact
	}
	if !whole {
		r.Extra = append(r.Extra, llm.Field{Name: "toolConfig", Value: v})
	}
}

// decodeChoice reads a functionCallingConfig. Exact reports whether the choice expresses all of it, and known whether
// its restriction of functions is understood.
func decodeChoice(v []byte) (c *llm.ToolChoice, exact, known bool) {
	var mode string
	var allowed []string
	exact = true
	for f := range rawjson.Members(v) {
		switch string(spelled(f.Key())) {
		case "mode":
			mode = rawjson.Text(f.Value)
		case "allowedFunctionNames":
			allowed, _ = texts("", f.Value)
		default:
			exact = false
		}
	}
	c = choiceOf(mode, allowed)
	known = c != nil || len(allowed) == 0 && (mode == "" || mode == "MODE_UNSPECIFIED")
	return c, exact && known && mode != modeValidated, known
}

// choiceOf returns the choice of a mode; nil for none or an invalid one: only ANY and VALIDATED restrict the functions
// (https://ai.google.dev/api/caching#FunctionCallingConfig, undated copy of 2026). VALIDATED is AUTO with calls that
// follow their schemas.
func choiceOf(mode string, allowed []string) *llm.ToolChoice {
	switch {
	case mode == modeAny && len(allowed) == 1:
		return &llm.ToolChoice{Mode: llm.ToolsNamed, Name: allowed[0]}
	case mode == modeAny:
		return &llm.ToolChoice{Mode: llm.ToolsRequired, Allowed: allowed}
	case mode == modeValidated:
		return &llm.ToolChoice{Mode: llm.ToolsAuto, Allowed: allowed}
	case len(allowed) > 0:
	case mode == modeAuto:
		return &llm.ToolChoice{Mode: llm.ToolsAuto}
	case mode == modeNone:
		return &llm.ToolChoice{Mode: llm.ToolsNone}
	}
	return nil
}

const (
	modeAuto      = "AUTO"
	modeAny       = "ANY"
	modeNone      = "NONE"
	modeValidated = "VALIDATED"
)
