package cohere

import (
	"slices"
	"strconv"
	"strings"

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
	parts := e.besides(m.Parts)
	if slices.ContainsFunc(parts, isResult) {
		for i := range parts {
			if isResult(parts[i]) {
				e.dropMarks(&parts[i])
				e.result(parts[i].Result, m, param)
			}
		}
		parts = slices.DeleteFunc(slices.Clone(parts), isResult)
	}
	if m.Name != "" {
		e.Drop("name")
	}
	if m.Role == llm.RoleTool || len(parts) == 0 && len(m.Parts) > 0 {
		return
	}
	before := len(e.Dst)
	e.open(m.Role)
	switch {
	case m.Role != llm.RoleAssistant:
		e.content(parts, m.Role, param)
	case !e.assistant(parts, param) && len(parts) > 0:
		e.Dst = e.Dst[:before] // no part of the message is left
		return
	}
	e.InnerExtras(m.Extra, "message fields of another API")
	e.Dst = append(e.Dst, '}')
}

func isResult(p llm.Part) bool { return p.Kind == llm.PartToolResult && p.Result != nil }

func (e *requestEncoder) open(role llm.Role) {
	e.Element()
	e.Dst = append(e.Dst, `{"role":`...)
	e.Dst = rawjson.AppendString(e.Dst, string(role))
}

func (e *requestEncoder) result(r *llm.ToolResult, m *llm.Message, param string) {
	e.open(llm.RoleTool)
	e.Inner("tool_call_id", r.CallID)
	if r.IsError {
		e.Drop("tool result is_error")
	}
	if len(r.Extra) > 0 {
		e.Drop("tool result fields of another API")
	}
	parts, cited := llm.Uncited(r.Parts, nil)
	if cited {
		e.Drop("citations")
	}
	e.content(parts, llm.RoleTool, param)
	if m.Role == llm.RoleTool {
		e.InnerExtras(m.Extra, "message fields of another API")
	}
	e.Dst = append(e.Dst, '}')
}

// assistant writes the members of an assistant's message. It reports false if all parts were dropped.
func (e *requestEncoder) assistant(parts []llm.Part, param string) bool {
	blocks := make([]llm.Part, 0, len(parts))
	var plan strings.Builder
	var calls []*llm.ToolCall
	var citations []byte
	for i := range parts {
		p := &parts[i]
		e.DropProof(p)
		switch {
		case p.Kind == llm.PartToolCall:
			calls = append(calls, p.Call)
		case p.Kind == llm.PartReasoning && !e.Own: // only the model that made it understands it
			if p.Text != "" {
				e.Drop("reasoning")
			}
		case p.Kind == llm.PartReasoning && IsPlan(p):
			plan.WriteString(p.Text)
		case p.Kind == llm.PartText && p.Text == "" && !e.Own: // other APIs require it next to calls
		default:
			blocks = append(blocks, *p)
		}
		if p.Annotations != nil && e.Own {
			citations = p.Annotations
		}
		if !e.Own && len(blocks) > 0 && e.carries(p) {
			citations = AppendClaims(citations, p, len(blocks)-1)
		}
	}
	if len(blocks) > 0 || len(calls) == 0 && !e.Own { // it may be absent
		e.content(blocks, llm.RoleAssistant, param)
	}
	if plan.Len() > 0 {
		e.Inner("tool_plan", plan.String())
	}
	if len(calls) > 0 {
		e.Name("tool_calls")
		e.calls(calls)
	}
	if citations != nil && !e.Own {
		citations = append(append([]byte{'['}, citations...), ']')
	}
	if citations != nil {
		e.InnerRaw("citations", citations)
	}
	return e.Own || len(blocks)+len(calls) > 0
}

func (e *requestEncoder) calls(calls []*llm.ToolCall) {
	for _, c := range calls {
		if len(c.Extra) > 0 && !e.Own {
			e.Drop("tool call fields of another API")
		}
	}
	e.Dst = AppendCalls(e.Dst, calls, e.Own)
}

// noArguments is the form of missing arguments.
const noArguments = "{}"

