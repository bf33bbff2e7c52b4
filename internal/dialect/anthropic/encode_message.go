package anthropic

import (
	"encoding/base64"
	"slices"
	"strings"

	"weir/internal/dialect/compose"
	"weir/internal/dialect/proof"
	"weir/internal/dialect/rules"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// messageEncoder writes the conversation of a request, and the blocks of an answer.
type messageEncoder struct {
	compose.Writer
	version rules.Version // of a Claude model; 0 for other models
	cites   bool          // the answer must cite documents of another format's request
}

// turn holds consecutive messages of one role.
type turn struct {
	role  llm.Role
	parts []llm.Part
	extra []llm.Field
}

// messages writes the system prompt and the conversation.
func (e *messageEncoder) messages(list []llm.Message) {
	prompted := e.Own && len(list) > 0 && list[0].Role == llm.RoleSystem && len(list[0].Extra) == 0
	var system []llm.Part
	var turns []turn
	switch {
	case prompted:
		system, turns = list[0].Parts, e.ownTurns(list[1:])
	case e.Own:
		turns = e.ownTurns(list)
	default:
		system, turns = e.turns(list)
		prompted = len(system) > 0
	}
	if prompted && e.Key("system") {
		e.content(system)
	}
	e.Key("messages")
	e.Dst = append(e.Dst, '[')
	for i := range turns {
		e.Dst = rawjson.AppendComma(e.Dst)
		t := &turns[i]
		e.Dst = rawjson.AppendString(append(e.Dst, `{"role":`...), string(t.role))
		e.Dst = append(e.Dst, `,"content":`...)
		e.content(t.parts)
		e.InnerExtras(t.extra, "message fields of another API")
		e.Dst = append(e.Dst, '}')
	}
	e.Dst = append(e.Dst, ']')
}

// ownTurns returns the messages of a client of this format unchanged. A system message after the first keeps its place.
func (e *messageEncoder) ownTurns(list []llm.Message) (turns []turn) {
	for i := range list {
		m := &list[i]
		role := m.Role
		if role == llm.RoleTool {
			role = llm.RoleUser
		}
		turns = append(turns, turn{role: role, parts: e.proved(m.Parts), extra: m.Extra})
	}
	return turns
}

// proved returns the parts of a client of this format without thinking of another vendor's model.
func (e *messageEncoder) proved(parts []llm.Part) []llm.Part {
	foreign := false
	for i := range parts {
		if p := &parts[i]; p.Kind != llm.PartReasoning {
			e.DropProof(p)
		} else if proof.IsForeign(p.Maker, Name) {
			foreign = true
			e.Drop("reasoning")
		}
	}
	if !foreign {
		return parts
	}
	return slices.DeleteFunc(slices.Clone(parts), func(p llm.Part) bool {
		return p.Kind == llm.PartReasoning && proof.IsForeign(p.Maker, Name)
	})
}

// turns moves all system messages into the prompt, and joins consecutive messages of one role: results of parallel
// calls must be in one message.
func (e *messageEncoder) turns(list []llm.Message) (system []llm.Part, turns []turn) {
	for i := range list {
		m := &list[i]
		if m.Name != "" {
			e.Drop("name")
		}
		if len(m.Extra) > 0 {
			e.Drop("message fields of another API")
		}
		parts := e.carried(m.Parts)
		if len(parts) == 0 {
			continue
		}
		if m.Role == llm.RoleSystem {
			system = append(system, parts...)
			continue
		}
		role := m.Role
		if role == llm.RoleTool {
			role = llm.RoleUser
		}
		if n := len(turns); n > 0 && turns[n-1].role == role {
			turns[n-1].parts = append(turns[n-1].parts, parts...)
			continue
		}
		turns = append(turns, turn{role: role, parts: parts})
	}
	return system, turns
}

// carried returns the parts that the vendor accepts: no thinking without the vendor's own signature.
func (e *messageEncoder) carried(parts []llm.Part) []llm.Part {
	kept := make([]llm.Part, 0, len(parts))
	for _, p := range parts {
		switch {
		case p.Kind == llm.PartReasoning && e.recalls(p):
			kept = append(kept, p)
		case p.Kind == llm.PartReasoning:
			e.Drop("reasoning")
		default:
			e.DropProof(&p)
			kept = append(kept, p)
		}
	}
	return kept
}

// recalls reports whether the model accepts thinking of an earlier answer: it must be of this vendor and signed. No
// rule drops other thinking: a body does not show its maker, and the rest of the turn depends on what is left.
func (e *messageEncoder) recalls(p llm.Part) bool {
	return p.Kind == llm.PartReasoning && p.Maker == Name && (p.Signature != "" || p.Redacted != "") &&
		(e.version >= firstThinking || e.version == foreign)
}

func isResult(p llm.Part) bool { return p.Kind == llm.PartToolResult }

// content writes a content: a string for plain text, otherwise an array of blocks.
func (e *messageEncoder) content(parts []llm.Part) {
	if len(parts) == 0 {
		e.Dst = append(e.Dst, `""`...)
		return
	}
	if p := &parts[0]; len(parts) == 1 && isWords(p) && !e.marked(p) {
		e.marks(p)
		e.Dst = rawjson.AppendString(e.Dst, p.Text)
		return
	}
	e.Dst = append(e.Dst, '[')
	for i := range parts {
		e.Dst = rawjson.AppendComma(e.Dst)
		e.block(&parts[i])
	}
	e.Dst = append(e.Dst, ']')
}

func isWords(p *llm.Part) bool { return p.Kind == llm.PartText || p.Kind == llm.PartRefusal }

// marked reports whether a text has other members to write.
func (e *messageEncoder) marked(p *llm.Part) bool {
	return e.cache(p.CacheControl) != nil || e.Own && (p.Annotations != nil || len(p.Extra) > 0)
}

// cache returns a cache mark; clients of other formats send this format's marks. It returns nil for an invalid mark.
func (e *messageEncoder) cache(mark []byte) []byte {
	if e.Own {
		return mark
	}
	return compose.Ephemeral(mark)
}

// mark writes a cache mark.
func (e *messageEncoder) mark(mark []byte) {
	if c := e.cache(mark); c != nil {
		e.InnerRaw("cache_control", c)
	} else if mark != nil {
		e.Drop("cache_control")
	}
}

// marks writes the cache mark, extra fields and annotations of a block.
func (e *messageEncoder) marks(p *llm.Part) {
	e.mark(p.CacheControl)
	e.InnerExtras(p.Extra, "content fields of another API")
	if p.Annotations == nil {
		return
	}
	if e.Own {
		e.InnerRaw("citations", p.Annotations)
	} else {
		e.Drop("annotations")
	}
}

// block writes one content block.
func (e *messageEncoder) block(p *llm.Part) {
	switch p.Kind {
	case llm.PartText, llm.PartRefusal:
		e.Dst = rawjson.AppendString(append(e.Dst, `{"type":"text","text":`...), p.Text)
	case llm.PartReasoning:
		e.Dst = appendThinking(e.Dst, p)
	case llm.PartImage:
		e.Dst = append(e.Dst, `{"type":"image"`...)
		e.source(p)
	case llm.PartDocument:
		e.document(p)
	case llm.PartToolCall:
		e.call(p.Call)
	case llm.PartToolResult:
		e.result(p)
	default:
		e.Dst = append(e.Dst, p.Raw...)
		return
	}
	e.marks(p)
	e.Dst = append(e.Dst, '}')
}

// appendThinking writes a thinking block up to its closing brace.
func appendThinking(dst []byte, p *llm.Part) []byte {
	if p.Redacted != "" {
		return rawjson.AppendString(append(dst, `{"type":"redacted_thinking","data":`...), p.Redacted)
	}
	dst = rawjson.AppendString(append(dst, `{"type":"thinking","thinking":`...), p.Text)
	return rawjson.AppendString(append(dst, `,"signature":`...), p.Signature)
}

// source writes the source of an image or a document.
func (e *messageEncoder) source(p *llm.Part) {
	m := p.Media
	e.Dst = append(e.Dst, `,"source":{"type":`...)
	kind := "image/png"
	if p.Kind == llm.PartDocument {
		kind = documentType(m)
	}
	switch {
	case m.Data != "" && strings.HasPrefix(kind, "text/"):
		e.Dst = append(e.Dst, `"text","media_type":"text/plain"`...)
		e.Inner("data", plain(m.Data))
	case m.Data == "" && m.URL != "":
		e.Dst = append(e.Dst, `"url"`...)
		e.Inner("url", m.URL)
	case m.Data == "" && m.FileID != "":
		e.Dst = append(e.Dst, `"file"`...)
		e.Inner("file_id", m.FileID)
	default:
		if m.MIME != "" {
			kind = m.MIME
		}
		e.Dst = append(e.Dst, `"base64"`...)
		e.Inner("media_type", kind)
		e.Inner("data", m.Data)
	}
	e.Dst = append(e.Dst, '}')
	if m.Name != "" && p.Kind == llm.PartDocument {
		e.Inner("title", m.Name)
	}
	if m.Detail != "" && m.Detail != "auto" {
		e.Drop("detail")
	}
}

// documentType returns the media type of an inline document: as given, or by its first bytes; empty for a type that the
// vendor refuses.
func documentType(m *llm.Media) string {
	switch {
	case m.MIME == "application/pdf", m.MIME == "" && strings.HasPrefix(m.Data, "JVBERi"): // "%PDF-" in base64
		return "application/pdf"
	case strings.HasPrefix(m.MIME, "text/"):
		return "text/plain"
	}
	return ""
}

// plain returns the text that base64 data contains. Data that is not base64 counts as text.
func plain(data string) string {
	b, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return data
	}
	return string(b)
}

