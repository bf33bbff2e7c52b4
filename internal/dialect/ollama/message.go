package ollama

import (
	"strconv"
	"strings"

	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// message holds the members of a message.
type message struct {
	role, content, thinking, images []byte
	toolCalls, toolName, callID     []byte
	extra                           []llm.Field
}

// readMessage splits a message into its members. Members that are null count as absent; unknown ones are stored if
// keepExtra is set.
func readMessage(v []byte, keepExtra bool) (m message) {
	for f := range rawjson.PresentMembers(v) {
		if place := m.place(f.Key()); place != nil {
			*place = f.Value
		} else if keepExtra {
			m.extra = append(m.extra, llm.Field{Name: f.Name(), Value: f.Value})
		}
	}
	return m
}

func (m *message) place(key []byte) *[]byte {
	switch string(key) {
	case "role":
		return &m.role
	case "content":
		return &m.content
	case "thinking":
		return &m.thinking
	case "images":
		return &m.images
	case "tool_calls":
		return &m.toolCalls
	case "tool_name":
		return &m.toolName
	case "tool_call_id":
		return &m.callID
	}
	return nil
}

// openCall is a tool call without a result so far.
type openCall struct{ id, name string }

// maxOpen bounds the calls that wait for their results at one time.
const maxOpen = 1024

// messageDecoder decodes the messages of one request. The format does not require ids of calls and results, so missing
// ones are assigned: a call's by its position in the conversation, a result's by the first open call of its name.
type messageDecoder struct {
	calls int
	open  []openCall
}

func decodeMessages(v []byte) ([]llm.Message, error) {
	var d messageDecoder
	return parse.Messages(v, func(v []byte, at string) (llm.Message, error) {
		return d.decode(readMessage(v, true), at)
	})
}

func (d *messageDecoder) decode(m message, param string) (out llm.Message, err error) {
	switch role := strings.ToLower(rawjson.Text(m.role)); role {
	case "system", "user", "assistant", "tool":
		out.Role = llm.Role(role)
	default:
		return out, llm.Invalid(param+".role", `The role must be "system", "user", "assistant" or "tool".`)
	}
	out.Extra = m.extra
	if out.Parts, err = d.parts(m, param); err != nil || out.Role != llm.RoleTool {
		return out, err
	}
	name := rawjson.Text(m.toolName)
	result := &llm.ToolResult{Name: name, CallID: d.answered(rawjson.Text(m.callID), name), Parts: out.Parts}
	out.Parts = []llm.Part{{Kind: llm.PartToolResult, Result: result}}
	return out, nil
}

// parts returns thinking, text, images and calls, in this order.
func (d *messageDecoder) parts(m message, param string) (parts []llm.Part, err error) {
	if s := rawjson.Text(m.thinking); s != "" {
		parts = append(parts, llm.Part{Kind: llm.PartReasoning, Text: s, Maker: Name})
	}
	s, ok := rawjson.AsString(m.content)
	if m.content != nil && !ok {
		return nil, llm.Invalid(param+".content", "The content must be a string.")
	}
	if s != "" {
		parts = append(parts, llm.Part{Kind: llm.PartText, Text: s})
	}
	for i, e := range rawjson.Elements(m.images) {
		data, ok := rawjson.AsString(e)
		if !ok || data == "" {
			return nil, llm.Invalid(param+".images["+strconv.Itoa(i)+"]", "An image must be a string of base64.")
		}
		parts = append(parts, llm.Part{Kind: llm.PartImage, Media: &llm.Media{MIME: imageType(data), Data: data}})
	}
	for _, e := range rawjson.Elements(m.toolCalls) {
		parts = append(parts, llm.Part{Kind: llm.PartToolCall, Call: d.call(e)})
	}
	return parts, nil
}

// imageType recognizes an image's media type by the start of its base64 data, because other vendors require it; empty
// for an unknown one.
func imageType(data string) string {
	for _, t := range [...]struct{ begins, mime string }{
		{"iVBORw0KGgo", "image/png"}, {"/9j/", "image/jpeg"}, {"R0lGOD", "image/gif"}, {"UklGR", "image/webp"},
	} {
		if strings.HasPrefix(data, t.begins) {
			return t.mime
		}
	}
	return ""
}

func (d *messageDecoder) call(v []byte) *llm.ToolCall {
	c := readCall(v)
	if c.ID == "" {
		c.ID = parse.CallID(d.calls)
	}
	d.calls++
	if len(d.open) < maxOpen {
		d.open = append(d.open, openCall{c.ID, c.Name})
	}
	return c
}

// answered returns the id of the call that a result answers: the given one, or that of the first open call of that
// name, or of any.
func (d *messageDecoder) answered(id, name string) string {
	at := -1
	for i, c := range d.open {
		switch {
		case id != "" && c.id == id, id == "" && c.name == name:
			return d.answer(i, id)
		case at < 0 && id == "":
			at = i
		}
	}
	return d.answer(at, id)
}

func (d *messageDecoder) answer(at int, id string) string {
	if at < 0 {
		return id
	}
	id = d.open[at].id
	d.open = append(d.open[:at], d.open[at+1:]...)
	return id
}

// readCall reads a tool call. Its arguments are an object in this format, and text in the tree. Its index is only its
// position.
func readCall(v []byte) *llm.ToolCall {
	c := &llm.ToolCall{}
	for m := range rawjson.Members(v) {
		switch string(m.Key()) {
		case "id":
			c.ID = rawjson.Text(m.Value)
		case "function":
			c.Name = rawjson.Text(rawjson.Get(m.Value, "name"))
			c.Arguments = parse.Arguments(rawjson.Get(m.Value, "arguments"))
		case "type":
		default:
			c.Extra = append(c.Extra, llm.Field{Name: m.Name(), Value: m.Value})
		}
	}
	return c
}
