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

// DecodeAssistant decodes an assistant's message: thinking and text, the plan, calls, in this order. Errors name the
// parameter below param.
func DecodeAssistant(v []byte, param string) (llm.Message, error) {
	m := readMessage(v)
	out := llm.Message{Role: llm.RoleAssistant, Extra: m.extra}
	parts, err := DecodeContent(m.content, param+".content")
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

// DecodeContent returns the parts of a content, which may be empty. Errors name the parameter param.
func DecodeContent(v []byte, param string) ([]llm.Part, error) {
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

// IsPlan distinguishes a tool plan from other thinking.
func IsPlan(p *llm.Part) bool {
	for _, f := range p.Extra {
		if f.Name == planMark {
			return true
		}
	}
	return false
}
