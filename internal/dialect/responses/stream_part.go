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
	output int // its position in the answer

	part     llm.EventKind // of the open part; 0 for none
	parts    int           // closed parts
	text     []byte        // of the open part, or the arguments
	closed   []byte        // the closed parts
	redacted string        // encrypted thinking
	begin    int           // characters of the answer's text before the open part
	notes    []byte        // annotations of the open part
	noted    int           // their number
	tokens   []byte        // of the text, as elements of a list
	call     llm.ToolDelta
	tool     llm.ClientTool    // the called tool
	reader   clienttool.Reader // of the input of a custom tool
	input    []byte            // of a custom tool

	whole []byte // set when it is done
}

// prefixes begin the ids of items.
var prefixes = map[llm.EventKind]string{
	llm.EventText: "msg_", llm.EventReasoning: "rs_", llm.EventToolCall: "fc_", llm.EventOther: "item_",
	llm.EventSearch: "ws_",
}

// place writes the members with the position of a piece. The name is that of the index within the item; empty for none.
func (it *item) place(dst []byte, name string) []byte {
	dst = rawjson.AppendString(append(dst, `,"item_id":`...), it.id)
	dst = rawjson.AppendCount(dst, `,"output_index":`, int64(it.output))
	if name == "" {
		return dst
	}
	return rawjson.AppendCount(dst, name, int64(it.parts))
}

// append writes the item so far.
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

// appendParts writes the parts, including the open one.
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

// appendPiece writes a part of an item with its text, annotations and tokens.
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

// partEvents holds the names of the events around a part, and of its index.
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

// closePart ends the open part.
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
