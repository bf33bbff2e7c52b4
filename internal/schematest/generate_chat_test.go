package schematest_test

import (
	"encoding/json"
	"strings"
)

// chatRequest generates any valid request at /v1/chat/completions.
func chatRequest(g generator) object {
	c := chat{generator: g, names: g.toolNames(strings.Repeat("n", 64)), marks: g.marks()}
	if g.once(3) {
		c.add(object{"role": one(g, "system", "developer"), "content": one[any](g, g.text(), list{object{"type": "text", "text": g.text()}})})
	}
	g.conversation(c.user, c.results, c.answer)
	r := object{"model": "m", "messages": c.messages}
	if len(c.names) > 0 {
		c.offer(r)
	}
	c.options(r)
	return r
}

type chat struct {
	generator
	names    []string
	messages list
	called   []call
	former   []call
	marks    int // one of so many parts ends a cached prefix
}

func (c *chat) add(m object) { c.messages = append(c.messages, m) }

func (c *chat) user() {
	if c.once(8) {
		c.add(c.named(object{"role": one(c.generator, "system", "developer"), "content": c.text()}))
	}
	if c.once(2) {
		c.add(object{"role": "user", "content": one(c.generator, c.text(), c.text(), "")})
		return
	}
	content := list{c.breaks(c.marks, object{"type": "text", "text": one(c.generator, c.text(), c.text(), "")})}
	for range c.IntN(3) {
		part := one(c.generator, c.image, c.image, c.image, c.file, c.file, c.sound)()
		content = append(content, c.breaks(c.marks, part))
	}
	c.add(c.named(object{"role": "user", "content": content}))
}

// named sometimes adds the name of a message's speaker.
func (c *chat) named(m object) object {
	c.some(m, map[string]func() any{"name": of(c.generator, "Ann", "Ann B. (ü)")})
	return m
}

func (c *chat) sound() object {
	return object{"type": "input_audio", "input_audio": object{"data": "UklGRg==", "format": one(c.generator, "wav", "mp3")}}
}

func (c *chat) image() object {
	image := object{"url": one(c.generator, "data:image/png;base64,"+png, "https://example.com/a.png", "data:image/jpg;base64,"+png)}
	c.some(image, map[string]func() any{"detail": of(c.generator, "auto", "low", "high")})
	return object{"type": "image_url", "image_url": image}
}

func (c *chat) file() object {
	if c.once(30) {
		return object{"type": "file", "file": object{"file_id": "file-1"}}
	}
	return object{"type": "file", "file": object{"file_data": "data:application/pdf;base64," + pdf, "filename": one(c.generator, "a.pdf", "Größe (1).pdf")}}
}

func (c *chat) answer(last bool) bool {
	m := object{"role": "assistant", "content": one[any](c.generator, c.text(), c.text(), "", list{object{"type": "text", "text": c.text()}})}
	c.named(m)
	if c.once(4) { // as SDKs return received messages
		c.some(m, map[string]func() any{
			"refusal": of(c.generator, nil), "annotations": of(c.generator, list{}), "reasoning_content": of(c.generator, c.text(), ""),
		})
	}
	switch {
	case last:
	case c.once(10):
		m["content"], m["refusal"] = nil, "No."
		if c.once(2) {
			m["content"] = list{object{"type": "refusal", "refusal": "No."}}
			delete(m, "refusal")
		}
	case c.once(30):
		m["audio"] = object{"id": "audio_1"}
		if c.once(2) {
			m["content"] = nil
		}
	case c.once(10):
		return c.legacyCall(m)
	case c.once(2):
		c.called = c.calls(c.names, c.former, "functions.f:0", "call_"+strings.Repeat("Z", 80), "call/1+2=", "ü ß")
		c.former = append(c.former, c.called...)
		if c.once(2) {
			m["content"] = nil
		}
		var calls list
		for _, called := range c.called {
			calls = append(calls, c.toolCall(called))
		}
		m["tool_calls"] = calls
		c.add(m)
		return true
	}
	c.add(m)
	return false
}

func (c *chat) toolCall(called call) object {
	if c.once(12) {
		return object{"id": called.id, "type": "custom", "custom": object{"name": called.name, "input": one(c.generator, "a\n\"b\"", "", "{}")}}
	}
	return object{"id": called.id, "type": "function", "function": object{"name": called.name, "arguments": c.argumentText()}}
}

// legacyCall generates a call in the form before tools, with its result.
func (c *chat) legacyCall(m object) bool {
	name := one(c.generator, append(c.names, "gone")...)
	m["content"], m["function_call"] = one[any](c.generator, nil, c.text()), object{"name": name, "arguments": c.argumentText()}
	c.add(m)
	c.add(object{"role": "function", "name": name, "content": one(c.generator, c.text(), "", "{}")})
	c.called = nil
	return true
}

