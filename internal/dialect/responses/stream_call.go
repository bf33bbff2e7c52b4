package responses

import (
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// openCall is a function call of the stream.
type openCall struct {
	output     int64 // position by the events
	itemID, id string
	named      bool   // its first event was emitted
	unnamed    bool   // a delta arrived before the name, so the decoder waits for the whole call
	prefix     prefix // of the arguments
}

// begin appends the event that opens a call. Other items begin with their content.
func (d *Decoder) begin(dst []llm.Event, e *event) []llm.Event {
	if string(word(rawjson.Get(e.item, "type"))) != itemCall {
		return dst
	}
	c := decodeCall(e.item, len(d.calls))
	itemID, output := rawjson.Text(field(c.Extra, "id")), index(e.output)
	for i := range d.calls {
		if o := &d.calls[i]; itemID != "" && o.itemID == itemID || o.output == output && o.id == c.ID {
			return dst
		}
	}
	i := d.open(openCall{output: output, itemID: itemID, id: c.ID})
	if i < 0 {
		return dst
	}
	return d.say(d.name(dst, i, c.Name), i, c.Arguments)
}

// arguments appends a piece of a call's arguments.
func (d *Decoder) arguments(dst []llm.Event, e *event) []llm.Event {
	itemID, output := rawjson.Text(e.itemID), index(e.output)
	i := d.find(itemID, "", output)
	if i < 0 {
		i = d.open(openCall{output: output, itemID: itemID})
	}
	if i < 0 {
		return dst
	}
	c := &d.calls[i]
	c.unnamed = c.unnamed || !c.named
	if c.unnamed {
		return dst
	}
	return d.say(dst, i, rawjson.Text(e.delta))
}

// closeArguments appends the part of the whole arguments that no delta had.
func (d *Decoder) closeArguments(dst []llm.Event, e *event) []llm.Event {
	i := d.find(rawjson.Text(e.itemID), "", index(e.output))
	if i < 0 || d.calls[i].id == "" {
		return dst // the whole item follows
	}
	dst = d.name(dst, i, rawjson.Text(e.name))
	return d.finish(dst, i, parse.Arguments(e.arguments))
}

// call appends the part of a whole call that was not reported yet.
func (d *Decoder) call(dst []llm.Event, output int64, v []byte) []llm.Event {
	c := decodeCall(v, len(d.calls))
	itemID := rawjson.Text(field(c.Extra, "id"))
	i := d.find(itemID, c.ID, output)
	if i < 0 {
		i = d.open(openCall{output: output, itemID: itemID, id: c.ID})
	}
	if i < 0 {
		return dst
	}
	if open := &d.calls[i]; open.id == "" {
		open.id = c.ID
	}
	return d.finish(d.name(dst, i, c.Name), i, c.Arguments)
}

// find returns the position of a call by its best identification: its item, its id and position, its id, its position;
// -1 for none. Some providers give an item another id with every event, some number every item 0, some give two calls
// one id.
func (d *Decoder) find(itemID, id string, output int64) int {
	for _, is := range []func(c *openCall) bool{
		func(c *openCall) bool { return itemID != "" && c.itemID == itemID },
		func(c *openCall) bool { return id != "" && c.id == id && c.output == output },
		func(c *openCall) bool { return id != "" && c.id == id },
		func(c *openCall) bool { return c.output == output && (id == "" || c.id == "") },
	} {
		for i := len(d.calls) - 1; i >= 0; i-- {
			if is(&d.calls[i]) {
				return i
			}
		}
	}
	return -1
}

func (d *Decoder) open(c openCall) int {
	if len(d.calls) == maxCalls || len(c.itemID) > maxItemID {
		return -1
	}
	d.ids += len(c.itemID) + len(c.id)
	d.calls = append(d.calls, c)
	return len(d.calls) - 1
}

// name appends the first event of a call, once, when its name is known.
func (d *Decoder) name(dst []llm.Event, i int, name string) []llm.Event {
	c := &d.calls[i]
	if c.named || name == "" {
		return dst
	}
	c.named = true
	tool := llm.ToolDelta{Index: i, ID: c.id, Name: name}
	if c.id == "" {
		tool.ID, tool.MadeUp = parse.CallID(i), true
	}
	return append(dst, llm.Event{Kind: llm.EventToolCall, Tool: tool})
}

// say appends a piece of a call that has its name.
func (d *Decoder) say(dst []llm.Event, i int, s string) []llm.Event {
	if s == "" || !d.calls[i].named {
		return dst
	}
	d.calls[i].prefix.add(s)
	return append(dst, llm.Event{Kind: llm.EventToolCall, Text: s, Tool: llm.ToolDelta{Index: i}})
}

// finish appends the part of the whole arguments that was not reported yet.
func (d *Decoder) finish(dst []llm.Event, i int, whole string) []llm.Event {
	return d.say(dst, i, d.calls[i].prefix.rest(whole))
}
