package openai

import (
	"slices"
	"strconv"
	"strings"

	"weir/internal/dialect/compose"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// messageEncoder writes the conversation of a request.
type messageEncoder struct {
	compose.Writer
	of     string    // wire format of the extra fields
	wants  llm.Wants // requests of the target beyond the format
	place  int       // of the message in progress
	goesOn bool      // the answer continues this message
	breaks bool      // the model accepts breakpoints of its prompt cache
}

func (e *messageEncoder) messages(list []llm.Message) {
	e.Key("messages")
	e.Dst = append(e.Dst, '[')
	for i := range list {
		e.place = i
		e.goesOn = e.wants.Prefix && i == len(list)-1
		e.message(&list[i])
	}
	e.Dst = append(e.Dst, ']')
}

// message writes one message of the tree. Each tool result becomes a message of its own, ahead of the message's other
// parts.
func (e *messageEncoder) message(m *llm.Message) {
	parts := m.Parts
	if slices.ContainsFunc(parts, isResult) {
		for i := range parts {
			if isResult(parts[i]) {
				e.result(&parts[i], m)
			}
		}
		parts = slices.DeleteFunc(slices.Clone(parts), isResult)
	}
	if m.Role == llm.RoleTool {
		e.outOfPlace(parts)
		return
	}
	if len(parts) == 0 && len(m.Parts) > 0 {
		return
	}
	before := len(e.Dst)
	e.open(m.Role)
	if m.Name != "" {
		e.Inner("name", m.Name)
	}
	switch {
	case m.Role != llm.RoleAssistant:
		e.content(parts)
	case !e.assistant(parts) && len(parts) > 0:
		e.Dst = e.Dst[:before] // no part of the message is left
		return
	}
	e.close(m)
}

// outOfPlace notes the parts next to results, where the format allows no others.
func (e *messageEncoder) outOfPlace(parts []llm.Part) {
	for range parts {
		e.Drop("content parts out of place")
	}
}

func isResult(p llm.Part) bool { return p.Kind == llm.PartToolResult && p.Result != nil }

func (e *messageEncoder) open(role llm.Role) {
	e.Element()
	e.Dst = append(e.Dst, `{"role":`...)
	e.Dst = rawjson.AppendString(e.Dst, string(role))
}

func (e *messageEncoder) close(m *llm.Message) {
	if e.goesOn {
		e.InnerRaw("prefix", []byte("true"))
	}
	e.InnerExtras(m.Extra, "message fields of another API")
	e.Dst = append(e.Dst, '}')
}

func (e *messageEncoder) result(p *llm.Part, m *llm.Message) {
	r := p.Result
	e.open(llm.RoleTool)
	e.Dst = rawjson.AppendString(append(e.Dst, `,"tool_call_id":`...), r.CallID)
	if r.Name != "" && e.Own {
		e.Dst = rawjson.AppendString(append(e.Dst, `,"name":`...), r.Name)
	}
	if r.IsError {
		e.Drop("tool result is_error")
	}
	if len(p.Extra)+len(r.Extra) > 0 {
		e.Drop("tool result fields of another API")
	}
	e.content(e.marked(r.Parts, p.CacheControl))
	if p.CacheControl != nil && e.Own {
		e.InnerRaw(cacheMark, p.CacheControl)
	}
	if m.Role == llm.RoleTool {
		e.close(m)
	} else {
		e.Dst = append(e.Dst, '}')
	}
}

// turn holds an assistant's message by member.
type turn struct {
	words, calls, thoughts, images []*llm.Part
	refusal                        strings.Builder
}

func (e *messageEncoder) readTurn(parts []llm.Part) *turn {
	t := &turn{}
	for i := range parts {
		switch p := &parts[i]; p.Kind {
		case llm.PartToolCall:
			e.dropOfCall(p)
			call := *p
			call.Signature = ""
			t.calls = append(t.calls, &call)
		case llm.PartRefusal:
			t.refusal.WriteString(p.Text)
		case llm.PartReasoning:
			t.thoughts = append(t.thoughts, p)
		case llm.PartImage:
			t.images = append(t.images, p)
		default:
			t.words = append(t.words, p)
		}
	}
	return t
}

// assistant writes the members of an assistant's message. It reports false if all parts were dropped.
func (e *messageEncoder) assistant(parts []llm.Part) bool {
	t := e.readTurn(parts)
	words := make([]llm.Part, 0, len(t.words))
	for _, p := range t.words {
		words = append(words, *p)
	}
	if len(words) == 0 && (len(t.calls) > 0 || t.refusal.Len() > 0) {
		e.Dst = append(e.Dst, `,"content":null`...)
	} else {
		e.content(words)
	}
	e.thoughts(t)
	e.imagesOf(t)
	if t.refusal.Len() > 0 {
		e.Inner("refusal", t.refusal.String())
	}
	if len(t.calls) > 0 {
		e.Dst = appendCalls(append(e.Dst, `,"tool_calls":`...), t.calls, e.Own)
	}
	if textSignature(words) != "" {
		e.Drop("reasoning signature")
	}
	return e.Own || len(t.words)+len(t.calls)+len(t.images)+t.refusal.Len() > 0
}

// thoughts writes the thinking. Providers that do not know the fields refuse them, so they are written only for clients
// of this format, and, in a single field, for targets that want the thinking of messages with calls back. No rule drops
// foreign thinking: a body does not show its maker.
func (e *messageEncoder) thoughts(t *turn) {
	kept, back := t.thoughts[:0], ""
	if len(t.calls) > 0 {
		back = e.wants.Thinking
	}
	for _, p := range t.thoughts {
		if e.Own && !isKnown(p.Maker) || back != "" && (p.Maker == "" || p.Maker == Name) {
			kept = append(kept, p)
			continue
		}
		e.DropProof(p)
		if p.Text != "" {
			e.Drop("reasoning")
		}
	}
	var text llm.Joined
	proved := false
	for _, p := range kept {
		text.Add(p.Text)
		proved = proved || p.Signature != "" || p.Redacted != ""
	}
	switch {
	case back != "" && (text.String() != "" || e.wants.Required):
		e.Inner(back, text.String())
	case e.Own && proved:
		e.Dst = appendDetails(e.Dst, kept, 0, true)
	case e.Own && text.String() != "":
		e.Inner("reasoning_content", text.String())
	}
}

// imagesOf writes the images that an assistant made.
func (e *messageEncoder) imagesOf(t *turn) {
	switch {
	case len(t.images) == 0:
	case e.Own:
		e.Dst = appendImages(e.Dst, t.images)
	default:
		e.refuse(
			"The model's API accepts no images in assistant messages. Put the image into a user message.")
	}
}

// dropOfCall notes a call's fields of another API and Google's signature, which no provider of a rewritten request can
// have made.
func (e *messageEncoder) dropOfCall(p *llm.Part) {
	e.DropProof(p)
	if e.Own {
		return
	}
	e.DropMarks(p)
	if len(p.Call.Extra) > 0 {
		e.Drop("tool call fields of another API")
	}
}

// appendCalls writes tool calls; those of this format with their signatures and unmodelled fields.
func appendCalls(dst []byte, calls []*llm.Part, own bool) []byte {
	dst = append(dst, '[')
	for _, p := range calls {
		c := p.Call
		dst = rawjson.AppendComma(dst)
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
			dst = rawjson.AppendMember(dst, f.Name, f.Value)
		}
	}
	if p.CacheControl != nil {
		dst = append(append(dst, `,"cache_control":`...), p.CacheControl...)
	}
	if p.Signature != "" && !hasField(p.Call.Extra, extraContent) {
		dst = appendSignature(dst, p.Signature)
	}
	return dst
}

// isCustom reports whether a call is of a custom tool, which has an input that is not JSON.
func isCustom(c *llm.ToolCall) bool { return typeOf(c) == typeCustom }

// content writes the content of a message: a string for plain text, which every provider accepts, otherwise an array of
// parts.
func (e *messageEncoder) content(parts []llm.Part) {
	if e.Quirks.Documents != "" {
		parts = llm.Texts(parts)
	}
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

func (e *messageEncoder) refuse(message string) {
	e.Refuse("messages["+strconv.Itoa(e.place)+"].content", message)
}

// part writes one content part and reports whether the format can express it.
func (e *messageEncoder) part(p *llm.Part) bool {
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
			e.refuse("The model's API cannot express this content. Leave it out, or choose a model " +
				"that accepts it.")
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