func (e *messageEncoder) call(c *llm.ToolCall) {
	e.Dst = rawjson.AppendString(append(e.Dst, `{"type":"tool_use","id":`...), c.ID)
	e.Inner("name", c.Name)
	e.Dst = appendInput(append(e.Dst, `,"input":`...), c.Arguments)
	e.InnerExtras(c.Extra, "tool call fields of another API")
}

// appendInput writes the input of a call. Arguments that are not JSON, as models sometimes write, become a JSON string.
func appendInput(dst []byte, arguments string) []byte {
	switch {
	case arguments == "":
		return append(dst, "{}"...)
	case rawjson.Validate([]byte(arguments), maxDepth) != nil, rawjson.KindOf([]byte(arguments)) == rawjson.String:
		return rawjson.AppendString(dst, arguments)
	}
	return append(dst, arguments...)
}

func (e *messageEncoder) result(p *llm.Part) {
	r := p.Result
	e.Dst = rawjson.AppendString(append(e.Dst, `{"type":"tool_result","tool_use_id":`...), r.CallID)
	parts := r.Parts
	if !e.Own {
		parts = e.carried(parts)
		p.CacheControl = hoisted(p.CacheControl, parts)
	}
	if len(parts) > 0 {
		e.Dst = append(e.Dst, `,"content":`...)
		e.content(parts)
	}
	if r.IsError {
		e.InnerRaw("is_error", []byte("true"))
	}
}

// hoisted returns the cache mark of a result: its own, or one removed from a part of it, because the vendor requires it
// at the outer block.
func hoisted(mark []byte, parts []llm.Part) []byte {
	for i := range parts {
		if parts[i].CacheControl != nil {
			if mark == nil {
				mark = parts[i].CacheControl
			}
			parts[i].CacheControl = nil
		}
	}
	return mark
}
