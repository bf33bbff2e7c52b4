package responses

import (
	"weir/internal/dialect/proof"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// call opens a call, or writes a piece of its arguments. Calls stay open to the end, because their pieces may be
// interleaved.
func (e *Encoder) call(dst []byte, ev *llm.Event) []byte {
	dst = e.close(dst, statusCompleted)
	var it *item
	for _, other := range e.items {
		if other.kind == llm.EventToolCall && other.call.Index == ev.Tool.Index {
			it = other
		}
	}
	id := ev.Tool.ID
	if it != nil {
		id = it.call.ID
	}
	dst = e.loose(dst, ev, proof.OfCall+id)
	if it == nil {
		it = &item{kind: llm.EventToolCall, call: ev.Tool}
		it.tool = toolOf(e.called, &llm.ToolCall{Name: ev.Tool.Name}, true)
		dst = e.add(dst, it)
	}
	if ev.Text == "" {
		return dst
	}
	it.text = append(it.text, ev.Text...)
	switch it.tool.Kind {
	case llm.ToolFunction:
		return e.delta(dst, it, "response.function_call_arguments.delta", ev.Text)
	case llm.ToolCustom:
		return e.input(dst, it, it.reader.Add(ev.Text))
	}
	return dst // the item is written whole
}

// input writes a piece of the input of a custom tool.
func (e *Encoder) input(dst []byte, it *item, text string) []byte {
	if text == "" {
		return dst
	}
	it.input = append(it.input, text...)
	e.kept += len(text)
	return e.delta(dst, it, "response.custom_tool_call_input.delta", text)
}

func (e *Encoder) delta(dst []byte, it *item, kind, text string) []byte {
	dst = it.place(e.event(dst, kind), "")
	return closeEvent(rawjson.AppendString(append(dst, `,"delta":`...), text))
}

// appendCall writes the item of a call so far.
func (it *item) appendCall(dst []byte, status string) []byte {
	call := llm.ToolCall{ID: it.call.ID, Name: it.call.Name, Arguments: string(it.text)}
	if it.tool.Kind == llm.ToolCustom {
		return appendCustom(dst, it.tool, call.ID, string(it.input), it.id, status)
	}
	unfinished := status == statusInProgress
	if !unfinished && it.tool.Kind != llm.ToolFunction && !isObject(call.Arguments) {
		return appendCall(dst, &call, it.id, status)
	}
	return appendCalled(dst, it.tool, &call, it.id, status)
}

// closeArguments ends the arguments of a call.
func (it *item) closeArguments(e *Encoder, dst []byte) []byte {
	switch it.tool.Kind {
	case llm.ToolFunction:
		dst = it.place(e.event(dst, "response.function_call_arguments.done"), "")
		dst = rawjson.AppendString(append(dst, `,"name":`...), it.tool.Name)
		return closeEvent(rawjson.AppendString(append(dst, `,"arguments":`...), string(it.text)))
	case llm.ToolCustom:
		dst = e.input(dst, it, it.reader.End())
		dst = it.place(e.event(dst, "response.custom_tool_call_input.done"), "")
		return closeEvent(rawjson.AppendString(append(dst, `,"input":`...), string(it.input)))
	}
	return dst
}
