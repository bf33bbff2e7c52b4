package schematest_test

import "strings"

// responsesRequest generates any valid request at /v1/responses.
func responsesRequest(g generator) object {
	s := responses{generator: g, marks: g.marks(), names: g.toolNames(strings.Repeat("n", 64))}
	if g.once(10) {
		s.add(object{"type": "additional_tools", "role": "developer", "tools": list{s.namespace("functions")}})
	}
	g.conversation(s.user, s.results, s.answer)
	r := object{"model": "m", "input": s.items}
	if g.once(8) {
		r["input"] = g.text()
	}
	if len(s.names) > 0 {
		s.offer(r)
	}
	s.options(r)
	s.agentOptions(r)
	return r
}

type responses struct {
	generator
	names  []string
	items  list
	called []call
	former []call

	outputs []object // of the calls of tools that are no functions
	count   int
	marks   int // one of so many texts ends a cached prefix
}

func (s *responses) add(item object) { s.items = append(s.items, item) }

// message adds one of the short form or the long.
func (s *responses) message(role string, content any) {
	m := object{"role": role, "content": content}
	s.some(m, map[string]func() any{"type": of(s.generator, "message")})
	if role == "assistant" {
		s.some(m, map[string]func() any{"phase": of(s.generator, "commentary", "final_answer", nil)})
	}
	s.add(m)
}

func (s *responses) user() {
	if s.once(8) {
		s.message(one(s.generator, "system", "developer"), one[any](s.generator, s.text(), list{s.words()}))
	}
	if s.once(30) {
		s.onlyVendors()
	}
	if s.once(2) {
		s.message("user", one(s.generator, s.text(), s.text(), ""))
		return
	}
	content := list{s.words()}
	for range s.IntN(3) {
		content = append(content, one(s.generator, s.words, s.image, s.image, s.file)())
	}
	s.message("user", content)
}

func (s *responses) words() object {
	return s.breaks(s.marks, object{"type": "input_text", "text": s.text()})
}

func (s *responses) image() object {
	return object{
		"type": "input_image", "detail": one(s.generator, "auto", "low", "high", "original"),
		"image_url": one(s.generator, "data:image/png;base64,"+png, "https://example.com/a.png"),
	}
}

func (s *responses) file() object {
	return one(s.generator,
		object{"type": "input_file", "filename": one(s.generator, "a.pdf", "Größe (1).pdf"), "file_data": "data:application/pdf;base64," + pdf},
		object{"type": "input_file", "file_url": "https://example.com/a.pdf"})
}

func (s *responses) answer(last bool) bool {
	if s.once(4) {
		s.add(s.reasoning())
	}
	if s.once(12) {
		s.add(s.ran())
	}
	if s.once(2) && !last {
		if s.once(3) {
			s.message("assistant", s.text())
		}
		s.called = s.calls(s.names, s.former, "functions.f:0", strings.Repeat("Z", 64), "call/1+2=", "ü ß")
		s.former = append(s.former, s.called...)
		for _, c := range s.called {
			item := object{"type": "function_call", "call_id": c.id, "name": c.name, "arguments": s.argumentText()}
			s.some(item, map[string]func() any{"id": of(s.generator, "fc_1"), "status": of(s.generator, "completed", "incomplete")})
			s.add(item)
			if s.once(8) { // between calls of one turn
				s.add(s.reasoning())
			}
		}
		s.clientCalls()
		return true
	}
	switch {
	case s.once(3):
		s.add(s.output())
	default:
		s.message("assistant", one(s.generator, s.text(), s.text(), ""))
	}
	return false
}

func (s *responses) results() {
	if s.once(6) { // sent while the tools ran
		s.message(one(s.generator, "user", "assistant", "developer"), s.text())
	}
	for _, i := range s.Perm(len(s.called)) {
		s.add(object{
			"type": "function_call_output", "call_id": s.called[i].id,
			"output": one[any](s.generator, s.text(), "", `{"a":1}`, list{s.words()}, list{s.image()}, list{s.words(), s.file()}),
		})
	}
	for _, output := range s.outputs {
		s.add(output)
	}
}

func (s *responses) offer(r object) {
	var tools list
	for _, name := range s.names {
		t := object{"type": "function", "name": name, "parameters": s.parameters()}
		s.some(t, map[string]func() any{"strict": of(s.generator, true, false), "description": of(s.generator, "d", "", strings.Repeat("d", 2000))})
		tools = append(tools, t)
	}
	r["tools"] = append(tools, s.clientTools()...)
	named := object{"type": "function", "name": s.names[0]}
	s.some(r, map[string]func() any{
		"parallel_tool_calls": of(s.generator, true, false),
		"tool_choice":         of(s.generator, "none", "auto", "required", named, object{"type": "allowed_tools", "mode": "auto", "tools": list{named}}),
	})
}

func (s *responses) options(r object) {
	g := s.generator
	if g.once(2) {
		r["stream"] = true
	}
	format := g.format()
	format["type"] = "json_schema"
	g.some(r, map[string]func() any{
		"instructions": of(g, g.text(), ""), "temperature": g.number(0, 2), "top_p": g.number(0, 1), "max_output_tokens": g.count(16, 100000),
		"user": of(g, strings.Repeat("u", 150)), "safety_identifier": of(g, strings.Repeat("s", 64)), "store": of(g, true, false),
		"metadata": of(g, object{"k": "v"}), "service_tier": of(g, "auto", "default", "flex", "priority"), "prompt_cache_key": of(g, "k"),
		"truncation": of(g, "auto", "disabled"), "include": of(g, list{"reasoning.encrypted_content"}), "top_logprobs": g.count(0, 20),
		"reasoning": of(g, object{"effort": one(g, "none", "minimal", "low", "medium", "high", "xhigh")}, object{"summary": "auto"}),
		"text":      of(g, object{"verbosity": "low"}, object{"format": object{"type": "json_object"}}, object{"format": format}, object{"format": object{"type": "text"}}),
	})
}
