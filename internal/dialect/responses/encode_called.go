package responses

import (
	"cmp"
	"slices"

	"weir/internal/dialect/clienttool"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// calledPrefix returns the prefix of the ids of items with calls of such a tool.
func calledPrefix(kind llm.ToolKind) string {
	switch kind {
	case llm.ToolCustom:
		return "ctc_"
	case llm.ToolLocalShell:
		return "lsh_"
	case llm.ToolShell:
		return "sh_"
	case llm.ToolApplyPatch:
		return "apc_"
	case llm.ToolSearch:
		return "tsc_"
	}
	return "fc_"
}

// toolOf returns the called tool as the client names it: a plain function of that name if it stands for no other tool,
// or if its arguments are not an object, which only a function allows. An unfinished call has no arguments yet.
func toolOf(called *llm.Called, c *llm.ToolCall, unfinished bool) llm.ClientTool {
	t, is := called.Of(c.Name)
	switch {
	case !is:
	case t.Kind == llm.ToolFunction, t.Kind == llm.ToolCustom, unfinished, isObject(c.Arguments):
		return t
	}
	return llm.ClientTool{Kind: llm.ToolFunction, Name: c.Name}
}

func isObject(arguments string) bool {
	v := []byte(arguments)
	return rawjson.Validate(v, maxDepth) == nil && rawjson.KindOf(v) == rawjson.Object
}

// appendCalled writes the item of a tool call.
func appendCalled(dst []byte, t llm.ClientTool, c *llm.ToolCall, id, status string) []byte {
	switch t.Kind {
	case llm.ToolCustom:
		return appendCustom(dst, t, c.ID, clienttool.Text(c.Arguments), id, status)
	case llm.ToolFunction:
		call := *c
		call.Name = t.Name
		if t.Namespace != "" {
			namespace := rawjson.AppendString(nil, t.Namespace)
			call.Extra = append(slices.Clip(call.Extra), llm.Field{Name: "namespace", Value: namespace})
		}
		return appendCall(dst, &call, id, status)
	}
	arguments := []byte(cmp.Or(c.Arguments, "{}"))
	dst = append(append(append(dst, `{"type":"`...), t.Kind...), "_call\""...)
	if t.Kind == llm.ToolApplyPatch && status == statusIncomplete { // it has no such status
		status = statusInProgress
	}
	dst = appendFields(dst, nil, id, status)
	dst = rawjson.AppendString(append(dst, `,"call_id":`...), c.ID)
	switch t.Kind {
	case llm.ToolLocalShell:
		dst = append(append(dst, `,"action":`...),
			withDefaults(arguments, `"type":"exec"`, "type", localShellDefaults)...)
	case llm.ToolShell:
		dst = append(append(dst, `,"action":`...), withDefaults(arguments, "", "", shellDefaults)...)
		dst = append(dst, `,"environment":{"type":"local"}`...)
	case llm.ToolApplyPatch:
		dst = append(append(dst, `,"operation":`...), withDefaults(arguments, "", "", patchDefaults)...)
	default:
		dst = append(append(dst, `,"execution":"client","arguments":`...), arguments...)
	}
	return append(dst, '}')
}

// defaults are members that an object of the vendor always has.
type defaults []struct{ name, value string }

var (
	localShellDefaults = defaults{{"command", "[]"}, {"env", "{}"}}
	shellDefaults      = defaults{{"commands", "[]"}, {"timeout_ms", "null"}, {"max_output_length", "null"}}
	patchDefaults      = defaults{{"type", `"update_file"`}, {"path", `""`}}
)

// withDefaults returns an object with first in place of the member named instead, and with the defaults that it lacks.
func withDefaults(object []byte, first, instead string, more defaults) []byte {
	dst := append([]byte{'{'}, first...)
	for m := range rawjson.Members(object) {
		if !m.Is(instead) {
			dst = rawjson.AppendMember(dst, m.Name(), m.Value)
		}
	}
	for _, d := range more {
		if rawjson.Get(object, d.name) == nil {
			dst = rawjson.AppendMember(dst, d.name, []byte(d.value))
		}
	}
	return append(dst, '}')
}

func appendCustom(dst []byte, t llm.ClientTool, callID, input, id, status string) []byte {
	dst = appendFields(append(dst, `{"type":"custom_tool_call"`...), nil, id, status)
	dst = rawjson.AppendString(append(dst, `,"call_id":`...), callID)
	if t.Namespace != "" {
		dst = rawjson.AppendString(append(dst, `,"namespace":`...), t.Namespace)
	}
	dst = rawjson.AppendString(append(dst, `,"name":`...), t.Name)
	return append(rawjson.AppendString(append(dst, `,"input":`...), input), '}')
}
