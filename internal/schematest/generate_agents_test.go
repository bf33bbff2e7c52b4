package schematest_test

import "fmt"

// Parts of agents' conversations other than functions: of Codex at Responses, of Claude Code at Messages.

// clientCall generates a call of a tool that Codex runs, and its result.
func (s *responses) clientCall(id string) (item, output object) {
	g := s.generator
	kind := one(g, "custom", "local_shell", "shell", "apply_patch", "tool_search", "namespace")
	item = object{"type": kind + "_call", "call_id": id}
	output = object{"type": kind + "_call_output", "call_id": id, "output": g.text()}
	switch kind {
	case "custom":
		item["type"], output["type"] = "custom_tool_call", "custom_tool_call_output"
		item["name"], item["input"] = one(g, "apply_patch", "exec"), one(g, "*** Begin Patch\n\"x\"\n*** End Patch", "", "{}")
	case "local_shell":
		item["id"], item["status"] = "lsh_"+id, "completed"
		item["action"] = object{"type": "exec", "command": list{"ls", "-l"}, "env": object{}}
		output = object{"type": "local_shell_call_output", "id": id, "output": `{"stdout":"a"}`}
	case "shell":
		item["action"] = object{"commands": list{"pwd"}, "timeout_ms": 1000}
		output["output"] = list{object{"stdout": "/", "stderr": "", "outcome": object{"type": "exit", "exit_code": 0}}}
	case "apply_patch":
		item["status"], item["operation"] = "completed", object{"type": "delete_file", "path": "a"}
		output["status"] = one(g, "completed", "failed")
	case "tool_search":
		item["execution"], item["status"], item["arguments"] = "client", "completed", object{"query": "mail"}
		output = object{"type": "tool_search_output", "call_id": id, "execution": "client", "status": "completed", "tools": list{s.namespace("mcp__mail")}}
	default:
		item["type"], item["namespace"], item["name"], item["arguments"] = "function_call", "mcp__tt", "add", g.argumentText()
		output["type"] = "function_call_output"
	}
	if kind == "custom" && g.once(3) {
		output["output"] = list{s.words(), s.image()}
	}
	return item, output
}

func (s *responses) namespace(name string) object {
	f := object{"type": "function", "name": "send", "parameters": s.parameters()}
	s.some(f, map[string]func() any{"defer_loading": of(s.generator, true), "description": of(s.generator, "d")})
	return object{"type": "namespace", "name": name, "description": "d", "tools": list{f}}
}

// clientCalls sometimes adds a few of these.
func (s *responses) clientCalls() {
	s.outputs = nil
	if !s.once(3) {
		return
	}
	for range 1 + s.IntN(2) {
		s.count++
		item, output := s.clientCall(fmt.Sprint("call_client", s.count))
		s.add(item)
		s.outputs = append(s.outputs, output)
	}
}

// clientTools generates the tools that Codex offers.
func (s *responses) clientTools() (tools list) {
	grammar := object{"type": "grammar", "syntax": "lark", "definition": "start: \"x\""}
	all := list{
		object{"type": "custom", "name": "apply_patch", "description": "Edits", "format": grammar},
		object{"type": "custom", "name": "exec"},
		object{"type": "web_search"},
		object{"type": "local_shell"},
		object{"type": "shell", "environment": object{"type": "local"}},
		object{"type": "apply_patch"},
		object{"type": "tool_search", "execution": "client", "description": "Finds", "parameters": s.parameters()},
		s.namespace("mcp__tt"),
	}
	for _, tool := range all {
		if s.once(6) {
			tools = append(tools, tool)
		}
	}
	return tools
}

// found generates the result of a tool that finds others, as Claude Code sends it.
func (m *messages) found() list {
	return list{object{"type": "tool_reference", "tool_name": one(m.generator, append([]string{"gone"}, m.names...)...)}}
}

func (m *messages) searchResult() object {
	return m.toCite(object{"type": "search_result", "source": "https://example.com", "title": "t", "content": list{object{"type": "text", "text": m.text()}}})
}

// ran generates the parts of Google's code execution in an answer.
func (c *contents) ran() list {
	return list{
		object{"executableCode": object{"language": "PYTHON", "code": "1"}},
		object{"codeExecutionResult": object{"outcome": "OUTCOME_OK", "output": "1"}},
	}
}
