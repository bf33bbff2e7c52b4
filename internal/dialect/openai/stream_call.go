package openai

import (
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

const (
	// maxCalls bounds the tool calls that a stream may open; more are passed over.
	maxCalls = 1024
	// maxPieced is up to how many bytes a name is put together of pieces.
	maxPieced = 1024
)

// openCall is a tool call of the stream that has begun.
type openCall struct {
	choice   int
	position int // among the calls of its choice
	index    int // as the provider counts
	id       string

	name, signature string
	told            bool // the event that opens it is out
}

// callDelta is one tool call of one delta.
type callDelta struct {
	index     int // -1 when the provider gave none
	id, name  string
	arguments string
	signature string
}

func readCall(v []byte) callDelta {
	c := callDelta{index: -1}
	for m := range rawjson.Members(v) {
		switch string(m.Key()) {
		case "index":
			if n, ok := rawjson.AsInt(m.Value); ok && n >= 0 && n < maxCalls {
				c.index = int(n)
			}
		case "id":
			c.id = rawjson.Text(m.Value)
		case extraContent:
			c.signature, _ = googleSignature(m.Value)
		case "function":
			c.name = rawjson.Text(rawjson.Get(m.Value, "name"))
			c.arguments = parse.Arguments(rawjson.Get(m.Value, "arguments"))
		case "custom":
			c.name = rawjson.Text(rawjson.Get(m.Value, "name"))
			c.arguments = rawjson.Text(rawjson.Get(m.Value, "input"))
		}
	}
	return c
}

// call appends the events of one delta: one that opens the call, with its id
// and name, and one with a piece of its arguments. A name may come in pieces, or
// again, until there are arguments.
func (d *Decoder) call(dst []llm.Event, choice int, c callDelta) []llm.Event {
	open := d.find(choice, c)
	switch {
	case open == nil && len(d.calls) == maxCalls:
		return dst
	case open == nil:
		dst = d.begin(dst, choice)
		open = d.open(choice, c)
		c.signature = ""
	case !open.told && c.name != open.name && len(open.name) < maxPieced:
		open.name += c.name
		d.kept += len(c.name)
	}
	if c.arguments == "" && c.signature == "" {
		return dst
	}
	return append(d.begin(dst, choice), llm.Event{
		Kind: llm.EventToolCall, Choice: choice, Text: c.arguments, Signature: c.signature,
		Maker: makerOfCall(c.signature),
		Tool:  llm.ToolDelta{Index: open.position},
	})
}

// begin tells of the newest call of a choice, whose name is whole, unless that was done.
func (d *Decoder) begin(dst []llm.Event, choice int) []llm.Event {
	open := d.last(choice)
	if open == nil || open.told {
		return dst
	}
	dst = append(dst, llm.Event{
		Kind: llm.EventToolCall, Choice: choice, Signature: open.signature, Maker: makerOfCall(open.signature),
		Tool: llm.ToolDelta{Index: open.position, ID: open.id, Name: open.name},
	})
	d.kept -= len(open.name) + len(open.signature)
	open.told, open.name, open.signature = true, "", ""
	return dst
}

// makerOfCall is who made the signature of a call; nobody where there is none.
func makerOfCall(signature string) string {
	if signature == "" {
		return ""
	}
	return google
}

// find is the call that a delta continues, or nil.
func (d *Decoder) find(choice int, c callDelta) *openCall {
	for i := len(d.calls) - 1; i >= 0; i-- {
		if open := &d.calls[i]; open.choice == choice && c.continues(open) {
			return open
		}
	}
	return nil
}

// continues reports whether the delta belongs to an open call. Some providers
// leave the index out, some number every call 0, some repeat id and name on
// every delta.
func (c *callDelta) continues(open *openCall) bool {
	switch {
	case c.index >= 0 && c.index != open.index:
		return false
	case c.id != "":
		return c.id == open.id || c.name == "" && c.index >= 0
	}
	return c.name == "" || c.index >= 0
}

func (d *Decoder) open(choice int, c callDelta) *openCall {
	position := 0
	if last := d.last(choice); last != nil {
		position = last.position + 1
	}
	if c.id == "" {
		c.id = parse.CallID(position)
	}
	if c.index < 0 {
		c.index = position
	}
	d.calls = append(d.calls, openCall{
		choice: choice, position: position, index: c.index, id: c.id, name: c.name, signature: c.signature,
	})
	d.kept += len(c.id) + len(c.name) + len(c.signature)
	return &d.calls[len(d.calls)-1]
}

// last is the newest call of a choice, or nil.
func (d *Decoder) last(choice int) *openCall {
	for i := len(d.calls) - 1; i >= 0; i-- {
		if d.calls[i].choice == choice {
			return &d.calls[i]
		}
	}
	return nil
}
