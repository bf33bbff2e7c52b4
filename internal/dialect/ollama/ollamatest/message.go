package ollamatest

import (
	"strconv"
	"strings"

	"weir/internal/dialect/ollama"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// message holds the members of a message, and the unknown ones.
type message struct {
	known map[string][]byte
	extra []llm.Field
}

var known = rawjson.Names{"role", "content", "thinking", "images", "tool_calls", "tool_name", "tool_call_id"}

func readMessage(v []byte) message {
	out := message{known: map[string][]byte{}}
	for m := range rawjson.PresentMembers(v) {
		if known.Has(m.Name()) {
			out.known[m.Name()] = m.Value
		} else {
			out.extra = append(out.extra, llm.Field{Name: m.Name(), Value: m.Value})
		}
	}
	return out
}

func (m *message) text(name string) string { return rawjson.Text(m.known[name]) }

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
		return d.decode(readMessage(v), at)
	})
}

func (d *messageDecoder) decode(m message, param string) (out llm.Message, err error) {
	switch role := strings.ToLower(m.text("role")); role {
	case "system", "user", "assistant", "tool":
		out.Role = llm.Role(role)
	default:
		return out, llm.Invalid(param+".role", `The role must be "system", "user", "assistant" or "tool".`)
	}
	out.Extra = m.extra
	if out.Parts, err = d.parts(m, param); err != nil || out.Role != llm.RoleTool {
		return out, err
	}
	name := m.text("tool_name")
	result := &llm.ToolResult{Name: name, CallID: d.answered(m.text("tool_call_id"), name), Parts: out.Parts}
	out.Parts = []llm.Part{{Kind: llm.PartToolResult, Result: result}}
	return out, nil
}

// parts returns thinking, text, images and calls, in this order.
func (d *messageDecoder) parts(m message, param string) (parts []llm.Part, err error) {
	if s := m.text("thinking"); s != "" {
		parts = append(parts, llm.Part{Kind: llm.PartReasoning, Text: s, Maker: ollama.Name})
	}
	content := m.known["content"]
	s, ok := rawjson.AsString(content)
	if content != nil && !ok {
		return nil, llm.Invalid(param+".content", "The content must be a string.")
	}
	if s != "" {
		parts = append(parts, llm.Part{Kind: llm.PartText, Text: s})
	}
	for i, e := range rawjson.Elements(m.known["images"]) {
		data, ok := rawjson.AsString(e)
		if !ok || data == "" {
			return nil, llm.Invalid(param+".images["+strconv.Itoa(i)+"]", "An image must be a string of base64.")
		}
		parts = append(parts, llm.Part{Kind: llm.PartImage, Media: &llm.Media{MIME: ollama.ImageType(data), Data: data}})
	}
	for _, e := range rawjson.Elements(m.known["tool_calls"]) {
		parts = append(parts, llm.Part{Kind: llm.PartToolCall, Call: d.call(e)})
	}
	return parts, nil
}

func (d *messageDecoder) call(v []byte) *llm.ToolCall {
	c := ollama.ReadCall(v)
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
