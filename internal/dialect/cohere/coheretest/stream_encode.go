package coheretest

import (
	"strconv"

	"weir/internal/dialect/cohere"
	"weir/internal/dialect/position"
	"weir/internal/dialect/stamp"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Encoder writes one stream of chat events.
type Encoder struct {
	id        string
	begun     bool
	block     llm.EventKind // kind of the open content block; 0 for none
	blocks    int64         // content blocks begun
	call      int           // the open tool call; -1 for none
	citations int64
	told      position.Text
	texts     int64 // index of the last content block of text
	begin     int   // characters before it
}

// NewEncoder returns an encoder of one stream.
func NewEncoder(m llm.Meta) *Encoder { return &Encoder{id: m.ID, call: -1} }

// Append writes a piece of the answer. The message-start precedes the first piece; before that it writes nothing.
// Refusals become text, and the format has one choice.
func (e *Encoder) Append(dst []byte, ev *llm.Event) []byte {
	if ev.Choice != 0 {
		return dst
	}
	switch ev.Kind {
	case llm.EventText, llm.EventRefusal:
		return e.text(dst, llm.EventText, ev.Text)
	case llm.EventReasoning:
		return e.text(dst, llm.EventReasoning, ev.Text)
	case llm.EventToolCall:
		return e.toolCall(dst, ev)
	case llm.EventOther:
		return e.citation(dst, ev)
	case llm.EventClaim:
		if ev.RawOf != cohere.Name {
			return e.claim(dst, ev.Claim)
		}
	}
	return dst
}

// open begins an event of that type, after the message-start if it is the first.
func (e *Encoder) open(dst []byte, kind string) []byte {
	if !e.begun {
		e.begun = true
		dst = rawjson.AppendString(append(dst, "event: message-start\ndata: {\"id\":"...), e.id)
		dst = append(dst,
			`,"type":"message-start","delta":{"message":{"role":"assistant","content":[],"tool_plan":"",`+
				`"tool_calls":[],"citations":[]}}}`+"\n\n"...)
	}
	dst = append(append(dst, "event: "...), kind...)
	dst = append(append(dst, "\ndata: {\"type\":\""...), kind...)
	return append(dst, '"')
}

// openAt begins an event with an index.
func (e *Encoder) openAt(dst []byte, kind string, index int64) []byte {
	return strconv.AppendInt(append(e.open(dst, kind), `,"index":`...), index, 10)
}

func (e *Encoder) text(dst []byte, kind llm.EventKind, text string) []byte {
	if text == "" {
		return dst
	}
	name := `"text":`
	if kind == llm.EventReasoning {
		name = `"thinking":`
	}
	if e.block != kind {
		dst = e.closeBlock(e.closeCall(dst))
		dst = e.openAt(dst, "content-start", e.blocks)
		dst = append(append(dst, `,"delta":{"message":{"content":{"type":`...), name[:len(name)-1]...)
		dst = append(append(append(dst, ','), name...), "\"\"}}}}\n\n"...)
		e.block = kind
		if kind == llm.EventText {
			e.texts, e.begin = e.blocks, e.told.Characters()
		}
		e.blocks++
	}
	if kind == llm.EventText {
		e.told.Add(text)
	}
	dst = e.openAt(dst, "content-delta", e.blocks-1)
	dst = append(append(dst, `,"delta":{"message":{"content":{`...), name...)
	return append(rawjson.AppendString(dst, text), "}}}}\n\n"...)
}

func (e *Encoder) closeBlock(dst []byte) []byte {
	if e.block == 0 {
		return dst
	}
	e.block = 0
	return append(e.openAt(dst, "content-end", e.blocks-1), "}\n\n"...)
}

func (e *Encoder) toolCall(dst []byte, ev *llm.Event) []byte {
	if ev.Tool.ID != "" || ev.Tool.Name != "" {
		dst = e.closeCall(e.closeBlock(dst))
		dst = e.openAt(dst, "tool-call-start", int64(ev.Tool.Index))
		dst = rawjson.AppendString(append(dst, `,"delta":{"message":{"tool_calls":{"id":`...), ev.Tool.ID)
		dst = rawjson.AppendString(append(dst, `,"type":"function","function":{"name":`...), ev.Tool.Name)
		dst = append(dst, ",\"arguments\":\"\"}}}}}\n\n"...)
		e.call = ev.Tool.Index
	}
	if ev.Text == "" {
		return dst
	}
	dst = e.openAt(dst, "tool-call-delta", int64(ev.Tool.Index))
	dst = rawjson.AppendString(append(dst, `,"delta":{"message":{"tool_calls":{"function":{"arguments":`...), ev.Text)
	return append(dst, "}}}}}\n\n"...)
}

func (e *Encoder) closeCall(dst []byte) []byte {
	if e.call < 0 {
		return dst
	}
	index := e.call
	e.call = -1
	return append(e.openAt(dst, "tool-call-end", int64(index)), "}\n\n"...)
}

// citation writes a citation of this format's decoder; for other data it writes the text.
func (e *Encoder) citation(dst []byte, ev *llm.Event) []byte {
	if ev.RawOf != cohere.Name {
		return e.text(dst, llm.EventText, ev.Words())
	}
	if ev.Raw == nil {
		return dst
	}
	dst = append(e.openCitation(dst), ev.Raw...)
	return e.endCitation(dst)
}

// claim writes another vendor's citation of the text so far. It begins in the last content at the earliest.
func (e *Encoder) claim(dst []byte, c *llm.Claim) []byte {
	start, end := max(e.told.ToCharacters(c.Start)-e.begin, 0), max(e.told.ToCharacters(c.End)-e.begin, 0)
	return e.endCitation(cohere.AppendCitation(e.openCitation(dst), &c.Source, start, end, e.texts, ""))
}

func (e *Encoder) openCitation(dst []byte) []byte {
	return append(e.openAt(dst, "citation-start", e.citations), `,"delta":{"message":{"citations":`...)
}

func (e *Encoder) endCitation(dst []byte) []byte {
	dst = e.openAt(append(dst, "}}}\n\n"...), "citation-end", e.citations)
	e.citations++
	return append(dst, "}\n\n"...)
}

// Finish writes the message-end with the finish reason and the usage, then the end marker.
func (e *Encoder) Finish(dst []byte, f *llm.Final) []byte {
	var reason llm.FinishReason
	if len(f.Finish) > 0 {
		reason = f.Finish[0]
	}
	dst = e.open(e.closeCall(e.closeBlock(dst)), "message-end")
	dst = rawjson.AppendString(append(dst, `,"id":`...), e.id)
	dst = rawjson.AppendString(append(dst, `,"delta":{"finish_reason":`...), finishWord(reason))
	if f.Reported || !f.Usage.IsZero() {
		dst = appendUsage(append(dst, `,"usage":`...), &f.Usage, f.Cost)
	}
	dst = append(dst, '}')
	dst = stamp.Attempts(dst, f)
	return append(dst, "}\n\ndata: [DONE]\n\n"...)
}

// Fail writes a message-end with the error. No end marker follows.
func (e *Encoder) Fail(dst []byte, err *llm.Error) []byte {
	dst = e.open(dst, "message-end")
	dst = rawjson.AppendString(append(dst, `,"delta":{"finish_reason":"ERROR","error":`...), err.Placed())
	return append(dst, "}}\n\n"...)
}
