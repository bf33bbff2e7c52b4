package openai

import (
	"slices"
	"strings"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

func (e *requestEncoder) messages(list []llm.Message) {
	e.key("messages")
	e.dst = append(e.dst, '[')
	for i := range list {
		e.message(&list[i])
	}
	e.dst = append(e.dst, ']')
}

// message writes one turn. Each tool's result is a message of its own here,
// ahead of what else the turn holds.
func (e *requestEncoder) message(m *llm.Message) {
	parts := m.Parts
	if slices.ContainsFunc(parts, isResult) {
		for i := range parts {
			if isResult(parts[i]) {
				e.result(parts[i].Result, m)
			}
		}
		parts = slices.DeleteFunc(slices.Clone(parts), isResult)
	}
	if m.Role == llm.RoleTool || len(parts) == 0 && len(m.Parts) > 0 {
		return
	}
	e.open(m.Role)
	if m.Name != "" {
		e.inner("name", m.Name)
	}
	if m.Role == llm.RoleAssistant {
		e.assistant(parts, m.Extra)
	} else {
		e.content(parts)
	}
	e.close(m)
}

func isResult(p llm.Part) bool { return p.Kind == llm.PartToolResult && p.Result != nil }

func (e *requestEncoder) open(role llm.Role) {
	if e.dst[len(e.dst)-1] != '[' {
		e.dst = append(e.dst, ',')
	}
	e.dst = append(e.dst, `{"role":`...)
	e.dst = rawjson.AppendString(e.dst, string(role))
}

func (e *requestEncoder) close(m *llm.Message) {
	e.extra(m.Extra, "message fields of another API")
	e.dst = append(e.dst, '}')
}

// extra writes members in this format's words, and drops those of another.
func (e *requestEncoder) extra(fields []llm.Field, what string) {
	if len(fields) > 0 && !e.own {
		e.drop(what)
		return
	}
	for _, f := range fields {
		e.dst = append(rawjson.AppendString(append(e.dst, ','), f.Name), ':')
		e.dst = append(e.dst, f.Value...)
	}
}

// inner writes a member of an object within the body, where the provider's
// quirks do not reach.
func (e *requestEncoder) inner(name, value string) {
	if e.dst[len(e.dst)-1] != '{' {
		e.dst = append(e.dst, ',')
	}
	e.dst = append(rawjson.AppendString(e.dst, name), ':')
	e.dst = rawjson.AppendString(e.dst, value)
}

func (e *requestEncoder) result(r *llm.ToolResult, m *llm.Message) {
	e.open(llm.RoleTool)
	e.dst = rawjson.AppendString(append(e.dst, `,"tool_call_id":`...), r.CallID)
	if r.Name != "" {
		e.dst = rawjson.AppendString(append(e.dst, `,"name":`...), r.Name)
	}
	if r.IsError {
		e.drop("tool result is_error")
	}
	e.content(r.Parts)
	if m.Role == llm.RoleTool {
		e.close(m)
	} else {
		e.dst = append(e.dst, '}')
	}
}

// assistant writes the members of an assistant's turn but those in extra.
func (e *requestEncoder) assistant(parts []llm.Part, extra []llm.Field) {
	words := make([]llm.Part, 0, len(parts))
	var refusal, thinking strings.Builder
	var calls []*llm.Part
	for i := range parts {
		switch p := &parts[i]; p.Kind {
		case llm.PartToolCall:
			e.dropOfCall(p)
			calls = append(calls, p)
		case llm.PartRefusal:
			refusal.WriteString(p.Text)
		case llm.PartReasoning:
			e.signature(p)
			thinking.WriteString(p.Text)
		default:
			words = append(words, *p)
		}
	}
	if len(words) == 0 && (len(calls) > 0 || refusal.Len() > 0) {
		e.dst = append(e.dst, `,"content":null`...)
	} else {
		e.content(words)
	}
	if thinking.Len() > 0 && e.own {
		e.inner("reasoning_content", thinking.String())
	} else if thinking.Len() > 0 {
		e.drop("reasoning") // a provider that does not know the field refuses it
	}
	if refusal.Len() > 0 {
		e.inner("refusal", refusal.String())
	}
	if len(calls) > 0 {
		e.dst = appendCalls(append(e.dst, `,"tool_calls":`...), calls, e.own)
	}
	if s := textSignature(words); s != "" && !e.own {
		e.drop("reasoning signature")
	} else if s != "" && !hasField(extra, extraContent) {
		e.dst = appendSignature(e.dst, s)
	}
}

// dropOfCall notes what a call has in the words of another API.
func (e *requestEncoder) dropOfCall(p *llm.Part) {
	if e.own {
		return
	}
	e.signature(p)
	if len(p.Call.Extra) > 0 && !isCustom(p.Call) {
		e.drop("tool call fields of another API")
	}
}

func (e *requestEncoder) signature(p *llm.Part) {
	if p.Signature != "" {
		e.drop("reasoning signature")
	}
	if p.Redacted != "" {
		e.drop("redacted reasoning")
	}
}

// appendCalls writes tool calls; where they are in this format's own words with
// their signatures and what nobody modelled.
func appendCalls(dst []byte, calls []*llm.Part, own bool) []byte {
	dst = append(dst, '[')
	for i, p := range calls {
		c := p.Call
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = rawjson.AppendString(append(dst, `{"id":`...), c.ID)
		kind, argument := "function", "arguments"
		if isCustom(c) {
			kind, argument = "custom", "input"
		}
		dst = append(append(append(dst, `,"type":"`...), kind...), `","`...)
		dst = append(append(dst, kind...), `":{"name":`...)
		dst = rawjson.AppendString(dst, c.Name)
		dst = append(append(append(dst, `,"`...), argument...), `":`...)
		dst = rawjson.AppendString(dst, c.Arguments)
		dst = append(dst, '}')
		if own {
			dst = appendCallExtra(dst, p)
		}
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

func appendCallExtra(dst []byte, p *llm.Part) []byte {
	for _, f := range p.Call.Extra {
		if f.Name != "type" {
			dst = append(rawjson.AppendString(append(dst, ','), f.Name), ':')
			dst = append(dst, f.Value...)
		}
	}
	if p.Signature != "" && !hasField(p.Call.Extra, extraContent) {
		dst = appendSignature(dst, p.Signature)
	}
	return dst
}

// isCustom reports whether a call is of a custom tool, whose input is no JSON.
func isCustom(c *llm.ToolCall) bool {
	for _, f := range c.Extra {
		if f.Name == "type" {
			return rawjson.Text(f.Value) == "custom"
		}
	}
	return false
}

// content writes the content of a message: a string where it is plain text
// alone, which every provider takes, else an array of parts.
func (e *requestEncoder) content(parts []llm.Part) {
	e.dst = append(e.dst, `,"content":`...)
	if len(parts) == 0 {
		e.dst = append(e.dst, `""`...)
		return
	}
	if len(parts) == 1 && e.isPlain(&parts[0]) {
		e.dst = rawjson.AppendString(e.dst, parts[0].Text)
		return
	}
	e.dst = append(e.dst, '[')
	first := len(e.dst)
	for i := range parts {
		at := len(e.dst)
		if at > first {
			e.dst = append(e.dst, ',')
		}
		if !e.part(&parts[i]) {
			e.dst = e.dst[:at]
		}
	}
	if len(e.dst) == first {
		e.dst = append(e.dst[:first-1], `""`...)
		return
	}
	e.dst = append(e.dst, ']')
}

func (e *requestEncoder) isPlain(p *llm.Part) bool {
	if p.Kind != llm.PartText {
		return false
	}
	if e.own {
		return p.CacheControl == nil && len(p.Extra) == 0
	}
	e.dropMarks(p)
	return true
}

func (e *requestEncoder) dropMarks(p *llm.Part) {
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

// part writes one content part and reports whether the format has a word for it.
func (e *requestEncoder) part(p *llm.Part) bool {
	ok := true
	switch p.Kind {
	case llm.PartText:
		e.dst = rawjson.AppendString(append(e.dst, `{"type":"text","text":`...), p.Text)
	case llm.PartImage:
		ok = e.image(p.Media)
	case llm.PartAudio:
		ok = e.sound(p.Media)
	case llm.PartDocument:
		ok = e.document(p.Media)
	case llm.PartOther:
		if !e.own {
			e.drop("content parts of another API")
			return false
		}
		e.dst = append(e.dst, p.Raw...)
		return true
	default:
		e.drop("content parts out of place")
		return false
	}
	if !ok {
		return false
	}
	e.marks(p)
	e.dst = append(e.dst, '}')
	return true
}

func (e *requestEncoder) marks(p *llm.Part) {
	if !e.own {
		e.dropMarks(p)
		return
	}
	if p.CacheControl != nil {
		e.dst = append(append(e.dst, `,"cache_control":`...), p.CacheControl...)
	}
	e.extra(p.Extra, "")
}

func (e *requestEncoder) image(m *llm.Media) bool {
	address := m.URL
	if m.Data != "" {
		address = DataURL(m.MIME, "image/png", m.Data)
	}
	if address == "" {
		e.drop("image by file id")
		return false
	}
	e.dst = rawjson.AppendString(append(e.dst, `{"type":"image_url","image_url":{"url":`...), address)
	if m.Detail != "" {
		e.dst = rawjson.AppendString(append(e.dst, `,"detail":`...), m.Detail)
	}
	e.dst = append(e.dst, '}')
	return true
}

func (e *requestEncoder) sound(m *llm.Media) bool {
	if m.Data == "" {
		e.drop("audio by address")
		return false
	}
	format := m.Format
	if format == "" {
		format = soundFormat(m.MIME)
	}
	e.dst = rawjson.AppendString(append(e.dst, `{"type":"input_audio","input_audio":{"data":`...), m.Data)
	e.dst = append(rawjson.AppendString(append(e.dst, `,"format":`...), format), '}')
	return true
}

// soundFormat is OpenAI's word for a sound's media type.
func soundFormat(mime string) string {
	switch mime {
	case "audio/mpeg", "audio/mp3":
		return "mp3"
	case "audio/flac", "audio/x-flac":
		return "flac"
	case "audio/ogg":
		return "ogg"
	}
	return "wav"
}

func (e *requestEncoder) document(m *llm.Media) bool {
	if m.Data == "" && m.FileID == "" {
		e.drop("document by address")
		return false
	}
	e.dst = append(e.dst, `{"type":"file","file":{`...)
	if m.Name != "" {
		e.inner("filename", m.Name)
	}
	if m.FileID != "" {
		e.inner("file_id", m.FileID)
	} else if m.MIME == "" {
		e.inner("file_data", m.Data)
	} else {
		e.inner("file_data", DataURL(m.MIME, "", m.Data))
	}
	e.dst = append(e.dst, '}')
	return true
}

// DataURL is the base64 data URL (RFC 2397) of data; of the media type
// otherwise where none is known.
func DataURL(mime, otherwise, data string) string {
	if mime == "" {
		mime = otherwise
	}
	return "data:" + mime + ";base64," + data
}
