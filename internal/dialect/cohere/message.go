package cohere

import (
	"encoding/json"

	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// planMark in the Extra of thinking distinguishes a tool plan from other thinking, so that it is written as a plan
// again.
const planMark = "tool_plan"

// message holds the members of a message.
type message struct {
	role, callID, content          []byte
	toolCalls, toolPlan, citations []byte
	extra                          []llm.Field
}

// readMessage splits a message into its members. Members that are null count as absent.
func readMessage(v []byte) (m message) {
	for f := range rawjson.PresentMembers(v) {
		if place := m.place(f.Key()); place != nil {
			*place = f.Value
		} else {
			m.extra = append(m.extra, llm.Field{Name: f.Name(), Value: f.Value})
		}
	}
	return m
}

func (m *message) place(key []byte) *[]byte {
	switch string(key) {
	case "role":
		return &m.role
	case "tool_call_id":
		return &m.callID
	case "content":
		return &m.content
	case "tool_calls":
		return &m.toolCalls
	case "tool_plan":
		return &m.toolPlan
	case "citations":
		return &m.citations
	}
	return nil
}

func decodeMessages(v []byte) ([]llm.Message, error) {
	return parse.Messages(v, func(v []byte, at string) (llm.Message, error) {
		return decodeMessage(readMessage(v), at)
	})
}

func decodeMessage(m message, param string) (out llm.Message, err error) {
	out.Extra = m.extra
	switch rawjson.Text(m.role) {
	case "system":
		out.Role = llm.RoleSystem
	case "user":
		out.Role = llm.RoleUser
	case "assistant":
		out.Role = llm.RoleAssistant
		return decodeAssistant(out, m, param)
	case "tool":
		out.Role = llm.RoleTool
		return decodeResult(out, m, param)
	default:
		return out, llm.Invalid(param+".role", `The role must be "system", "user", "assistant" or "tool".`)
	}
	if m.content == nil {
		return out, llm.Invalid(param+".content", "The content must be a string or an array of content blocks.")
	}
	out.Parts, err = decodeContent(m.content, param+".content")
	return out, err
}

// decodeAssistant decodes an assistant's message: thinking and text, the plan, calls, in this order.
func decodeAssistant(out llm.Message, m message, param string) (llm.Message, error) {
	parts, err := decodeContent(m.content, param+".content")
	if err != nil {
		return out, err
	}
	if !cite(parts, m.citations) && m.citations != nil {
		out.Extra = append(out.Extra, llm.Field{Name: "citations", Value: m.citations})
	}
	if plan := rawjson.Text(m.toolPlan); plan != "" {
		parts = append(parts, llm.Part{
			Kind: llm.PartReasoning, Text: plan, Maker: Name,
			Extra: []llm.Field{{Name: planMark, Value: json.RawMessage("true")}},
		})
	}
	for i, e := range rawjson.Elements(m.toolCalls) {
		parts = append(parts, llm.Part{Kind: llm.PartToolCall, Call: decodeCall(e, i)})
	}
	out.Parts = parts
	return out, nil
}

func decodeResult(out llm.Message, m message, param string) (llm.Message, error) {
	if m.content == nil {
		return out, llm.Invalid(param+".content",
			"The content of a tool's result must be a string or an array of content blocks.")
	}
	content, err := decodeContent(m.content, param+".content")
	if err != nil {
		return out, err
	}
	result := &llm.ToolResult{CallID: rawjson.Text(m.callID), Parts: content}
	out.Parts = []llm.Part{{Kind: llm.PartToolResult, Result: result}}
	return out, nil
}

// decodeContent returns the parts of a content, which may be empty.
func decodeContent(v []byte, param string) ([]llm.Part, error) {
	if v == nil {
		return nil, nil
	}
	return parse.Content{Piece: "block", Text: "text", Part: decodePart}.Append(nil, v, param)
}

// decodePart reads a content block; a block of an unknown type, such as a document, is stored unchanged. It reports
// false if the value is not a block.
func decodePart(v []byte) (p llm.Part, ok bool) {
	kind := rawjson.Text(rawjson.Get(v, "type"))
	if kind == "" {
		return p, false
	}
	for m := range rawjson.Members(v) {
		switch key := string(m.Key()); {
		case key == "type":
		case key == kind && (kind == "text" || kind == "thinking"):
			if p.Text, ok = rawjson.AsString(m.Value); !ok {
				return p, false
			}
			p.Kind = llm.PartText
			if kind == "thinking" {
				p.Kind, p.Maker = llm.PartReasoning, Name
			}
		case key == kind && kind == "image_url":
			p.Kind, p.Media = llm.PartImage, parse.Image(m.Value)
		case rawjson.Present(m.Value):
			p.Extra = append(p.Extra, llm.Field{Name: m.Name(), Value: m.Value})
		}
	}
	if p.Kind == 0 {
		return llm.Part{Kind: llm.PartOther, Raw: v}, true
	}
	return p, true
}

// decodeCall reads a tool call. A call without an id gets one by its position.
func decodeCall(v []byte, position int) *llm.ToolCall {
	c := &llm.ToolCall{}
	for m := range rawjson.Members(v) {
		switch string(m.Key()) {
		case "id":
			c.ID = rawjson.Text(m.Value)
		case "function":
			c.Name = rawjson.Text(rawjson.Get(m.Value, "name"))
			c.Arguments = rawjson.Text(rawjson.Get(m.Value, "arguments"))
		case "type":
		default:
			c.Extra = append(c.Extra, llm.Field{Name: m.Name(), Value: m.Value})
		}
	}
	if c.ID == "" {
		c.ID, c.MadeUp = parse.CallID(position), true
	}
	return c
}

// isPlan distinguishes a tool plan from other thinking.
func isPlan(p *llm.Part) bool {
	for _, f := range p.Extra {
		if f.Name == planMark {
			return true
		}
	}
	return false
}
