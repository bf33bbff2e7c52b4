package responses

import (
	"strconv"

	"weir/internal/dialect/compose"
	"weir/internal/dialect/openai"
	"weir/internal/dialect/proof"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// messageEncoder writes the conversation of a request.
type messageEncoder struct {
	compose.Writer
	of     string // wire format of the extra fields
	breaks bool   // the model accepts breakpoints of its prompt cache
}

// inside writes extra members of an object within the body, and drops those of another wire format.
func (e *messageEncoder) inside(fields []llm.Field, what string) {
	if len(fields) > 0 && !e.Own {
		e.Drop(what)
		return
	}
	for _, f := range fields {
		if f.Name == markItem || f.Name == markContent {
			continue
		}
		e.InnerRaw(f.Name, f.Value)
	}
}

// input writes the conversation: a separate system message as the instructions, all other messages as items.
func (e *messageEncoder) input(list []llm.Message) {
	if len(list) > 0 && list[0].Apart {
		e.Text("instructions", list[0].Text())
		list = list[1:]
	}
	if len(list) == 0 && e.Own || !e.Key("input") {
		return
	}
	e.Dst = append(e.Dst, '[')
	for i := range list {
		e.message(&list[i], "messages["+strconv.Itoa(i)+"]")
	}
	e.Dst = append(e.Dst, ']')
}

// message writes one message as its items.
func (e *messageEncoder) message(m *llm.Message, param string) {
	if m.Name != "" {
		e.Drop("name")
	}
	extra := m.Extra
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Kind != llm.PartReasoning {
			e.DropProof(p)
		}
	}
	if len(m.Parts) == 0 && m.Role != llm.RoleTool {
		e.said(m.Role, extra, nil, param)
	}
	for i := 0; i < len(m.Parts); {
		n := run(m.Parts[i:])
		switch {
		case n == 0:
			e.item(&m.Parts[i], param)
			i++
			continue
		case m.Role == llm.RoleTool:
			e.Drop("content parts out of place")
		default:
			e.said(m.Role, extra, m.Parts[i:i+n], param)
			extra = nil
		}
		i += n
	}
}

// run returns the number of parts that form the content of one message.
func run(parts []llm.Part) int {
	for i := range parts {
		if !isContent(&parts[i]) || i > 0 && field(parts[i].Extra, markItem) != nil {
			return i
		}
	}
	return len(parts)
}

// open begins an item.
func (e *messageEncoder) open() {
	e.Element()
	e.Dst = append(e.Dst, '{')
}

// said writes a message with its own fields, which are on the first part of an assistant's message. With such fields
// the message needs the long form with its type.
func (e *messageEncoder) said(role llm.Role, extra []llm.Field, parts []llm.Part, param string) {
	var own []byte
	if e.Own && len(parts) > 0 {
		own = field(parts[0].Extra, markItem)
	}
	short := (!e.Own || len(extra) == 0) && len(own) <= len("{}")
	e.open()
	if !short {
		e.Inner("type", itemMessage)
	}
	e.Inner("role", string(role))
	e.inside(extra, "message fields of another API")
	for m := range rawjson.Members(own) {
		e.InnerRaw(m.Name(), m.Value)
	}
	e.Name("content")
	if short && e.isPlain(parts, role) {
		e.plain(parts)
	} else {
		e.parts(parts, content{role, param + ".content"})
	}
	e.Dst = append(e.Dst, '}')
}

// item writes a part that is an item of its own.
func (e *messageEncoder) item(p *llm.Part, param string) {
	switch p.Kind {
	case llm.PartReasoning:
		e.reasoning(p)
	case llm.PartToolCall:
		e.call(p.Call)
	case llm.PartToolResult:
		e.result(p, param)
	default:
		e.other(p, param)
	}
}

// other writes an unmodelled item.
func (e *messageEncoder) other(p *llm.Part, param string) {
	if !e.Own {
		e.foreign(param)
		return
	}
	e.Element()
	e.Dst = append(e.Dst, p.Raw...)
}

// foreign refuses a part of another wire format.
func (e *messageEncoder) foreign(param string) {
	e.Refuse(param+".content",
		"The model's API cannot express this content. Leave it out, or choose a model that accepts it.")
}

// isOurs reports whether a provider of this format made and signed thinking that arrives through another client API.
func isOurs(p *llm.Part) bool { return p.Maker == Name && p.Redacted != "" }

// reasoning writes thinking, and drops thinking that no provider of this format made, because the provider would refuse
// it. No rule does it: a body does not show the maker.
func (e *messageEncoder) reasoning(p *llm.Part) {
	if proof.IsForeign(p.Maker, Name) || !e.Own && !isOurs(p) {
		e.Drop("reasoning")
		return
	}
	e.open()
	e.Inner("type", itemReasoning)
	if p.Signature != "" {
		e.Inner("id", p.Signature)
	}
	if field(p.Extra, "summary") == nil {
		e.Name("summary")
		e.Dst = appendSummary(e.Dst, p.Text)
	}
	if e.Own {
		e.inside(p.Extra, "")
	}
	if p.Redacted != "" {
		e.Inner("encrypted_content", p.Redacted)
	}
	e.Dst = append(e.Dst, '}')
}

func appendSummary(dst []byte, text string) []byte {
	if text == "" {
		return append(dst, "[]"...)
	}
	dst = rawjson.AppendString(append(dst, `[{"type":"summary_text","text":`...), text)
	return append(dst, "}]"...)
}

