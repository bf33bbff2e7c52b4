package openai

import (
	"slices"
	"strings"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

func (e *requestEncoder) messages(list []llm.Message) {
	e.Key("messages")
	e.Dst = append(e.Dst, '[')
	for i := range list {
		e.message(&list[i])
	}
	e.Dst = append(e.Dst, ']')
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
		e.Inner("name", m.Name)
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
	e.Element()
	e.Dst = append(e.Dst, `{"role":`...)
	e.Dst = rawjson.AppendString(e.Dst, string(role))
}

func (e *requestEncoder) close(m *llm.Message) {
	e.InnerExtras(m.Extra, "message fields of another API")
	e.Dst = append(e.Dst, '}')
}

func (e *requestEncoder) result(r *llm.ToolResult, m *llm.Message) {
	e.open(llm.RoleTool)
	e.Dst = rawjson.AppendString(append(e.Dst, `,"tool_call_id":`...), r.CallID)
	if r.Name != "" {
		e.Dst = rawjson.AppendString(append(e.Dst, `,"name":`...), r.Name)
	}
	if r.IsError {
		e.Drop("tool result is_error")
	}
	e.content(r.Parts)
	if m.Role == llm.RoleTool {
		e.close(m)
	} else {
		e.Dst = append(e.Dst, '}')
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
			e.DropProof(p)
			thinking.WriteString(p.Text)
		default:
			words = append(words, *p)
		}
	}
	if len(words) == 0 && (len(calls) > 0 || refusal.Len() > 0) {
		e.Dst = append(e.Dst, `,"content":null`...)
	} else {
		e.content(words)
	}
	if thinking.Len() > 0 && e.Own {
		e.Inner("reasoning_content", thinking.String())
	} else if thinking.Len() > 0 {
		e.Drop("reasoning") // a provider that does not know the field refuses it
	}
	if refusal.Len() > 0 {
		e.Inner("refusal", refusal.String())
	}
	if len(calls) > 0 {
		e.Dst = appendCalls(append(e.Dst, `,"tool_calls":`...), calls, e.Own)
	}
	if s := textSignature(words); s != "" && !e.Own {
		e.Drop("reasoning signature")
	} else if s != "" && !hasField(extra, extraContent) {
		e.Dst = appendSignature(e.Dst, s)
	}
}

// dropOfCall notes what a call has in the words of another API.
func (e *requestEncoder) dropOfCall(p *llm.Part) {
	if e.Own {
		return
	}
	e.DropProof(p)
	if len(p.Call.Extra) > 0 && !isCustom(p.Call) {
		e.Drop("tool call fields of another API")
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
	e.Dst = append(e.Dst, `,"content":`...)
	if len(parts) == 0 {
		e.Dst = append(e.Dst, `""`...)
		return
	}
	if len(parts) == 1 && e.isPlain(&parts[0]) {
		e.Dst = rawjson.AppendString(e.Dst, parts[0].Text)
		return
	}
	e.Dst = append(e.Dst, '[')
	first := len(e.Dst)
	for i := range parts {
		at := len(e.Dst)
		if at > first {
			e.Dst = append(e.Dst, ',')
		}
		if !e.part(&parts[i]) {
			e.Dst = e.Dst[:at]
		}
	}
	if len(e.Dst) == first {
		e.Dst = append(e.Dst[:first-1], `""`...)
		return
	}
	e.Dst = append(e.Dst, ']')
}

func (e *requestEncoder) isPlain(p *llm.Part) bool {
	if p.Kind != llm.PartText {
		return false
	}
	if e.Own {
		return p.CacheControl == nil && len(p.Extra) == 0
	}
	e.DropMarks(p)
	return true
}

// part writes one content part and reports whether the format has a word for it.
func (e *requestEncoder) part(p *llm.Part) bool {
	ok := true
	switch p.Kind {
	case llm.PartText:
		e.Dst = rawjson.AppendString(append(e.Dst, `{"type":"text","text":`...), p.Text)
	case llm.PartImage:
		ok = e.image(p.Media)
	case llm.PartAudio:
		ok = e.sound(p.Media)
	case llm.PartDocument:
		ok = e.document(p.Media)
	case llm.PartOther:
		if !e.Own {
			e.Drop("content parts of another API")
			return false
		}
		e.Dst = append(e.Dst, p.Raw...)
		return true
	default:
		e.Drop("content parts out of place")
		return false
	}
	if !ok {
		return false
	}
	e.marks(p)
	e.Dst = append(e.Dst, '}')
	return true
}

func (e *requestEncoder) marks(p *llm.Part) {
	if !e.Own {
		e.DropMarks(p)
		return
	}
	if p.CacheControl != nil {
		e.Dst = append(append(e.Dst, `,"cache_control":`...), p.CacheControl...)
	}
	e.InnerExtras(p.Extra, "")
}

func (e *requestEncoder) image(m *llm.Media) bool {
	address := m.URL
	if m.Data != "" {
		address = DataURL(m.MIME, "image/png", m.Data)
	}
	if address == "" {
		e.Drop("image by file id")
		return false
	}
	e.Dst = rawjson.AppendString(append(e.Dst, `{"type":"image_url","image_url":{"url":`...), address)
	if m.Detail != "" {
		e.Dst = rawjson.AppendString(append(e.Dst, `,"detail":`...), m.Detail)
	}
	e.Dst = append(e.Dst, '}')
	return true
}

func (e *requestEncoder) sound(m *llm.Media) bool {
	if m.Data == "" {
		e.Drop("audio by address")
		return false
	}
	format := m.Format
	if format == "" {
		format = soundFormat(m.MIME)
	}
	e.Dst = rawjson.AppendString(append(e.Dst, `{"type":"input_audio","input_audio":{"data":`...), m.Data)
	e.Dst = append(rawjson.AppendString(append(e.Dst, `,"format":`...), format), '}')
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
		e.Drop("document by address")
		return false
	}
	e.Dst = append(e.Dst, `{"type":"file","file":{`...)
	if m.Name != "" {
		e.Inner("filename", m.Name)
	}
	if m.FileID != "" {
		e.Inner("file_id", m.FileID)
	} else if m.MIME == "" {
		e.Inner("file_data", m.Data)
	} else {
		e.Inner("file_data", DataURL(m.MIME, "", m.Data))
	}
	e.Dst = append(e.Dst, '}')
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
