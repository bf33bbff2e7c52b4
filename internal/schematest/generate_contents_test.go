package schematest_test

import "strings"

// contentsRequest generates any valid request at generateContent.
func contentsRequest(g generator) object {
	c := contents{generator: g, names: g.toolNames("mcp.server.tool", "ns:tool", "mcp_server_tool", "n"+strings.Repeat(".", 127))}
	for i, name := range c.names {
		if strings.ContainsAny(name[:1], "9-") {
			c.names[i] = "n" + name
		}
	}
	g.conversation(c.user, c.results, c.answer)
	r := object{"contents": c.all}
	if len(c.names) > 0 {
		c.offer(r)
	}
	c.options(r)
	return r
}

type contents struct {
	generator
	names  []string
	all    list
	called []call
	former []call
}

func (c *contents) add(role string, parts ...any) {
	c.all = append(c.all, object{"role": role, "parts": parts})
}

func (c *contents) words() object { return object{"text": c.text()} }

func (c *contents) user() {
	parts := list{c.words()}
	for range c.IntN(3) {
		parts = append(parts, one(c.generator, c.words(), c.media(), c.media()))
	}
	c.add("user", parts...)
}

func (c *contents) media() object {
	return one(c.generator,
		object{"inlineData": object{"mimeType": "image/png", "data": png}}, object{"inlineData": object{"mimeType": "application/pdf", "data": pdf}},
		object{"fileData": object{"mimeType": "image/png", "fileUri": "https://example.com/a.png"}},
		object{"fileData": object{"mimeType": "application/pdf", "fileUri": "https://example.com/a.pdf"}},
		object{"fileData": object{"fileUri": "https://example.com/a"}},
		object{"inlineData": object{"mimeType": "audio/wav", "data": "UklGRg=="}},
		object{"inlineData": object{"mimeType": "text/plain", "data": "cGxhaW4="}})
}

func (c *contents) answer(last bool) bool {
	var parts list
	if c.once(4) {
		parts = append(parts, object{"text": one(c.generator, c.text(), ""), "thought": true})
		parts[0] = c.signed(parts[0].(object))
	}
	if c.once(12) && !last {
		parts = append(parts, c.ran()...)
	}
	if c.once(30) && !last { // an image that the model made
		parts = append(parts, c.signed(object{"inlineData": object{"mimeType": "image/png", "data": png}}))
	}
	if c.once(2) && !last {
		c.called = c.calls(c.names, c.former, "", "functions.f:0", strings.Repeat("Z", 85), "ü ß")
		c.former = append(c.former, c.called...)
		if c.once(3) {
			parts = append(parts, c.words())
		}
		for i, one := range c.called {
			p := object{"functionCall": c.identified(one.id, object{"name": one.name, "args": c.arguments()})}
			if c.once(12) {
				delete(p["functionCall"].(object), "args")
			}
			if i == 0 && c.once(2) || c.once(12) {
				p["thoughtSignature"] = "RXFRQg=="
			}
			parts = append(parts, p)
		}
		c.add("model", parts...)
		return true
	}
	c.add("model", append(parts, c.signed(one(c.generator, c.words(), c.words(), object{"text": ""})))...)
	return false
}

// signed sometimes adds a signature to a part, which is not the signature of a call.
func (c *contents) signed(p object) object {
	if c.once(3) {
		p["thoughtSignature"] = "RXFRQg=="
	}
	return p
}

func (c *contents) identified(id string, o object) object {
	if id != "" {
		o["id"] = id
	}
	return o
}

func (c *contents) results() {
	var parts list
	for _, called := range c.called {
		r := c.identified(called.id, object{"name": called.name, "response": one(c.generator, object{"output": c.text()}, object{"error": "e"}, object{}, object{"a": list{1, nil}})})
		c.some(r, map[string]func() any{"parts": of(c.generator, list{object{"inlineData": object{"mimeType": "image/png", "data": png}}})})
		parts = append(parts, object{"functionResponse": r})
	}
	c.add(one(c.generator, "user", "user", "user", "function"), parts...)
	if c.once(6) { // next to the results
		c.all[len(c.all)-1].(object)["parts"] = append(parts, c.words())
	}
}

func (c *contents) offer(r object) {
	var declared list
	for _, name := range c.names {
		f := object{"name": name}
		if !c.once(4) {
			f["description"] = one(c.generator, "d", "", strings.Repeat("d", 2000))
		}
		switch c.IntN(3) {
		case 0:
			f["parametersJsonSchema"] = c.parameters()
		case 1:
			f["parameters"] = object{"type": "OBJECT", "properties": object{
				"a": object{"type": "STRING", "nullable": true, "enum": list{"a", "b"}, "format": "enum"},
				"n": object{"type": "INTEGER", "minimum": 1, "maxLength": "5", "anyOf": list{object{"type": "STRING"}}},
			}, "required": list{"a"}}
		}
		declared = append(declared, f)
	}
	r["tools"] = list{object{"functionDeclarations": declared}}
	c.some(r, map[string]func() any{"toolConfig": of(c.generator,
		object{"functionCallingConfig": object{"mode": "AUTO"}}, object{"functionCallingConfig": object{"mode": "NONE"}},
		object{"functionCallingConfig": object{"mode": "ANY"}},
		object{"functionCallingConfig": object{"mode": "ANY", "allowedFunctionNames": list{c.names[0]}}})})
}

func (c *contents) options(r object) {
	g := c.generator
	config := object{}
	g.some(config, map[string]func() any{
		"temperature": g.number(0, 2), "topP": g.number(0, 1), "topK": g.count(0, 100), "maxOutputTokens": g.count(1, 100000),
		"seed": g.count(-1<<31, 1<<31-1), "candidateCount": of(g, 1, 1, 1, 2), "stopSequences": of(g, list{"a"}, list{"a", "b", "c", "d", "e"}, list{}),
		"presencePenalty": g.number(-2, 1.99), "frequencyPenalty": g.number(-2, 1.99), "responseLogprobs": of(g, true),
		"thinkingConfig":   of(g, object{"thinkingBudget": 0}, object{"thinkingBudget": -1}, object{"includeThoughts": true}, object{"thinkingLevel": "LOW"}),
		"responseMimeType": of(g, "text/plain", "application/json"), "mediaResolution": of(g, "MEDIA_RESOLUTION_LOW"),
	})
	if config["responseMimeType"] == "application/json" && g.once(2) {
		config["responseJsonSchema"] = g.parameters()
	}
	if len(config) > 0 {
		r["generationConfig"] = config
	}
	g.some(r, map[string]func() any{
		"systemInstruction": of(g, object{"parts": list{c.words(), c.words()}}, object{"role": "user", "parts": list{c.words()}}),
		"safetySettings":    of(g, list{object{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}}),
	})
}
