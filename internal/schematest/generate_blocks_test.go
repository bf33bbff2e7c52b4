package schematest_test

import (
	"fmt"
	"strings"
)

// Parts of a Messages conversation other than text, media and calls.

// ran generates the blocks of the vendor's tools in an answer, or of their failures.
func (m *messages) ran() list {
	m.count++
	id := fmt.Sprint("srvtoolu_01", m.count)
	use := func(name string, input object) object {
		return object{"type": "server_tool_use", "id": id, "name": name, "input": input}
	}
	result := func(kind string, content any) object {
		return m.marked(object{"type": kind + "_tool_result", "tool_use_id": id, "content": content})
	}
	failed := func(kind string) object {
		return object{"type": kind + "_tool_result_error", "error_code": "unavailable"}
	}
	ended := object{"stdout": "1", "stderr": "", "return_code": 0, "content": list{}}
	page := object{"type": "document", "source": object{"type": "text", "media_type": "text/plain", "data": "x"}}
	hit := object{"type": "web_search_result", "url": "https://example.com", "title": "t", "encrypted_content": "RW5j"}
	pairs := []list{
		{use("web_search", object{"query": "q"}), result("web_search", one[any](m.generator, list{hit}, list{}, failed("web_search")))},
		{use("web_fetch", object{"url": "https://example.com"}), result("web_fetch", one[any](m.generator, failed("web_fetch"),
			object{"type": "web_fetch_result", "url": "https://example.com", "content": page}))},
		{use("bash_code_execution", object{"command": "ls"}), result("bash_code_execution", one[any](m.generator, failed("bash_code_execution"),
			with(ended, "type", "bash_code_execution_result")))},
		{use("text_editor_code_execution", object{"command": "view", "path": "a"}), result("text_editor_code_execution", one[any](m.generator, failed("text_editor_code_execution"),
			object{"type": "text_editor_code_execution_view_result", "content": "x", "file_type": "text"}))},
		{use("tool_search_tool_regex", object{"query": "f"}), result("tool_search", one[any](m.generator, failed("tool_search"),
			object{"type": "tool_search_tool_search_result", "tool_references": m.found()}))},
		{use("code_execution", object{"code": "1"}), result("code_execution", with(ended, "type", "code_execution_result"))},
		{
			object{"type": "mcp_tool_use", "id": id, "name": "ask", "server_name": "wiki", "input": m.arguments()},
			object{"type": "mcp_tool_result", "tool_use_id": id, "is_error": m.once(2), "content": one[any](m.generator, "a", list{object{"type": "text", "text": "a"}}, list{})},
		},
		{use("web_search", object{"query": "q"})}, // which was stopped
	}
	return pairs[m.IntN(len(pairs))]
}

// with returns an object with another member.
func with(o object, name string, value any) object {
	other := object{name: value}
	for key, v := range o {
		other[key] = v
	}
	return other
}

// thought generates thinking that its vendor signed, that lost its text or its signature, or that is hidden.
func (m *messages) thought() object {
	if m.once(5) {
		return object{"type": "redacted_thinking", "data": one(m.generator, "EmwKAhgBEgy3", "")}
	}
	return object{
		"type": "thinking", "thinking": one(m.generator, m.text(), m.text(), ""),
		"signature": one(m.generator, "EqQBCkYIBRgCKkBs", "EqQBCkYIBRgCKkBs", "ErUB"+strings.Repeat("a", 400), ""),
	}
}

// onlyVendors adds parts that no other vendor can read or run.
func (m *messages) onlyVendors(r object) {
	g := m.generator
	g.some(r, map[string]func() any{
		"container": of(g, "container_1", object{"id": "container_1"}, nil), "inference_geo": of(g, "us", "global", nil),
		"mcp_servers":        of(g, list{object{"type": "url", "name": "wiki", "url": "https://example.com"}}, list{}),
		"context_management": of(g, object{"edits": list{object{"type": "clear_tool_uses_20250919"}}}),
	})
	if g.once(4) {
		tools, _ := r["tools"].(list)
		r["tools"] = append(tools, one(g,
			object{"type": "bash_20250124", "name": "bash"}, object{"type": "text_editor_20250728", "name": "str_replace_based_edit_tool"},
			object{"type": "code_execution_20250825", "name": "code_execution"}, object{"type": "web_fetch_20250910", "name": "web_fetch"},
			object{"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"}, object{"type": "memory_20250818", "name": "memory"}))
	}
	if g.once(4) {
		m.all = append(list{object{"role": "user", "content": list{one(g,
			object{"type": "container_upload", "file_id": "file_1"}, object{"type": "document", "source": object{"type": "file", "file_id": "file_1"}},
			object{"type": "image", "source": object{"type": "file", "file_id": "file_1"}},
			object{"type": "compaction", "content": "So far: x"}, object{"type": "compaction", "content": nil, "encrypted_content": "RW5j"}), m.words()}}}, m.all...)
		r["messages"] = m.all
	}
}
