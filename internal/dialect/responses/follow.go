package responses

import (
	"bytes"

	"weir/internal/llm"
	"weir/internal/rawjson"
	"weir/internal/sse"
)

// Follow records an event that was sent as the provider wrote it, so that the encoder can continue after it. Unmodelled
// items and parts only count for their positions.
func (e *Encoder) Follow(frame sse.Event) {
	data := frame.Data
	if n, ok := rawjson.AsInt(rawjson.Get(data, "sequence_number")); ok {
		e.sequence = n + 1
	}
	if r := rawjson.Get(data, "response"); r != nil {
		e.followObject(r)
		return
	}
	e.kept += len(data)
	if e.kept > maxKept {
		e.full = true
		return
	}
	kind := rawjson.Text(rawjson.Get(data, "type"))
	if kind == "response.output_item.added" {
		e.followItem(rawjson.Get(data, "item"))
		return
	}
	output := index(rawjson.Get(data, "output_index"))
	if output < 0 || output >= int64(len(e.items)) {
		return
	}
	it := e.items[output]
	switch kind {
	case "response.output_item.done":
		it.whole = bytes.Clone(rawjson.Get(data, "item"))
		if e.open == it {
			e.open = nil
		}
	case "response.content_part.added", "response.reasoning_summary_part.added":
		it.part = partKind(rawjson.Get(data, "part"))
	case "response.content_part.done", "response.reasoning_summary_part.done":
		if it.parts > 0 {
			it.closed = append(it.closed, ',')
		}
		it.closed = append(it.closed, rawjson.Get(data, "part")...)
		it.part, it.text = 0, nil
		it.parts++
	default:
		if s, ok := rawjson.AsString(rawjson.Get(data, "delta")); ok {
			it.text = append(it.text, s...)
		}
	}
}

func (e *Encoder) followObject(r []byte) {
	e.begun = true
	if id := rawjson.Text(rawjson.Get(r, "id")); id != "" {
		e.object.id = id
	}
	if model := rawjson.Text(rawjson.Get(r, "model")); model != "" {
		e.object.model = model
	}
	if n, ok := rawjson.AsInt(rawjson.Get(r, "created_at")); ok {
		e.object.created = n
	}
}

func (e *Encoder) followItem(v []byte) {
	it := &item{id: rawjson.Text(rawjson.Get(v, "id")), output: len(e.items)}
	switch rawjson.Text(rawjson.Get(v, "type")) {
	case itemMessage:
		it.kind = llm.EventText
		e.open = it
	case itemReasoning:
		it.kind = llm.EventReasoning
		e.open = it
	case itemCall:
		it.kind = llm.EventToolCall
		it.call = llm.ToolDelta{
			Index: it.output, ID: rawjson.Text(rawjson.Get(v, "call_id")), Name: rawjson.Text(rawjson.Get(v, "name")),
		}
		it.tool = llm.ClientTool{
			Kind: llm.ToolFunction, Namespace: rawjson.Text(rawjson.Get(v, "namespace")), Name: it.call.Name,
		}
	default:
		it.kind = llm.EventOther
	}
	e.items = append(e.items, it)
}

func partKind(part []byte) llm.EventKind {
	switch rawjson.Text(rawjson.Get(part, "type")) {
	case "refusal":
		return llm.EventRefusal
	case "summary_text", "reasoning_text":
		return llm.EventReasoning
	}
	return llm.EventText
}
