package responses

import (
	"weir/internal/dialect/clienttool"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// item is an item of an encoded stream.
type item struct {
	kind   llm.EventKind
	id     string
	output int // its place in the answer

	part     llm.EventKind // of the part that is open; 0 for none
	parts    int           // that are closed
	text     []byte        // of the part that is open, or the arguments
	closed   []byte        // the closed parts
	redacted string        // thinking in encrypted form
	begin    int           // characters of the answer's text before the part that is open
	notes    []byte        // annotations of that
	noted    int           // how many
	tokens   []byte        // of the text, the elements of a list
	call     llm.ToolDelta
	tool     llm.ClientTool    // that is called
	reader   clienttool.Reader // of the text for one that takes a text
	input    []byte            // that text

	whole []byte // once it is done
}

// prefixes are how the ids of items begin.
var prefixes = map[llm.EventKind]string{
	llm.EventText: "msg_", llm.EventReasoning: "rs_", llm.EventToolCall: "fc_", llm.EventOther: "item_",
	llm.EventSearch: "ws_",
}

// place writes the members that say where a piece belongs. The name is that of
// the index within the item; empty for none.
func (it *item) place(dst []byte, name string) []byte {
	dst = rawjson.AppendString(append(dst, `,"item_id":`...), it.id)
	dst = rawjson.AppendCount(dst, `,"output_index":`, int64(it.output))
	if name == "" {
		return dst
	}
	return rawjson.AppendCount(dst, name, int64(it.parts))
}

// append writes the item as far as it has come.
func (it *item) append(dst []byte, status string) []byte {
	if it.kind == llm.EventOther || it.kind == llm.EventSearch {
		return append(dst, it.whole...)
	}
	switch it.kind {
	case llm.EventReasoning:
		dst = rawjson.AppendString(append(dst, `{"type":"reasoning","id":`...), it.id)
		dst = append(it.appendParts(append(dst, `,"summary":[`...)), ']')
		if it.redacted != "" {
			dst = rawjson.AppendString(append(dst, `,"encrypted_content":`...), it.redacted)
		}
		return append(dst, '}')
	case llm.EventToolCall:
		return it.appendCall(dst, status)
	}
	dst = appendFields(append(dst, `{"type":"message"`...), nil, it.id, status)
	dst = it.appendParts(append(dst, `,"role":"assistant","content":[`...))
	return append(dst, "]}"...)
}

// appendParts writes the parts, the one that is open too.
func (it *item) appendParts(dst []byte) []byte {
	dst = append(dst, it.closed...)
	if it.part == 0 {
		return dst
	}
	if it.parts > 0 {
		dst = append(dst, ',')
	}
	return appendPiece(dst, it.part, string(it.text), it.notes, it.tokens)
}

// appendPiece writes a part of an item with its text, and that text's annotations and tokens.
func appendPiece(dst []byte, kind llm.EventKind, text string, notes, tokens []byte) []byte {
	switch kind {
	case llm.EventReasoning:
		dst = append(dst, `{"type":"summary_text","text":`...)
	case llm.EventRefusal:
		return appendRefusal(dst, text)
	default:
		dst = append(append(dst, `{"type":"output_text","annotations":[`...), notes...)
		dst = append(appendLogprobs(append(dst, ']'), tokens), `,"text":`...)
	}
	return append(rawjson.AppendString(dst, text), '}')
}

// partEvents are the names of the events around a part, and of its place.
type partEvents struct{ added, textDone, text, done, index string }

func eventsOf(kind llm.EventKind) partEvents {
	switch kind {
	case llm.EventReasoning:
		return partEvents{
			"response.reasoning_summary_part.added", "response.reasoning_summary_text.done", `,"text":`,
			"response.reasoning_summary_part.done", `,"summary_index":`,
		}
	case llm.EventRefusal:
		return partEvents{
			"response.content_part.added", "response.refusal.done", `,"refusal":`,
			"response.content_part.done", `,"content_index":`,
		}
	}
	return partEvents{
		"response.content_part.added", "response.output_text.done", `,"text":`,
		"response.content_part.done", `,"content_index":`,
	}
}

// openPart begins a part.
func (it *item) openPart(e *Encoder, dst []byte, kind llm.EventKind) []byte {
	it.part = kind
	events := eventsOf(kind)
	dst = it.place(e.event(dst, events.added), events.index)
	return closeEvent(appendPiece(append(dst, `,"part":`...), kind, "", nil, nil))
}

// closePart ends the part that is open.
func (it *item) closePart(e *Encoder, dst []byte) []byte {
	if it.part == 0 {
		return dst
	}
	events, text := eventsOf(it.part), string(it.text)
	dst = it.place(e.event(dst, events.textDone), events.index)
	dst = rawjson.AppendString(append(dst, events.text...), text)
	if it.part == llm.EventText {
		dst = appendBrief(dst, listOf(it.tokens))
	}
	dst = closeEvent(dst)
	dst = it.place(e.event(dst, events.done), events.index)
	dst = closeEvent(appendPiece(append(dst, `,"part":`...), it.part, text, it.notes, it.tokens))
	if it.parts > 0 {
		it.closed = append(it.closed, ',')
	}
	it.closed = appendPiece(it.closed, it.part, text, it.notes, it.tokens)
	it.part, it.text, it.notes, it.noted, it.tokens = 0, nil, nil, 0, nil
	it.parts++
	return dst
}
