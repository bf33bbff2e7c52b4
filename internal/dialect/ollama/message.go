package ollama

import (
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

// ImageType recognizes an image's media type by the start of its base64 data, because other vendors require it; empty
// for an unknown one.
func ImageType(data string) string {
	for _, t := range [...]struct{ begins, mime string }{
		{"iVBORw0KGgo", "image/png"}, {"/9j/", "image/jpeg"}, {"R0lGOD", "image/gif"}, {"UklGR", "image/webp"},
	} {
		if strings.HasPrefix(data, t.begins) {
			return t.mime
		}
	}
	return ""
}

// ReadCall reads a tool call. Its arguments are an object in this format, and text in the tree. Its index is only its
// position.
func ReadCall(v []byte) *llm.ToolCall {
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
