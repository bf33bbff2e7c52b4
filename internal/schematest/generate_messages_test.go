package schematest_test

import "strings"

// messagesRequest generates any valid request at /v1/messages.
func messagesRequest(g generator) object {
	m := messages{generator: g, names: g.toolNames(strings.Repeat("n", 128), strings.Repeat("n", 127)+"m")}
	m.cites = g.once(3) // all documents of a request, or none
	m.marks = g.marks()
	g.conversation(m.user, m.results, m.answer)
	r := object{"model": "m", "max_tokens": g.count(1, 100000)(), "messages": m.all}
	if len(m.names) > 0 {
		m.offer(r)
	}
	m.options(r)
	if g.once(15) {
		m.onlyVendors(r)
	}
	return r
}

type messages struct {
	generator
	names  []string
	all    list
	called []call
	former []call
	count  int
	cites  bool
	marks  int // one of so many blocks has a cache mark
}

func (m *messages) add(role string, content any) {
	m.all = append(m.all, object{"role": role, "content": content})
}

// marked sometimes adds a cache mark to a block.
func (m *messages) marked(block object) object {
	if m.once(m.marks) {
		block["cache_control"] = one(m.generator, object{"type": "ephemeral"}, object{"type": "ephemeral", "ttl": "1h"})
	}
	return block
}

func (m *messages) words() object { return m.marked(object{"type": "text", "text": m.text()}) }

func (m *messages) user() {
	if m.once(16) {
		m.add("system", one[any](m.generator, m.text(), list{m.words()}))
	}
	if m.once(2) {
		m.add("user", m.text())
		return
	}
	m.add("user", append(m.media(m.IntN(3)), m.words()))
}

// media generates n blocks other than text.
func (m *messages) media(n int) (content list) {
	for range n {
		content = append(content, m.marked(one(m.generator, m.image, m.image, m.document, m.document, m.searchResult)()))
	}
	return content
}

func (m *messages) image() object {
	return object{"type": "image", "source": one(m.generator,
		object{"type": "base64", "media_type": "image/png", "data": png}, object{"type": "url", "url": "https://example.com/a.png"})}
}

func (m *messages) document() object {
	d := object{"type": "document", "source": one(m.generator,
		object{"type": "base64", "media_type": "application/pdf", "data": pdf}, object{"type": "url", "url": "https://example.com/a.pdf"},
		object{"type": "text", "media_type": "text/plain", "data": m.text()},
		object{"type": "content", "content": list{object{"type": "text", "text": m.text()}}})}
	m.some(d, map[string]func() any{"title": of(m.generator, "notes", "Größe (1).pdf", "a  b"), "context": of(m.generator, "c")})
	return m.toCite(d)
}

// toCite sometimes asks for citations of a document or a result.
func (m *messages) toCite(block object) object {
	if m.cites {
		block["citations"] = object{"enabled": true}
	}
	return block
}

// cited sometimes adds citations of documents to a text of an answer.
func (m *messages) cited(block object) object {
	if m.cites && m.once(2) {
		block["citations"] = list{one(m.generator,
			object{"type": "char_location", "cited_text": "q", "document_index": m.IntN(3), "document_title": nil, "start_char_index": 0, "end_char_index": 1},
			object{"type": "page_location", "cited_text": "q", "document_index": m.IntN(3), "document_title": "notes", "start_page_number": 1, "end_page_number": 2},
			object{"type": "content_block_location", "cited_text": "q", "document_index": 0, "document_title": nil, "start_block_index": 0, "end_block_index": 1},
			object{"type": "search_result_location", "cited_text": "q", "search_result_index": 0, "title": "t", "source": "https://example.com", "start_block_index": 0, "end_block_index": 1})}
	}
	return block
}

func (m *messages) answer(last bool) bool {
	var content list
	for m.once(4) { // sometimes interleaved with the following ones
		content = append(content, m.thought())
	}
	if m.once(12) && !last {
		content = append(content, m.ran()...)
	}
	if m.once(2) && !last {
		if m.once(2) {
			content = append(content, m.words())
		}
		m.called = m.calls(m.names, m.former, strings.Repeat("Z", 85), "functions_f_0", "a-b_c")
		m.former = append(m.former, m.called...)
		for _, c := range m.called {
			if m.once(8) {
				content = append(content, m.thought())
			}
			content = append(content, m.marked(object{"type": "tool_use", "id": c.id, "name": c.name, "input": m.arguments()}))
		}
		m.add("assistant", content)
		return true
	}
	m.add("assistant", append(content, m.cited(object{"type": "text", "text": strings.TrimSpace(m.text())})))
	return false
}

func (m *messages) results() {
	var content list
	for _, i := range m.Perm(len(m.called)) {
		r := object{"type": "tool_result", "tool_use_id": m.called[i].id}
		m.some(r, map[string]func() any{"is_error": of(m.generator, true, false)})
		if !m.once(8) {
			r["content"] = one[any](m.generator, m.text(), list{m.words()}, append(m.media(1), m.words()), "", m.found(), list{m.searchResult()})
		}
		content = append(content, m.marked(r))
	}
	if m.once(3) {
		content = append(content, m.words())
	}
	m.add("user", content)
}

func (m *messages) offer(r object) {
	var tools list
	for _, name := range m.names {
		t := object{"name": name, "input_schema": m.parameters()}
		m.some(t, map[string]func() any{
			"strict": of(m.generator, true, false), "type": of(m.generator, "custom"), "input_examples": of(m.generator, list{object{"a": "x"}}),
			"eager_input_streaming": of(m.generator, true), "defer_loading": of(m.generator, true),
		})
		if !m.once(4) {
			t["description"] = one(m.generator, "d", "", strings.Repeat("d", 2000))
		}
		tools = append(tools, m.marked(t))
	}
	if m.once(8) {
		tools = append(tools, object{"type": "web_search_20250305", "name": "web_search", "max_uses": 5})
	}
	r["tools"] = tools
	m.some(r, map[string]func() any{"tool_choice": of(m.generator,
		object{"type": "none"}, object{"type": "auto"}, object{"type": "auto", "disable_parallel_tool_use": true}, object{"type": "any"},
		object{"type": "tool", "name": m.names[0]})})
}

func (m *messages) options(r object) {
	g := m.generator
	if g.once(2) {
		r["stream"] = true
	}
	g.some(r, map[string]func() any{
		"system":      of(g, g.text(), list{m.words(), m.words()}),
		"temperature": g.number(0, 1), "top_p": g.number(0, 1), "top_k": g.count(0, 1000),
		"stop_sequences": of(g, list{"a"}, list{"a", "b", "c", "d", "e"}, list{"a", "b", "c", "d", "e", "f"}, list{}),
		"metadata":       of(g, object{"user_id": "user_" + strings.Repeat("u", 145)}, object{"user_id": nil}, object{}),
		"service_tier":   of(g, "auto", "standard_only"), "cache_control": of(g, object{"type": "ephemeral"}, nil),
		"speed": of(g, "standard", "fast", nil), "thinking": of(g, object{"type": "disabled"}, object{"type": "adaptive"},
			object{"type": "enabled", "budget_tokens": 1024}),
		"output_config": of(g, object{"effort": "low"}, object{"effort": "max"}, object{"format": object{"type": "json_schema", "schema": g.parameters()}}),
	})
	if r["max_tokens"].(int64) <= 1024 && r["thinking"] != nil {
		delete(r, "thinking")
	}
}
