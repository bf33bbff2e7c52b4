package responses

import (
	"cmp"
	"strings"

	"weir/internal/dialect/clienttool"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// elsewhere returns an item for other wire formats: a function call or its result, or nothing. It notes an item that a
// translation must not drop.
//
// The items are those of https://platform.openai.com/docs/api-reference/responses/create, as in the package openai
// 7.59.0 for Node (2026-11-24). docs/client-apis.md documents their translations.
func (t *turns) elsewhere(kind string, v []byte, param string) (*llm.PartElsewhere, error) {
	switch kind {
	case itemTools:
		return &llm.PartElsewhere{}, nil
	case "configuration_update":
		return t.configured(v), nil
	case "web_search_call", "file_search_call", "code_interpreter_call", itemImage, "mcp_list_tools":
		return &llm.PartElsewhere{LeftOut: kind}, nil
	case "tool_search_call", itemFound:
		if rawjson.Text(rawjson.Get(v, "execution")) != byClient {
			return &llm.PartElsewhere{LeftOut: kind}, nil
		}
	case "mcp_call":
		return t.ranByServer(v), nil
	}
	if call := t.callOf(kind, v); call != nil {
		return parts(llm.Part{Kind: llm.PartToolCall, Call: call}), nil
	}
	result, err := t.resultOf(kind, v, param)
	switch {
	case err != nil:
		return nil, err
	case result != nil:
		return parts(llm.Part{Kind: llm.PartToolResult, Result: result}), nil
	}
	t.refuse(kind, param)
	return nil, nil
}

func parts(list ...llm.Part) *llm.PartElsewhere { return &llm.PartElsewhere{Parts: list} }

// refuse notes an item that other wire formats cannot carry and that must not be dropped.
func (t *turns) refuse(kind, param string) {
	if t.essential != nil {
		return
	}
	instead := "Leave the item out"
	switch {
	case kind == "compaction_trigger":
		instead = "Have the client summarize the conversation itself, as Codex does for a model_provider of its own"
	case strings.HasPrefix(kind, "compaction"):
		instead = "Send its content as messages"
	case kind == "item_reference", kind == "":
		instead = "Send the item itself"
	}
	t.essential = &llm.Essential{Param: param, Instead: instead}
}

// configured reads settings that apply from an item on.
func (t *turns) configured(v []byte) *llm.PartElsewhere {
	e := &llm.PartElsewhere{}
	for m := range rawjson.Members(v) {
		effort := rawjson.Text(rawjson.Get(m.Value, "effort"))
		switch {
		case m.Is("type"), m.Is("id"), !rawjson.Present(m.Value):
		case m.Is("reasoning") && effort != "":
			t.effort = effort
		default:
			e.LeftOut = "configuration_update"
		}
	}
	return e
}

// callOf returns the call of a tool that is not a function, as a function call; nil for other items.
func (t *turns) callOf(kind string, v []byte) *llm.ToolCall {
	call := &llm.ToolCall{ID: callID(v)}
	tool := llm.ClientTool{Kind: llm.ToolKind(strings.TrimSuffix(kind, "_call"))}
	switch kind {
	case "custom_tool_call":
		tool = llm.ClientTool{
			Kind: llm.ToolCustom, Namespace: rawjson.Text(rawjson.Get(v, "namespace")),
			Name: rawjson.Text(rawjson.Get(v, "name")),
		}
		call.Arguments = clienttool.Arguments(rawjson.Text(rawjson.Get(v, "input")))
	case "local_shell_call":
		call.Arguments = string(rawjson.Rewrite(rawjson.Get(v, "action"), butType))
	case "shell_call":
		call.Arguments = string(rawjson.Get(v, "action"))
	case "apply_patch_call":
		call.Arguments = string(rawjson.Get(v, "operation"))
	case "tool_search_call":
		call.Arguments = string(rawjson.Get(v, "arguments"))
	default:
		return nil
	}
	tool.Name = cmp.Or(tool.Name, string(tool.Kind))
	if rawjson.KindOf([]byte(call.Arguments)) != rawjson.Object {
		call.Arguments = "{}"
	}
	call.Name = t.tools.function(tool)
	return call
}

// butType removes the member with an object's type.
func butType(name string) string {
	if name == "type" {
		return ""
	}
	return name
}

// callID returns the id that connects a call and its result.
func callID(v []byte) string {
	return cmp.Or(rawjson.Text(rawjson.Get(v, "call_id")), rawjson.Text(rawjson.Get(v, "id")))
}

// resultOf returns the result of a tool that is not a function; nil for other items.
func (t *turns) resultOf(kind string, v []byte, param string) (*llm.ToolResult, error) {
	r := &llm.ToolResult{CallID: callID(v)}
	output := rawjson.Get(v, "output")
	switch kind {
	case "custom_tool_call_output":
		parts, err := decodeContent(output, inputText, param+".output")
		r.Parts = parts
		return r, err
	case "local_shell_call_output":
		r.Parts = words(cmp.Or(rawjson.Text(output), string(output)))
	case "shell_call_output": // a list with the output of each command
		r.Parts = words(string(output))
	case "apply_patch_call_output":
		status := rawjson.Text(rawjson.Get(v, "status"))
		r.IsError = status == statusFailed
		r.Parts = words(cmp.Or(rawjson.Text(output), status))
	case itemFound:
		r.Parts = words("No tools were found.")
		if names := t.foundIn(v); len(names) > 0 {
			r.Parts = words("Tools that can be called from now on: " + strings.Join(names, ", "))
		}
	default:
		return nil, nil
	}
	return r, nil
}

func words(s string) []llm.Part { return []llm.Part{{Kind: llm.PartText, Text: s}} }

// foundIn returns the function names of the tools that a search found.
func (t *turns) foundIn(v []byte) (names []string) {
	name := func(namespace string, tool []byte) string {
		return t.tools.function(llm.ClientTool{
			Kind:      llm.ToolKind(rawjson.Text(rawjson.Get(tool, "type"))),
			Namespace: namespace, Name: rawjson.Text(rawjson.Get(tool, "name")),
		})
	}
	for _, found := range rawjson.Elements(rawjson.Get(v, "tools")) {
		within := rawjson.Get(found, "tools")
		if within == nil {
			names = append(names, name("", found))
		}
		for _, tool := range rawjson.Elements(within) {
			names = append(names, name(rawjson.Text(rawjson.Get(found, "name")), tool))
		}
	}
	return names
}

// ranByServer returns a call that an MCP server answered, with its answer.
func (t *turns) ranByServer(v []byte) *llm.PartElsewhere {
	get := func(name string) string { return rawjson.Text(rawjson.Get(v, name)) }
	call := &llm.ToolCall{ID: callID(v), Arguments: get("arguments")}
	call.Name = t.tools.function(llm.ClientTool{
		Kind: llm.ToolFunction, Namespace: get("server_label"), Name: get("name"),
	})
	result := &llm.ToolResult{CallID: call.ID, Parts: words(get("output"))}
	if failure := rawjson.Get(v, "error"); rawjson.Present(failure) {
		result.IsError, result.Parts = true, words(cmp.Or(rawjson.Text(failure), string(failure)))
	}
	return parts(
		llm.Part{Kind: llm.PartToolCall, Call: call}, llm.Part{Kind: llm.PartToolResult, Result: result})
}
