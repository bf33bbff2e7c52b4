package ollama

import (
	"strconv"

	"weir/internal/dialect/callid"
	"weir/internal/dialect/compose"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

func (e *requestEncoder) messages(list []llm.Message) {
	e.Key("messages")
	e.Dst = append(e.Dst, '[')
	for i := range list {
		e.message(&list[i], "messages["+strconv.Itoa(i)+"]")
	}
	e.Dst = append(e.Dst, ']')
}

// message writes one message of the tree. Each tool result becomes a message of its own, ahead of the message's other
// parts.
func (e *requestEncoder) message(m *llm.Message, param string) {
	if m.Name != "" {
		e.Drop("name")
	}
	results := 0
	for i := range m.Parts {
		if r := m.Parts[i].Result; m.Parts[i].Kind == llm.PartToolResult && r != nil {
			e.dropMarks(&m.Parts[i])
			e.result(r, m, param)
			results++
		}
	}
	if m.Role == llm.RoleTool || results > 0 && results == len(m.Parts) {
		return
	}
	before := len(e.Dst)
	e.open(m.Role)
	if !e.parts(m.Parts, m.Role, param) && len(m.Parts) > 0 && m.Role == llm.RoleAssistant && !e.Own {
		e.Dst = e.Dst[:before] // no part of the message is left
		return
	}
	e.close(m)
}

func (e *requestEncoder) open(role llm.Role) {
	e.Element()
	e.Dst = append(e.Dst, `{"role":`...)
	e.Dst = rawjson.AppendString(e.Dst, string(role))
}

// close ends a message, after its extra members of this format.
func (e *requestEncoder) close(m *llm.Message) {
	e.InnerExtras(m.Extra, "message fields of another API")
	e.Dst = append(e.Dst, '}')
}

// result writes the result of a tool. The function's name shows the model the call that it answers.
func (e *requestEncoder) result(r *llm.ToolResult, m *llm.Message, param string) {
	e.open(llm.RoleTool)
	name := r.Name
	if name == "" && !e.Own {
		name = e.names[r.CallID]
	}
	if name != "" {
		e.Inner("tool_name", name)
	}
	if id := e.callID(r.CallID); id != "" {
		e.Inner("tool_call_id", id)
	}
	if r.IsError {
		e.Drop("tool result is_error")
	}
	if len(r.Extra) > 0 {
		e.Drop("tool result fields of another API")
	}
	e.parts(r.Parts, llm.RoleTool, param)
	if m.Role == llm.RoleTool {
		e.close(m)
	} else {
		e.Dst = append(e.Dst, '}')
	}
}

// parts writes the members of a message from its parts: one text, one thinking, the images, the calls. It joins the
// texts of a message, an assistant's without separators, because they may have broken off anywhere. It reports false if
// nothing was written.
func (e *requestEncoder) parts(parts []llm.Part, role llm.Role, param string) bool {
	var words, thinking []byte
	var images []*llm.Media
	var calls []*llm.ToolCall
	parts = llm.Texts(parts)
	for i := range parts {
		p := &parts[i]
		e.dropMarks(p)
		e.DropProof(p)
		switch p.Kind {
		case llm.PartText, llm.PartRefusal:
			if len(words) > 0 && role != llm.RoleAssistant {
				words = append(words, '\n')
			}
			words = append(words, p.Text...)
		case llm.PartReasoning:
			thinking = append(thinking, p.Text...)
		case llm.PartImage:
			if e.takesImage(p.Media, param+".content["+strconv.Itoa(p.Index(i))+"]") {
				images = append(images, p.Media)
			}
		case llm.PartToolCall:
			calls = append(calls, p.Call)
		case llm.PartToolResult: // a separate message
		default:
			e.Refuse(param+".content["+strconv.Itoa(p.Index(i))+"]", refusalOf(p.Kind))
		}
	}
	e.Inner("content", string(words))
	if len(thinking) > 0 {
		e.Inner("thinking", string(thinking))
	}
	e.images(images)
	e.calls(calls)
	return len(words)+len(thinking)+len(images)+len(calls) > 0
}

// dropMarks notes the dropped fields of a part of another format.
func (e *requestEncoder) dropMarks(p *llm.Part) {
	if p.CacheControl != nil {
		e.Drop("cache_control")
	}
	if len(p.Extra) > 0 {
		e.Drop("content fields of another API")
	}
	if p.Annotations != nil {
		e.Drop("annotations")
	}
}

// refusalOf returns the refusal of a kind of part.
func refusalOf(kind llm.PartKind) string {
	switch kind {
	case llm.PartAudio:
		return "Ollama accepts no audio in a chat. Send text or images."
	case llm.PartDocument:
		return "Ollama accepts no files in a chat. Send the document's text."
	}
	return "Ollama does not support this content. Send text or images."
}

// takesImage refuses an image that is not inline, because Ollama does not fetch images.
func (e *requestEncoder) takesImage(m *llm.Media, param string) bool {
	if m == nil || m.Data == "" {
		e.Refuse(param, "Ollama does not fetch images by URL. Send the image inline, as base64 in a data URL.")
		return false
	}
	if m.Detail != "" {
		e.Drop("detail")
	}
	return true
}

func (e *requestEncoder) images(list []*llm.Media) {
	if len(list) == 0 {
		return
	}
	e.Name("images")
	e.Dst = append(e.Dst, '[')
	for _, m := range list {
		e.Dst = rawjson.AppendString(rawjson.AppendComma(e.Dst), m.Data)
	}
	e.Dst = append(e.Dst, ']')
}

// calls writes an assistant's tool calls.
func (e *requestEncoder) calls(list []*llm.ToolCall) {
	if len(list) == 0 {
		return
	}
	e.Name("tool_calls")
	e.Dst = append(e.Dst, '[')
	for i, c := range list {
		e.Dst = rawjson.AppendComma(e.Dst)
		if len(c.Extra) > 0 && !e.Own {
			e.Drop("tool call fields of another API")
		}
		if e.names == nil {
			e.names = map[string]string{}
		}
		e.names[c.ID] = c.Name
		sent := *c
		sent.ID = e.callID(c.ID)
		e.Dst = AppendCall(e.Dst, &sent, i, e.Own)
	}
	e.Dst = append(e.Dst, ']')
}

// callID returns the id of a call if the provider assigned it: many versions of Ollama assign none.
func (e *requestEncoder) callID(id string) string {
	if !e.Own && callid.IsMadeUp(id) {
		return ""
	}
	return id
}

// maxArgumentDepth leaves levels for the objects around the arguments.
const maxArgumentDepth = maxDepth - 10

// isObject reports whether the format accepts the arguments. Missing ones are an empty object.
func isObject(arguments string) bool {
	return arguments == "" ||
		rawjson.Validate([]byte(arguments), maxArgumentDepth) == nil &&
			rawjson.KindOf([]byte(arguments)) == rawjson.Object
}

// AppendCall writes a tool call. Arguments that are not an object, as models sometimes write, become a string in an
// object, so that they cannot be mistaken for real ones.
func AppendCall(dst []byte, c *llm.ToolCall, index int, own bool) []byte {
	dst = append(dst, '{')
	if c.ID != "" {
		dst = append(rawjson.AppendString(append(dst, `"id":`...), c.ID), ',')
	}
	dst = append(dst, `"type":"function","function":{"index":`...)
	dst = strconv.AppendInt(dst, int64(index), 10)
	dst = rawjson.AppendString(append(dst, `,"name":`...), c.Name)
	dst = append(dst, `,"arguments":`...)
	switch {
	case c.Arguments == "":
		dst = append(dst, "{}"...)
	case isObject(c.Arguments):
		dst = appendOneLine(dst, c.Arguments)
	default:
		dst = rawjson.AppendString(dst, c.Arguments)
	}
	dst = append(dst, '}')
	if own {
		dst = compose.AppendFields(dst, c.Extra, rawjson.Names{"id", "type", "function"})
	}
	return append(dst, '}')
}

// appendOneLine appends JSON text without its line breaks, all of which are between tokens, because a line of this
// format is an event.
func appendOneLine(dst []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c != '\n' && c != '\r' {
			dst = append(dst, c)
		}
	}
	return dst
}
