package schematest_test

import "fmt"

// Parts of a Responses input other than messages and calls: items of earlier answers, and items that only its vendor
// reads.

// tomorrow is the type of an item that no vendor has published.
const tomorrow = "item_of_tomorrow"

// reasoning generates thinking that was stored at the vendor, or was returned encrypted, or in plain text as servers of
// one's own return it.
func (s *responses) reasoning() object {
	item := object{"type": "reasoning", "id": fmt.Sprint("rs_", s.IntN(3)), "summary": list{}}
	s.some(item, map[string]func() any{
		"content": of(s.generator, list{object{"type": "reasoning_text", "text": "t"}}), "status": of(s.generator, "completed", "incomplete"),
	})
	if s.once(2) {
		item["encrypted_content"] = one[any](s.generator, "gAAAAABo", "gAAAAABo", nil)
	}
	for range s.IntN(3) {
		item["summary"] = append(item["summary"].(list), object{"type": "summary_text", "text": one(s.generator, s.text(), "")})
	}
	return item
}

// output generates a message of an answer, unchanged.
func (s *responses) output() object {
	text := func() object {
		return object{
			"type": "output_text", "text": one(s.generator, s.text(), ""), "annotations": s.annotations(),
			"logprobs": one(s.generator, list{}, list{}, list{object{"token": "a", "logprob": -0.5, "bytes": list{97}, "top_logprobs": list{}}}),
		}
	}
	refusal := func() object { return object{"type": "refusal", "refusal": "No."} }
	content := list{}
	for range one(s.generator, 1, 1, 1, 1, 2, 0) {
		content = append(content, one(s.generator, text, text, text, refusal)())
	}
	m := object{
		"type": "message", "id": fmt.Sprint("msg_", s.IntN(3)), "role": "assistant", "content": content,
		"status": one(s.generator, "completed", "incomplete", "in_progress"),
	}
	s.some(m, map[string]func() any{"phase": of(s.generator, "commentary", "final_answer")})
	return m
}

func (s *responses) annotations() list {
	if !s.once(4) {
		return list{}
	}
	return list{one(s.generator,
		object{"type": "url_citation", "url": "https://example.com", "title": "t", "start_index": 0, "end_index": 1},
		object{"type": "file_citation", "file_id": "file-1", "filename": "a.pdf", "index": 0},
		object{"type": "container_file_citation", "container_id": "c", "file_id": "cfile_1", "filename": "a", "start_index": 0, "end_index": 1},
		object{"type": "file_path", "file_id": "file-1", "index": 0})}
}

// ran generates the item of a vendor's tool in an answer.
func (s *responses) ran() object {
	s.count++
	id := fmt.Sprint(s.count)
	search := func(action object) object {
		return object{"type": "web_search_call", "id": "ws_" + id, "status": one(s.generator, "completed", "failed"), "action": action}
	}
	failed := one(s.generator, object{"type": "http_error", "code": 500, "message": "m"}, object{"type": "mcp_protocol_error", "code": 1, "message": "m"})
	mcp := object{"type": "mcp_call", "id": "mcp_" + id, "server_label": one(s.generator, "wiki", "a b"), "name": "ask", "arguments": s.argumentText()}
	s.some(mcp, map[string]func() any{"output": of(s.generator, "b", "", nil), "error": of(s.generator, nil, failed), "status": of(s.generator, "completed", "failed")})
	return one(s.generator,
		search(object{"type": "search", "query": "x"}), search(object{"type": "open_page", "url": nil}),
		search(object{"type": "find_in_page", "url": "https://example.com", "pattern": "p"}),
		object{"type": "file_search_call", "id": "fs_" + id, "status": "completed", "queries": list{"q"}, "results": nil},
		object{"type": "code_interpreter_call", "id": "ci_" + id, "status": "completed", "container_id": "c", "code": "1", "outputs": nil},
		object{"type": "image_generation_call", "id": "ig_" + id, "status": "completed", "result": one[any](s.generator, "AAAA", nil)},
		object{"type": "tool_search_call", "execution": "server", "call_id": nil, "status": "completed", "arguments": object{}},
		object{"type": "tool_search_output", "execution": "server", "call_id": nil, "status": "completed", "tools": list{s.namespace("mcp__late")}},
		mcp, object{"type": "mcp_list_tools", "id": "mcpl_" + id, "server_label": "wiki", "tools": list{object{"name": "ask", "input_schema": object{}}}})
}

// onlyVendors adds items that no other vendor can read, and none can omit.
func (s *responses) onlyVendors() {
	s.count++
	id := fmt.Sprint(s.count)
	shot := object{"type": "computer_screenshot", "image_url": "data:image/png;base64," + png}
	items := one(s.generator,
		list{object{"type": "compaction", "id": "cmp_" + id, "encrypted_content": "gAAAAABo"}}, list{object{"type": "compaction_trigger"}},
		list{object{"type": "item_reference", "id": "msg_" + id}}, list{object{"id": "rs_" + id}},
		list{
			object{"type": "computer_call", "id": "cu_" + id, "call_id": "c" + id, "action": object{"type": "screenshot"}, "pending_safety_checks": list{}, "status": "completed"},
			object{"type": "computer_call_output", "call_id": "c" + id, "output": shot},
		},
		list{
			object{"type": "mcp_approval_request", "id": "mcpr_" + id, "server_label": "wiki", "name": "ask", "arguments": "{}"},
			object{"type": "mcp_approval_response", "approval_request_id": "mcpr_" + id, "approve": true},
		},
		list{
			object{"type": "program", "id": "p_" + id, "call_id": "c" + id, "code": "1", "fingerprint": "f"},
			object{"type": "program_output", "id": "po_" + id, "call_id": "c" + id, "result": "1", "status": "completed"},
		},
		list{object{"type": tomorrow, "id": "x_" + id, "odd": list{1, nil}}})
	s.items = append(s.items, items...)
}

// agentOptions adds those of Codex and the Agents SDK, and tools that only the vendor runs.
func (s *responses) agentOptions(r object) {
	g := s.generator
	g.some(r, map[string]func() any{
		"prompt_cache_retention": of(g, "in_memory", "24h"), "max_tool_calls": of(g, 3), "background": of(g, false), "prompt": of(g, nil),
		"prompt_cache_options": of(g, object{"mode": "implicit", "ttl": "30m"}), "stream_options": of(g, object{"include_obfuscation": false}),
		"include":   of(g, list{"reasoning.encrypted_content", "web_search_call.action.sources"}, list{"message.output_text.logprobs"}, nil),
		"reasoning": of(g, object{"effort": "max", "summary": "detailed"}, object{"effort": nil, "summary": nil}, object{"mode": "pro"}, nil),
	})
	if g.once(40) {
		tools, _ := r["tools"].(list)
		r["tools"] = append(tools, one(g,
			object{"type": "file_search", "vector_store_ids": list{"vs_1"}}, object{"type": "code_interpreter", "container": object{"type": "auto"}},
			object{"type": "image_generation"}, object{"type": "mcp", "server_label": "wiki", "server_url": "https://example.com", "require_approval": "never"},
			object{"type": "computer"}, object{"type": "web_search_preview"}, object{"type": "tool_search", "execution": "server"}))
	}
	if g.once(40) {
		g.some(r, map[string]func() any{
			"moderation": of(g, object{"model": "omni-moderation-latest"}), "context_management": of(g, list{object{"type": "compaction", "compact_threshold": 2000}}),
			"conversation": of(g, "conv_1"), "prompt": of(g, object{"id": "pmpt_1"}),
		})
	}
}
