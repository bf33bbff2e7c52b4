package gemini

import (
	"strconv"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// decodeTools reads the tools. One object may hold functions and server-side
// tools at once; each of the latter becomes a tool of its own.
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
				tools = append(tools, llm.Tool{Raw: append(append(raw, m.Value...), '}')})
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
			return nil, llm.Invalid(at, "A function needs a name, a non-empty string.")
		}
		tools = append(tools, t)
	}
	return tools, nil
}

// decodeFunction reads a declaration. The original of parameters in OpenAPI's
// words stands beside their translation.
func decodeFunction(v []byte) (t llm.Tool) {
	var openAPI []byte
	for m := range rawjson.Members(v) {
		if !rawjson.Present(m.Value) {
			continue
		}
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

// decodeToolConfig reads the wish about tools. One that the tree expresses in
// part alone is kept as it came, too.
func decodeToolConfig(r *llm.Request, v []byte) {
	choice, whole := decodeChoice(v)
	r.ToolChoice = choice
	if !whole {
		r.Extra = append(r.Extra, llm.Field{Name: "toolConfig", Value: v})
	}
}

func decodeChoice(v []byte) (c *llm.ToolChoice, whole bool) {
	whole = true
	for m := range rawjson.Members(v) {
		if string(spelled(m.Key())) != "functionCallingConfig" {
			whole = whole && !rawjson.Present(m.Value)
			continue
		}
		var mode string
		var allowed []string
		for f := range rawjson.Members(m.Value) {
			switch string(spelled(f.Key())) {
			case "mode":
				mode = rawjson.Text(f.Value)
			case "allowedFunctionNames":
				allowed, _ = texts("", f.Value)
			default:
				whole = false
			}
		}
		var exact bool
		c, exact = choiceOf(mode, allowed)
		whole = whole && exact
	}
	return c, whole
}

// choiceOf is the choice that a mode makes, and whether that is all it says.
// VALIDATED is AUTO whose calls keep to their schemas.
func choiceOf(mode string, allowed []string) (c *llm.ToolChoice, exact bool) {
	switch {
	case mode == modeAuto:
		return &llm.ToolChoice{Mode: llm.ToolsAuto}, len(allowed) == 0
	case mode == modeNone:
		return &llm.ToolChoice{Mode: llm.ToolsNone}, len(allowed) == 0
	case mode == modeAny && len(allowed) == 1:
		return &llm.ToolChoice{Mode: llm.ToolsNamed, Name: allowed[0]}, true
	case mode == modeAny:
		return &llm.ToolChoice{Mode: llm.ToolsRequired}, len(allowed) == 0
	case mode == modeValidated:
		return &llm.ToolChoice{Mode: llm.ToolsAuto}, false
	}
	return nil, false
}

const (
	modeAuto      = "AUTO"
	modeAny       = "ANY"
	modeNone      = "NONE"
	modeValidated = "VALIDATED"
)
