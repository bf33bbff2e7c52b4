package responses

import (
	"strconv"
	"strings"

	"weir/internal/dialect/openai"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// input writes the conversation: a system message that stood apart as the
// instructions, all else as items.
func (e *requestEncoder) input(list []llm.Message) {
	if len(list) > 0 && list[0].Apart {
		e.str("instructions", list[0].Text())
		list = list[1:]
	}
	if len(list) == 0 && e.own || !e.key("input") {
		return
	}
	e.dst = append(e.dst, '[')
	for i := range list {
		e.message(&list[i], "messages["+strconv.Itoa(i)+"]")
	}
	e.dst = append(e.dst, ']')
}

// message writes one turn as the items that it consists of.
func (e *requestEncoder) message(m *llm.Message, param string) {
	if m.Name != "" {
		e.drop("name")
	}
	extra := m.Extra
	if len(m.Parts) == 0 && m.Role != llm.RoleTool {
		e.said(m.Role, extra, nil, param)
	}
	for i := 0; i < len(m.Parts); {
		n := run(m.Parts[i:])
		switch {
		case n == 0:
			e.item(&m.Parts[i], m.Role, param)
			i++
			continue
		case m.Role == llm.RoleTool:
			e.drop("content parts out of place")
		default:
			e.said(m.Role, extra, m.Parts[i:i+n], param)
			extra = nil
		}
		i += n
	}
}

// run is how many of the parts are the content of one message.
func run(parts []llm.Part) int {
	for i := range parts {
		if !isContent(&parts[i]) || i > 0 && field(parts[i].Extra, markItem) != nil {
			return i
		}
	}
	return len(parts)
}

// open begins an item.
func (e *requestEncoder) open() {
	if e.dst[len(e.dst)-1] != '[' {
		e.dst = append(e.dst, ',')
	}
	e.dst = append(e.dst, '{')
}

// said writes a message with its own fields, which an assistant's has on its
// first part. With such fields it is no short form, and says what it is.
func (e *requestEncoder) said(role llm.Role, extra []llm.Field, parts []llm.Part, param string) {
	var own []byte
	if e.own && len(parts) > 0 {
		own = field(parts[0].Extra, markItem)
	}
	short := (!e.own || len(extra) == 0) && len(own) <= len("{}")
	e.open()
	if !short {
		e.inner("type", itemMessage)
	}
	e.inner("role", string(role))
	e.inside(extra, "message fields of another API")
	for m := range rawjson.Members(own) {
		e.name(m.Name())
		e.dst = append(e.dst, m.Value...)
	}
	e.name("content")
	if short && e.isPlain(parts) {
		e.plain(parts)
	} else {
		e.parts(parts, content{role, param + ".content"})
	}
	e.dst = append(e.dst, '}')
}

// item writes a part that is an item of its own.
func (e *requestEncoder) item(p *llm.Part, role llm.Role, param string) {
	switch p.Kind {
	case llm.PartReasoning:
		e.reasoning(p)
	case llm.PartToolCall:
		e.call(p.Call, param)
	case llm.PartToolResult:
		e.result(p, param)
	default:
		e.other(p, role, param)
	}
}

// other writes an item that nobody modelled. Of what another model's own tools
// left in the conversation the answer does not depend.
func (e *requestEncoder) other(p *llm.Part, role llm.Role, param string) {
	if !e.own {
		if role == llm.RoleAssistant {
			e.drop("content parts of another API")
		} else {
			e.foreign(param)
		}
		return
	}
	if e.dst[len(e.dst)-1] != '[' {
		e.dst = append(e.dst, ',')
	}
	e.dst = append(e.dst, p.Raw...)
}

// foreign refuses a part in the words of another wire format.
func (e *requestEncoder) foreign(param string) {
	e.refuse(param+".content", "This content is in words that the model's API does not have. Leave it out, or choose a model that takes it.")
}

// isOurs reports whether thinking that came back through another door was made
// by a provider of this format: its signature is the item's id.
func isOurs(p *llm.Part) bool { return p.Redacted != "" && strings.HasPrefix(p.Signature, "rs_") }

// reasoning writes a thought. To what no provider of this format made, it
// would only object.
func (e *requestEncoder) reasoning(p *llm.Part) {
	if !e.own && !isOurs(p) {
		e.drop("reasoning")
		return
	}
	e.open()
	e.inner("type", itemReasoning)
	if p.Signature != "" {
		e.inner("id", p.Signature)
	}
	if field(p.Extra, "summary") == nil {
		e.name("summary")
		e.dst = appendSummary(e.dst, p.Text)
	}
	if e.own {
		e.inside(p.Extra, "")
	}
	if p.Redacted != "" {
		e.inner("encrypted_content", p.Redacted)
	}
	e.dst = append(e.dst, '}')
}

func appendSummary(dst []byte, text string) []byte {
	if text == "" {
		return append(dst, "[]"...)
	}
	dst = rawjson.AppendString(append(dst, `[{"type":"summary_text","text":`...), text)
	return append(dst, "}]"...)
}

func (e *requestEncoder) call(c *llm.ToolCall, param string) {
	if !e.own && rawjson.Text(field(c.Extra, "type")) == "custom" {
		e.refuse(param+".tool_calls", "A call of a tool that is no function cannot be handed to the model's API.")
		return
	}
	e.open()
	e.inner("type", itemCall)
	e.inner("call_id", c.ID)
	e.inner("name", c.Name)
	e.inner("arguments", c.Arguments)
	e.inside(c.Extra, "tool call fields of another API")
	e.dst = append(e.dst, '}')
}

func (e *requestEncoder) result(p *llm.Part, param string) {
	r := p.Result
	e.open()
	e.inner("type", itemResult)
	e.inner("call_id", r.CallID)
	e.name("output")
	if e.isPlain(r.Parts) {
		e.plain(r.Parts)
	} else {
		e.parts(r.Parts, content{llm.RoleTool, param + ".content"})
	}
	if r.IsError {
		e.drop("tool result is_error")
	}
	e.inside(p.Extra, "tool result fields of another API")
	e.dst = append(e.dst, '}')
}

// content says where parts stand.
type content struct {
	role  llm.Role
	param string
}

// isPlain reports whether the content can be a string.
func (e *requestEncoder) isPlain(parts []llm.Part) bool {
	if len(parts) == 0 {
		return true
	}
	p := &parts[0]
	if len(parts) > 1 || p.Kind != llm.PartText {
		return false
	}
	return !e.own || p.CacheControl == nil && p.Annotations == nil && unmarked(p.Extra) == 0
}

// unmarked is how many of the fields stood in the part.
func unmarked(extra []llm.Field) int {
	if field(extra, markItem) != nil {
		return len(extra) - 1
	}
	return len(extra)
}

func (e *requestEncoder) plain(parts []llm.Part) {
	var s string
	for i := range parts {
		e.dropMarks(&parts[i])
		s = parts[i].Text
	}
	e.dst = rawjson.AppendString(e.dst, s)
}

// dropMarks notes what a text of another wire format loses.
func (e *requestEncoder) dropMarks(p *llm.Part) {
	if e.own {
		return
	}
	if p.CacheControl != nil {
		e.drop("cache_control")
	}
	if p.Annotations != nil {
		e.drop("annotations")
	}
	if len(p.Extra) > 0 {
		e.drop("content fields of another API")
	}
}

func (e *requestEncoder) parts(list []llm.Part, at content) {
	e.dst = append(e.dst, '[')
	for i := range list {
		if i > 0 {
			e.dst = append(e.dst, ',')
		}
		e.part(&list[i], at)
	}
	e.dst = append(e.dst, ']')
}

// part writes one content part, or refuses it.
func (e *requestEncoder) part(p *llm.Part, at content) {
	if p.Kind == llm.PartOther {
		if !e.own {
			e.foreign(at.param)
		}
		e.dst = append(e.dst, p.Raw...)
		return
	}
	e.dst = append(e.dst, '{')
	switch p.Kind {
	case llm.PartText:
		if !e.own || field(p.Extra, "type") == nil {
			e.inner("type", usualText(at.role))
		}
		e.inner("text", p.Text)
	case llm.PartRefusal:
		e.inner("type", "refusal")
		e.inner("refusal", p.Text)
	case llm.PartImage:
		e.image(p.Media, at)
	case llm.PartDocument:
		e.document(p.Media, at)
	default:
		e.refuse(at.param, "The model's API takes text, images and documents here. Leave the other content out, or choose a model that takes it.")
	}
	if e.own && p.Annotations != nil {
		e.name("annotations")
		e.dst = append(e.dst, p.Annotations...)
	}
	e.dropMarks(p)
	if e.own {
		e.inside(p.Extra, "")
	}
	e.dst = append(e.dst, '}')
}

func (e *requestEncoder) image(m *llm.Media, at content) {
	e.inner("type", "input_image")
	switch {
	case e.own:
	case at.role == llm.RoleAssistant:
		e.refuse(at.param, "The model's API takes no images that the assistant has made. Put the image into a message of the user.")
	case m.URL == "" && m.Data == "" && e.of != openai.Name:
		e.refuse(at.param, "The image is one that another provider keeps. Send it by its address or inline.")
	}
	if m.Data != "" {
		e.inner("image_url", openai.DataURL(m.MIME, "image/png", m.Data))
	} else if m.URL != "" {
		e.inner("image_url", m.URL)
	}
	if m.FileID != "" {
		e.inner("file_id", m.FileID)
	}
	if m.Detail != "" {
		e.inner("detail", m.Detail)
	}
}

func (e *requestEncoder) document(m *llm.Media, at content) {
	e.inner("type", "input_file")
	switch {
	case e.own:
	case at.role == llm.RoleAssistant:
		e.refuse(at.param, "The model's API takes no documents that the assistant has made. Put the document into a message of the user.")
	case m.URL == "" && m.Data == "" && e.of != openai.Name:
		e.refuse(at.param, "The document is one that another provider keeps. Send it by its address or inline.")
	}
	if name := e.fileName(m); name != "" {
		e.inner("filename", name)
	}
	switch {
	case m.Data != "" && m.MIME == "":
		e.inner("file_data", m.Data)
	case m.Data != "":
		e.inner("file_data", openai.DataURL(m.MIME, "", m.Data))
	}
	if m.URL != "" {
		e.inner("file_url", m.URL)
	}
	if m.FileID != "" {
		e.inner("file_id", m.FileID)
	}
	if m.Detail != "" {
		e.inner("detail", m.Detail)
	}
}

// fileName is the document's, or one for a document inline, which may not go
// without.
func (e *requestEncoder) fileName(m *llm.Media) string {
	if m.Name != "" || m.Data == "" || e.own {
		return m.Name
	}
	switch m.MIME {
	case "text/plain":
		return "document.txt"
	case "text/markdown":
		return "document.md"
	case "text/csv":
		return "document.csv"
	case "text/html":
		return "document.html"
	}
	return "document.pdf"
}
