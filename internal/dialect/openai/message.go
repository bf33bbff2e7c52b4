package openai

import (
	"slices"

	"weir/internal/dialect/compose"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// message holds the members of a message or a delta.
type message struct {
	role, name, callID                    []byte
	content, refusal                      []byte
	reasoningContent, reasoning, thoughts []byte
	blocks, images                        []byte
	toolCalls, functionCall               []byte
	audio, annotations, extraContent      []byte
	cacheControl, executed                []byte
	extra                                 []llm.Field
}

// readMessage splits a message into its members. Members that are null count as absent; unknown ones are stored if
// keepExtra is set.
func readMessage(v []byte, keepExtra bool) (m message) {
	for f := range rawjson.Members(v) {
		if !rawjson.Present(f.Value) {
			continue
		}
		if place := m.place(f.Key()); place != nil {
			*place = f.Value
			continue
		}
		if f.Is("executed_tools") {
			m.executed = f.Value
		}
		if keepExtra {
			m.extra = append(m.extra, llm.Field{Name: f.Name(), Value: f.Value})
		}
	}
	return m
}

func (m *message) place(key []byte) *[]byte {
	switch string(key) {
	case "role":
		return &m.role
	case "name":
		return &m.name
	case "tool_call_id":
		return &m.callID
	case "content":
		return &m.content
	case "refusal":
		return &m.refusal
	case "reasoning_content":
		return &m.reasoningContent
	case "reasoning":
		return &m.reasoning
	case "reasoning_details":
		return &m.thoughts
	case "thinking_blocks":
		return &m.blocks
	case "images":
		return &m.images
	case "cache_control":
		return &m.cacheControl
	case "tool_calls":
		return &m.toolCalls
	case "function_call":
		return &m.functionCall
	case "audio":
		return &m.audio
	case "annotations":
		return &m.annotations
	case extraContent:
		return &m.extraContent
	}
	return nil
}

// messageDecoder decodes the messages of one request. Calls in the deprecated form have no id, so they get one, which
// the function's answer then refers to.
type messageDecoder struct {
	legacyID string
	calls    int
}

func decodeMessages(v []byte) ([]llm.Message, error) {
	var d messageDecoder
	return parse.Messages(v, func(v []byte, at string) (llm.Message, error) {
		return d.decode(readMessage(v, true), at)
	})
}

func (d *messageDecoder) decode(m message, param string) (out llm.Message, err error) {
	out.Extra = m.extra
	out.Name = rawjson.Text(m.name)
	if m.extraContent != nil && rawjson.Text(m.role) != "assistant" {
		out.Extra = append(out.Extra, llm.Field{Name: extraContent, Value: m.extraContent})
	}
	switch role := rawjson.Text(m.role); role {
	case "system", "developer":
		out.Role = llm.RoleSystem
	case "user":
		out.Role = llm.RoleUser
	case "assistant":
		out.Role = llm.RoleAssistant
		return d.assistant(out, m, param)
	case "tool":
		return decodeResult(out, m, rawjson.Text(m.callID), param)
	case "function":
		return decodeResult(out, m, d.legacyID, param)
	default:
		return out, llm.Invalid(param+".role", `The role must be "system", "developer", "user", "assistant" or "tool".`)
	}
	if m.content == nil {
		return out, llm.Invalid(param+".content", "The content must be a string or an array of content parts.")
	}
	out.Parts, err = decodeContent(nil, m.content, param+".content")
	return marked(out, m.cacheControl), err
}

// marked returns the message with the cache mark next to its content, as several routers define it, on the last part if
// that has none.
func marked(out llm.Message, mark []byte) llm.Message {
	last := len(out.Parts) - 1
	switch {
	case mark == nil:
	case last >= 0 && out.Parts[last].CacheControl == nil:
		out.Parts[last].CacheControl = mark
	default:
		out.Extra = append(out.Extra, llm.Field{Name: "cache_control", Value: mark})
	}
	return out
}

// assistant decodes an assistant's message: thinking, text, calls, in this order.
func (d *messageDecoder) assistant(out llm.Message, m message, param string) (llm.Message, error) {
	parts := reasoningParts(&m)
	parts, err := decodeContent(parts, m.content, param+".content")
	if err != nil {
		return out, err
	}
	signature, alone := googleSignature(m.extraContent)
	if signature != "" {
		parts = signText(parts, signature)
	}
	if m.extraContent != nil && !alone {
		out.Extra = append(out.Extra, llm.Field{Name: extraContent, Value: m.extraContent})
	}
	if s := rawjson.Text(m.refusal); s != "" {
		parts = append(parts, llm.Part{Kind: llm.PartRefusal, Text: s})
	}
	parts = slices.Grow(parts, rawjson.Len(m.toolCalls))
	for i, e := range rawjson.Elements(m.toolCalls) {
		parts = append(parts, decodeCall(e, i))
	}
	if m.functionCall != nil {
		call := decodeLegacyCall(m.functionCall, d.calls)
		d.legacyID, d.calls = call.ID, d.calls+1
		parts = append(parts, llm.Part{Kind: llm.PartToolCall, Call: call})
	}
	for _, e := range rawjson.Elements(m.images) {
		if image := parse.Image(rawjson.Get(e, "image_url")); image.URL != "" || image.Data != "" {
			parts = append(parts, llm.Part{Kind: llm.PartImage, Media: image})
		}
	}
	if m.audio != nil {
		out.Extra = append(out.Extra, llm.Field{Name: "audio", Value: m.audio})
	}
	if m.annotations != nil {
		out.Extra = append(out.Extra, llm.Field{Name: "annotations", Value: m.annotations})
	}
	out.Parts = parts
	return marked(out, m.cacheControl), nil
}

func decodeResult(out llm.Message, m message, callID, param string) (llm.Message, error) {
	content, err := decodeContent(nil, m.content, param+".content")
	if err != nil {
		return out, err
	}
	out.Role = llm.RoleTool
	result := &llm.ToolResult{CallID: callID, Name: out.Name, Parts: content}
	out.Name = ""
	out.Parts = []llm.Part{{Kind: llm.PartToolResult, Result: result, CacheControl: m.cacheControl}}
	return out, nil
}

// decodeContent appends the parts of a content, which may be empty.
func decodeContent(parts []llm.Part, v []byte, param string) ([]llm.Part, error) {
	if v == nil {
		return parts, nil
	}
	return parse.Content{Piece: "part", Text: "text", Part: decodePart}.Append(parts, v, param)
}

// decodePart reads a content part; a part of an unknown type is stored unchanged. It reports false if the value is not
// a part.
func decodePart(v []byte) (p llm.Part, ok bool) {
	kind := rawjson.Text(rawjson.Get(v, "type"))
	if kind == "" {
		return p, false
	}
	for m := range rawjson.Members(v) {
		switch key := string(m.Key()); {
		case key == "type":
		case key == "text" && kind == "text" && rawjson.KindOf(m.Value) != rawjson.String:
			return p, false
		case key == kind:
			if p = filled(p, kind, m.Value); p.Kind == 0 {
				return llm.Part{Kind: llm.PartOther, Raw: v}, true
			}
		case !rawjson.Present(m.Value):
		case p.CacheControl == nil && (key == cacheMark || key == compose.Breakpoint && compose.IsBreakpoint(m.Value)):
			p.CacheControl = m.Value
		default:
			p.Extra = append(p.Extra, llm.Field{Name: m.Name(), Value: m.Value})
		}
	}
	if p.Kind == 0 {
		return llm.Part{Kind: llm.PartOther, Raw: v}, true
	}
	return p, true
}

// filled returns the part with the member under the name of its type.
func filled(p llm.Part, kind string, v []byte) llm.Part {
	switch kind {
	case "text":
		p.Kind, p.Text = llm.PartText, rawjson.Text(v)
	case "refusal":
		p.Kind, p.Text = llm.PartRefusal, rawjson.Text(v)
	case "thinking":
		p.Kind, p.Text = llm.PartReasoning, thinkingText(v)
	case "image_url":
		p.Kind, p.Media = llm.PartImage, parse.Image(v)
	case "input_audio":
		p.Kind = llm.PartAudio
		p.Media = &llm.Media{
			Data:   rawjson.Text(rawjson.Get(v, "data")),
			Format: rawjson.Text(rawjson.Get(v, "format")),
		}
		if plain, ok := rawjson.AsString(v); ok { // Mistral's form
			p.Media.Data = plain
		}
	case "file":
		p.Kind, p.Media = llm.PartDocument, decodeFile(v)
	}
	return p
}

// thinkingText reads Mistral's thinking, a string or an array of text parts:
// https://docs.mistral.ai/capabilities/reasoning.
func thinkingText(v []byte) string {
	var text llm.Joined
	text.Add(rawjson.Text(v))
	for _, e := range rawjson.Elements(v) {
		text.Add(rawjson.Text(rawjson.Get(e, "text")))
	}
	return text.String()
}

func decodeFile(v []byte) *llm.Media {
	m := &llm.Media{
		Name:   rawjson.Text(rawjson.Get(v, "filename")),
		FileID: rawjson.Text(rawjson.Get(v, "file_id")),
	}
	data := rawjson.Text(rawjson.Get(v, "file_data"))
	var ok bool
	if m.MIME, m.Data, ok = parse.CutDataURL(data); !ok {
		m.Data = data
	}
	return m
}

// decodeCall reads a tool call. A call without an id gets one by its position.
func decodeCall(v []byte, position int) llm.Part {
	c := &llm.ToolCall{}
	p := llm.Part{Kind: llm.PartToolCall, Call: c}
	for m := range rawjson.Members(v) {
		switch string(m.Key()) {
		case "id":
			c.ID = rawjson.Text(m.Value)
		case "function":
			c.Name = rawjson.Text(rawjson.Get(m.Value, "name"))
			c.Arguments = parse.Arguments(rawjson.Get(m.Value, "arguments"))
		case "custom":
			c.Name = rawjson.Text(rawjson.Get(m.Value, "name"))
			c.Arguments = rawjson.Text(rawjson.Get(m.Value, "input"))
		case "type":
			if rawjson.Text(m.Value) == "custom" {
				c.Extra = append(c.Extra, llm.Field{Name: "type", Value: m.Value})
			}
		case "index":
		case "cache_control":
			if rawjson.Present(m.Value) {
				p.CacheControl = m.Value
			}
		case extraContent:
			var alone bool
			if p.Signature, alone = googleSignature(m.Value); p.Signature != "" {
				p.Maker = google
			}
			if !alone {
				c.Extra = append(c.Extra, llm.Field{Name: extraContent, Value: m.Value})
			}
		default:
			c.Extra = append(c.Extra, llm.Field{Name: m.Name(), Value: m.Value})
		}
	}
	if c.ID == "" {
		c.ID, c.MadeUp = parse.CallID(position), true
	}
	return p
}

func decodeLegacyCall(v []byte, position int) *llm.ToolCall {
	return &llm.ToolCall{
		ID:        parse.CallID(position),
		Name:      rawjson.Text(rawjson.Get(v, "name")),
		Arguments: parse.Arguments(rawjson.Get(v, "arguments")),
		MadeUp:    true,
	}
}