func (c *chat) results() {
	for _, i := range c.Perm(len(c.called)) {
		c.add(object{
			"role": "tool", "tool_call_id": c.called[i].id,
			"content": one[any](c.generator, c.text(), "", `{"a":1}`, list{object{"type": "text", "text": c.text()}}),
		})
	}
}

func (c *chat) offer(r object) {
	if c.once(10) { // from before there were tools
		r["functions"] = list{object{"name": c.names[0], "description": "d", "parameters": c.parameters()}}
		c.some(r, map[string]func() any{"function_call": of(c.generator, "none", "auto", object{"name": c.names[0]})})
		return
	}
	var tools list
	for _, name := range c.names {
		f := object{"name": name}
		c.some(f, map[string]func() any{"strict": of(c.generator, true, false)})
		if !c.once(6) {
			f["parameters"] = c.parameters()
		}
		if !c.once(4) {
			f["description"] = one(c.generator, "d", "", strings.Repeat("d", 2000))
		}
		tools = append(tools, object{"type": "function", "function": f})
	}
	if c.once(12) {
		tools = append(tools, object{"type": "custom", "custom": object{"name": "patch", "format": one(c.generator, object{"type": "text"},
			object{"type": "grammar", "grammar": object{"syntax": "regex", "definition": "a+"}})}})
	}
	r["tools"] = tools
	named := object{"type": "function", "function": object{"name": c.names[0]}}
	c.some(r, map[string]func() any{
		"parallel_tool_calls": of(c.generator, true, false),
		"tool_choice": of(c.generator, "none", "auto", "required", named,
			object{"type": "allowed_tools", "allowed_tools": object{"mode": "auto", "tools": list{named}}}),
	})
}

func (c *chat) options(r object) {
	g := c.generator
	if g.once(2) {
		r["stream"] = true
		g.some(r, map[string]func() any{"stream_options": of(g, object{"include_usage": true}, object{"include_usage": false})})
	}
	g.some(r, map[string]func() any{
		"temperature": g.number(0, 2), "top_p": g.number(0, 1), "presence_penalty": g.number(-2, 2), "frequency_penalty": g.number(-2, 2),
		"max_completion_tokens": g.count(1, 100000), "max_tokens": g.count(1, 100000), "seed": g.count(-1<<53, 1<<53),
		"stop": of(g, "END", list{"a"}, list{"a", "b", "c", "d"}, " "), "user": of(g, strings.Repeat("u", 150), "ann"),
		"safety_identifier": of(g, strings.Repeat("s", 64)), "store": of(g, true, false), "metadata": of(g, object{"k": "v"}),
		"logit_bias": of(g, object{"50256": -100}), "logprobs": of(g, true, false), "service_tier": of(g, "auto", "default", "flex", "priority"),
		"reasoning_effort": of(g, "none", "minimal", "low", "medium", "high", "xhigh"), "verbosity": of(g, "low", "medium", "high"),
		"prompt_cache_key": of(g, "k"), "prompt_cache_retention": of(g, "in_memory", "24h"), "modalities": of(g, list{"text"}),
		"web_search_options": of(g, object{}, object{"search_context_size": "low"}),
		"prediction":         of(g, object{"type": "content", "content": "x"}), "n": of(g, 1),
		"response_format": of(g, object{"type": "text"}, object{"type": "json_object"}, object{"type": "json_schema", "json_schema": g.format()}),
	})
	if g.once(40) {
		r["modalities"], r["audio"] = list{"text", "audio"}, object{"voice": "alloy", "format": "wav"}
	}
	if r["logprobs"] == true {
		g.some(r, map[string]func() any{"top_logprobs": g.count(0, 20)})
	}
}

func (g generator) format() object {
	f := object{"name": one(g, "n", "9-a_b"), "schema": g.parameters()}
	g.some(f, map[string]func() any{"strict": of(g, true, false), "description": of(g, "d")})
	return f
}

// nativeRequest generates any valid request at /v1/chat.
func nativeRequest(g generator) object {
	var messages list
	for range 1 + g.IntN(4) {
		messages = append(messages, object{"role": one(g, "user", "system"), "prompt": g.text()})
	}
	r := object{"model": "m", "messages": append(messages, object{"role": "user", "prompt": g.text()})}
	g.some(r, map[string]func() any{
		"max_tokens": g.count(1, 100000), "temperature": g.number(0, 2), "top_p": g.number(0.01, 1),
		"stop": of(g, "END", list{"a", "b", "c", "d"}), "responsetype": of(g, "stream"),
	})
	return r
}

func encoded(r object) []byte {
	body, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	return body
}
