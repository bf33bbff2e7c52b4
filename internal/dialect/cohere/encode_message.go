package cohere

import (
	"slices"
	"strconv"
	"strings"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

func (e *requestEncoder) messages(list []llm.Message) {
	e.key("messages")
	e.dst = append(e.dst, '[')
	for i := range list {
		e.message(&list[i], "messages["+strconv.Itoa(i)+"]")
	}
	e.dst = append(e.dst, ']')
}

// message writes one turn. Each tool's result is a message of its own here,
// ahead of what else the turn holds.
func (e *requestEncoder) message(m *llm.Message, param string) {
	parts := m.Parts
	if slices.ContainsFunc(parts, isResult) {
		for i := range parts {
			if isResult(parts[i]) {
				e.result(parts[i].Result, m, param)
			}
		}
		parts = slices.DeleteFunc(slices.Clone(parts), isResult)
	}
	if m.Name != "" {
		e.drop("name")
	}
	if m.Role == llm.RoleTool || len(parts) == 0 && len(m.Parts) > 0 {
		return
	}
	e.open(m.Role)
	if m.Role == llm.RoleAssistant {
		e.assistant(parts, param)
	} else {
		e.content(parts, m.Role, param)
	}
	e.extra(m.Extra, "message fields of another API")
	e.dst = append(e.dst, '}')
}

func isResult(p llm.Part) bool { return p.Kind == llm.PartToolResult && p.Result != nil }

func (e *requestEncoder) open(role llm.Role) {
	if e.dst[len(e.dst)-1] != '[' {
		e.dst = append(e.dst, ',')
	}
	e.dst = append(e.dst, `{"role":`...)
	e.dst = rawjson.AppendString(e.dst, string(role))
}

// extra writes members in this format's words, and drops those of another.
func (e *requestEncoder) extra(fields []llm.Field, what string) {
	if len(fields) > 0 && !e.own {
		e.drop(what)
		return
	}
	for _, f := range fields {
		e.member(f.Name)
		e.dst = append(e.dst, f.Value...)
	}
}

func (e *requestEncoder) result(r *llm.ToolResult, m *llm.Message, param string) {
	e.open(llm.RoleTool)
	e.member("tool_call_id")
	e.dst = rawjson.AppendString(e.dst, r.CallID)
	if r.IsError {
		e.drop("tool result is_error")
	}
	if len(r.Extra) > 0 {
		e.drop("tool result fields of another API")
	}
	e.content(r.Parts, llm.RoleTool, param)
	if m.Role == llm.RoleTool {
		e.extra(m.Extra, "message fields of another API")
	}
	e.dst = append(e.dst, '}')
}

// assistant writes the members of an assistant's turn.
func (e *requestEncoder) assistant(parts []llm.Part, param string) {
	blocks := make([]llm.Part, 0, len(parts))
	var plan strings.Builder
	var calls []*llm.ToolCall
	var citations []byte
	for i := range parts {
		p := &parts[i]
		e.dropProof(p)
		switch {
		case p.Kind == llm.PartToolCall:
			calls = append(calls, p.Call)
		case p.Kind == llm.PartReasoning && !e.own: // it means something only to the model that thought it
			if p.Text != "" {
				e.drop("reasoning")
			}
		case p.Kind == llm.PartReasoning && isPlan(p):
			plan.WriteString(p.Text)
		case p.Kind == llm.PartText && p.Text == "" && !e.own: // beside calls, other APIs want it
		default:
			blocks = append(blocks, *p)
		}
		if p.Annotations != nil && e.own {
			citations = p.Annotations
		}
	}
	if len(blocks) > 0 || len(calls) == 0 && !e.own { // it may be absent
		e.content(blocks, llm.RoleAssistant, param)
	}
	if plan.Len() > 0 {
		e.member("tool_plan")
		e.dst = rawjson.AppendString(e.dst, plan.String())
	}
	if len(calls) > 0 {
		e.member("tool_calls")
		e.calls(calls)
	}
	if citations != nil {
		e.member("citations")
		e.dst = append(e.dst, citations...)
	}
}

// dropProof names what is lost of another vendor's proof of its thinking, which
// may stand on any part.
func (e *requestEncoder) dropProof(p *llm.Part) {
	if p.Signature != "" {
		e.drop("reasoning signature")
	}
	if p.Redacted != "" {
		e.drop("redacted reasoning")
	}
}

func (e *requestEncoder) calls(calls []*llm.ToolCall) {
	for _, c := range calls {
		if len(c.Extra) > 0 && !e.own {
			e.drop("tool call fields of another API")
		}
	}
	e.dst = appendCalls(e.dst, calls, e.own)
}

// noArguments is how a call without any is written.
const noArguments = "{}"

// appendCalls writes tool calls, with what nobody modelled where that is in
// this format's words.
func appendCalls(dst []byte, calls []*llm.ToolCall, own bool) []byte {
	dst = append(dst, '[')
	for i, c := range calls {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = rawjson.AppendString(append(dst, `{"id":`...), c.ID)
		dst = rawjson.AppendString(append(dst, `,"type":"function","function":{"name":`...), c.Name)
		arguments := c.Arguments
		if arguments == "" && !own {
			arguments = noArguments
		}
		dst = rawjson.AppendString(append(dst, `,"arguments":`...), arguments)
		dst = append(dst, '}')
		if own {
			dst = appendFields(dst, c.Extra)
		}
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

// content writes the content of a message: a string where it is plain text
// alone, else an array of blocks.
func (e *requestEncoder) content(parts []llm.Part, role llm.Role, param string) {
	e.member("content")
	switch {
	case len(parts) == 0:
		e.dst = append(e.dst, `""`...)
		return
	case len(parts) == 1 && e.isPlain(&parts[0]):
		e.dropMarks(&parts[0])
		e.dst = rawjson.AppendString(e.dst, parts[0].Text)
		return
	}
	e.dst = append(e.dst, '[')
	for i := range parts {
		if i > 0 {
			e.dst = append(e.dst, ',')
		}
		e.part(&parts[i], role, param+".content["+strconv.Itoa(i)+"]")
	}
	e.dst = append(e.dst, ']')
}

// isPlain tells what can be a string. One that is empty would be no block.
func (e *requestEncoder) isPlain(p *llm.Part) bool {
	return p.Kind == llm.PartText && (!e.own || len(p.Extra) == 0 && p.Text != "")
}

// dropMarks names what is left out beside a part in another format's words.
func (e *requestEncoder) dropMarks(p *llm.Part) {
	if p.CacheControl != nil {
		e.drop("cache_control")
	}
	if len(p.Extra) > 0 && !e.own {
		e.drop("content fields of another API")
	}
	if p.Annotations != nil && !e.own {
		e.drop("annotations")
	}
}

// part writes one content block, and refuses what has none.
func (e *requestEncoder) part(p *llm.Part, role llm.Role, param string) {
	switch {
	case p.Kind == llm.PartText || p.Kind == llm.PartRefusal:
		e.dst = rawjson.AppendString(append(e.dst, `{"type":"text","text":`...), p.Text)
	case p.Kind == llm.PartReasoning && e.own:
		e.dst = rawjson.AppendString(append(e.dst, `{"type":"thinking","thinking":`...), p.Text)
	case p.Kind == llm.PartImage && (role == llm.RoleUser || e.own):
		e.image(p.Media, param)
	case p.Kind == llm.PartOther && e.own:
		e.dst = append(e.dst, p.Raw...)
		return
	default:
		e.refuse(param, refusalOf(p.Kind))
		return
	}
	e.dropMarks(p)
	if e.own {
		e.extra(p.Extra, "")
	}
	e.dst = append(e.dst, '}')
}

// refusalOf says what is not taken, and what would be.
func refusalOf(kind llm.PartKind) string {
	switch kind {
	case llm.PartImage:
		return "Cohere takes images in a user's messages alone."
	case llm.PartAudio:
		return "Cohere takes no audio in a chat: send text or images."
	case llm.PartDocument:
		return "Cohere takes no files in a chat: send the document's text."
	}
	return "Cohere has no such content: send text or images."
}

func (e *requestEncoder) image(m *llm.Media, param string) {
	address := m.URL
	if m.Data != "" {
		address = dataURL(m.MIME, m.Data)
	}
	if address == "" && !e.own {
		e.refuse(param, "Cohere takes an image by its address or inline, not by a file's id.")
	}
	e.dst = rawjson.AppendString(append(e.dst, `{"type":"image_url","image_url":{"url":`...), address)
	if m.Detail != "" {
		e.dst = rawjson.AppendString(append(e.dst, `,"detail":`...), m.Detail)
	}
	e.dst = append(e.dst, '}')
}

func dataURL(mime, data string) string {
	if mime == "" {
		mime = "image/png"
	}
	return "data:" + mime + ";base64," + data
}