// AppendCalls writes tool calls, with unmodelled fields if they are of this format.
func AppendCalls(dst []byte, calls []*llm.ToolCall, own bool) []byte {
	dst = append(dst, '[')
	for _, c := range calls {
		dst = rawjson.AppendComma(dst)
		dst = rawjson.AppendString(append(dst, `{"id":`...), c.ID)
		dst = rawjson.AppendString(append(dst, `,"type":"function","function":{"name":`...), c.Name)
		arguments := c.Arguments
		if arguments == "" && !own {
			arguments = noArguments
		}
		dst = rawjson.AppendString(append(dst, `,"arguments":`...), arguments)
		dst = append(dst, '}')
		if own {
			dst = compose.AppendFields(dst, c.Extra, rawjson.Names{"id", "type", "function"})
		}
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

// content writes the content of a message: a string for plain text, otherwise an array of blocks.
func (e *requestEncoder) content(parts []llm.Part, role llm.Role, param string) {
	parts = llm.Texts(parts)
	e.Name("content")
	switch {
	case len(parts) == 0:
		e.Dst = append(e.Dst, `""`...)
		return
	case len(parts) == 1 && e.isPlain(&parts[0]):
		e.dropMarks(&parts[0])
		e.Dst = rawjson.AppendString(e.Dst, parts[0].Text)
		return
	}
	e.Dst = append(e.Dst, '[')
	for i := range parts {
		e.Dst = rawjson.AppendComma(e.Dst)
		e.part(&parts[i], role, param+".content["+strconv.Itoa(parts[i].Index(i))+"]")
	}
	e.Dst = append(e.Dst, ']')
}

// isPlain reports whether a part can be a string. An empty string would not be a block.
func (e *requestEncoder) isPlain(p *llm.Part) bool {
	return p.Kind == llm.PartText && (!e.Own || len(p.Extra) == 0 && p.Text != "")
}

// dropMarks notes the dropped fields of a part of another format.
func (e *requestEncoder) dropMarks(p *llm.Part) {
	if p.CacheControl != nil {
		e.Drop("cache_control")
	}
	if len(p.Extra) > 0 && !e.Own {
		e.Drop("content fields of another API")
	}
	if p.Annotations != nil && !e.Own && !e.carries(p) {
		e.Drop("annotations")
	}
}

// part writes one content block, and refuses a part without one.
func (e *requestEncoder) part(p *llm.Part, role llm.Role, param string) {
	switch {
	case p.Kind == llm.PartText || p.Kind == llm.PartRefusal:
		e.Dst = rawjson.AppendString(append(e.Dst, `{"type":"text","text":`...), p.Text)
	case p.Kind == llm.PartReasoning && e.Own:
		e.Dst = rawjson.AppendString(append(e.Dst, `{"type":"thinking","thinking":`...), p.Text)
	case p.Kind == llm.PartImage && (role != llm.RoleAssistant || e.Own):
		e.image(p.Media, param)
	case p.Kind == llm.PartOther && e.Own:
		e.Dst = append(e.Dst, p.Raw...)
		return
	default:
		e.Refuse(param, refusalOf(p.Kind))
		return
	}
	e.dropMarks(p)
	if e.Own {
		e.InnerExtras(p.Extra, "")
	}
	e.Dst = append(e.Dst, '}')
}

// refusalOf returns the refusal of a kind of part.
func refusalOf(kind llm.PartKind) string {
	switch kind {
	case llm.PartImage:
		return "Cohere accepts no images in assistant messages. Put the image into a user message."
	case llm.PartAudio:
		return "Cohere accepts no audio in a chat. Send text or images."
	case llm.PartDocument:
		return "Cohere accepts no files in a chat. Send the document's text."
	}
	return "Cohere does not support this content. Send text or images."
}

func (e *requestEncoder) image(m *llm.Media, param string) {
	address := m.URL
	if m.Data != "" {
		address = dataURL(m.MIME, m.Data)
	}
	if address == "" && !e.Own {
		e.Refuse(param, "Cohere does not accept an image by a file's id. Send it inline or by its URL.")
	}
	e.Dst = rawjson.AppendString(append(e.Dst, `{"type":"image_url","image_url":{"url":`...), address)
	if detail := e.Detail(m.Detail); detail != "" {
		e.Dst = rawjson.AppendString(append(e.Dst, `,"detail":`...), detail)
	}
	e.Dst = append(e.Dst, '}')
}

func dataURL(mime, data string) string {
	if mime == "" {
		mime = "image/png"
	}
	return "data:" + mime + ";base64," + data
}