func (e *messageEncoder) call(c *llm.ToolCall) {
	e.open()
	e.Inner("type", itemCall)
	e.Inner("call_id", c.ID)
	e.Inner("name", c.Name)
	e.Inner("arguments", c.Arguments)
	e.inside(c.Extra, "tool call fields of another API")
	e.Dst = append(e.Dst, '}')
}

func (e *messageEncoder) result(p *llm.Part, param string) {
	r := p.Result
	e.open()
	e.Inner("type", itemResult)
	e.Inner("call_id", r.CallID)
	e.Name("output")
	parts := marked(e, r.Parts, p.CacheControl)
	if e.isPlain(parts, llm.RoleTool) {
		e.plain(parts)
	} else {
		e.parts(parts, content{llm.RoleTool, param + ".content"})
	}
	if r.IsError {
		e.Drop("tool result is_error")
	}
	e.inside(p.Extra, "tool result fields of another API")
	e.Dst = append(e.Dst, '}')
}

// content names the place of parts.
type content struct {
	role  llm.Role
	param string
}

// isPlain reports whether the content of a role's message can be a string.
func (e *messageEncoder) isPlain(parts []llm.Part, role llm.Role) bool {
	if len(parts) == 0 {
		return true
	}
	p := &parts[0]
	if len(parts) > 1 || p.Kind != llm.PartText {
		return false
	}
	if !e.Own {
		return role == llm.RoleAssistant || !breaksIn(e, parts)
	}
	return p.CacheControl == nil && p.Annotations == nil && unmarked(p.Extra) == 0
}

// unmarked returns the number of fields that the part had in its request.
func unmarked(extra []llm.Field) int {
	if field(extra, markItem) != nil {
		return len(extra) - 1
	}
	return len(extra)
}

func (e *messageEncoder) plain(parts []llm.Part) {
	var s string
	for i := range parts {
		e.DropMarks(&parts[i])
		s = parts[i].Text
	}
	e.Dst = rawjson.AppendString(e.Dst, s)
}

func (e *messageEncoder) parts(list []llm.Part, at content) {
	e.Dst = append(e.Dst, '[')
	for i := range list {
		e.Dst = rawjson.AppendComma(e.Dst)
		e.part(&list[i], at)
	}
	e.Dst = append(e.Dst, ']')
}

// part writes one content part, or refuses it.
func (e *messageEncoder) part(p *llm.Part, at content) {
	if p.Kind == llm.PartOther {
		if !e.Own {
			e.foreign(at.param)
		}
		e.Dst = append(e.Dst, p.Raw...)
		return
	}
	e.Dst = append(e.Dst, '{')
	switch p.Kind {
	case llm.PartText:
		if !e.Own || field(p.Extra, "type") == nil {
			e.Inner("type", usualText(at.role))
		}
		e.Inner("text", p.Text)
	case llm.PartRefusal:
		e.Inner("type", "refusal")
		e.Inner("refusal", p.Text)
	case llm.PartImage:
		e.image(p.Media, at)
	case llm.PartDocument:
		e.document(p.Media, at)
	default:
		e.Refuse(at.param, "The model's API accepts text, images and documents here. Leave the other content out, or "+
			"choose a model that accepts it.")
	}
	if e.Own && p.Annotations != nil {
		e.InnerRaw("annotations", p.Annotations)
	}
	marks(e, p, at.role)
	e.Dst = append(e.Dst, '}')
}

func (e *messageEncoder) image(m *llm.Media, at content) {
	e.Inner("type", "input_image")
	switch {
	case e.Own:
	case at.role == llm.RoleAssistant:
		e.Refuse(at.param,
			"The model's API accepts no images in assistant messages. Put the image into a user message.")
	case m.URL == "" && m.Data == "" && e.of != openai.Name:
		e.Refuse(at.param, "The image is stored at another provider. Send it inline or by its URL.")
	}
	if m.Data != "" {
		e.Inner("image_url", openai.DataURL(m.MIME, "image/png", m.Data))
	} else if m.URL != "" {
		e.Inner("image_url", m.URL)
	}
	if m.FileID != "" {
		e.Inner("file_id", m.FileID)
	}
	if m.Detail != "" {
		e.Inner("detail", m.Detail)
	}
}

func (e *messageEncoder) document(m *llm.Media, at content) {
	e.Inner("type", "input_file")
	switch {
	case e.Own:
	case at.role == llm.RoleAssistant:
		e.Refuse(at.param, "The model's API accepts no documents in assistant messages. Put the document into a "+
			"user message.")
	case m.URL == "" && m.Data == "" && e.of != openai.Name:
		e.Refuse(at.param, "The document is stored at another provider. Send it inline or by its URL.")
	}
	if name := e.fileName(m); name != "" {
		e.Inner("filename", name)
	}
	switch {
	case m.Data != "" && m.MIME == "":
		e.Inner("file_data", m.Data)
	case m.Data != "":
		e.Inner("file_data", openai.DataURL(m.MIME, "", m.Data))
	}
	if m.URL != "" {
		e.Inner("file_url", m.URL)
	}
	if m.FileID != "" {
		e.Inner("file_id", m.FileID)
	}
	if m.Detail != "" {
		e.Inner("detail", m.Detail)
	}
}

// fileName returns the document's name, or a default for an inline document, which requires one.
func (e *messageEncoder) fileName(m *llm.Media) string {
	if m.Name != "" || m.Data == "" || e.Own {
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
