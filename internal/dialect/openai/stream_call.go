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
	// maxEarly bounds the arguments of a stream, in bytes, that wait for the names of their calls.
	maxEarly = 1 << 20
)

// openCall is a tool call of the stream that has begun.
type openCall struct {
	choice   int
	position int // among the calls of its choice
	index    int // as the provider counts
	id       string
	given    bool // the id is the provider's

	name, signature string
	early           []byte // arguments that came before the name
	told            bool   // the event that opens it is out
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
// again, until there are arguments; or behind some of these, which wait for it.
func (d *Decoder) call(dst []llm.Event, choice int, c callDelta) []llm.Event {
	open := d.find(choice, c)
	switch {
	case open == nil && len(d.calls) == maxCalls:
		return dst
	case open == nil:
		if last := d.last(choice); last != nil && last.name != "" {
			dst = d.begin(dst, last)
		}
		open = d.open(choice, c)
		c.signature = ""
	case !open.told:
		d.learn(open, &c)
	}
	switch {
	case !open.told && open.name == "" && d.kept+len(c.arguments) <= maxEarly:
		open.early = append(open.early, c.arguments...)
		d.kept += len(c.arguments)
		return dst
	case c.arguments == "" && c.signature == "" && len(open.early) == 0:
		return dst
	}
	if dst = d.begin(dst, open); c.arguments == "" && c.signature == "" {
		return dst
	}
	return append(dst, llm.Event{
		Kind: llm.EventToolCall, Choice: choice, Text: c.arguments, Signature: c.signature,
		Maker: makerOfCall(c.signature),
		Tool:  llm.ToolDelta{Index: open.position},
	})
}

// learn takes note of what a delta says of a call of which nothing was told yet.
func (d *Decoder) learn(open *openCall, c *callDelta) {
	if c.name != open.name && len(open.name) < maxPieced {
		open.name += c.name
		d.kept += len(c.name)
	}
	if c.id != "" && !open.given {
		d.kept += len(c.id) - len(open.id)
		open.id, open.given = c.id, true
	}
	if c.signature != "" {
		d.kept += len(c.signature) - len(open.signature)
		open.signature, c.signature = c.signature, ""
	}
}

// begin tells of a call with what came of its arguments, unless that was done.
func (d *Decoder) begin(dst []llm.Event, open *openCall) []llm.Event {
	if open.told {
		return dst
	}
	dst = append(dst, llm.Event{
		Kind: llm.EventToolCall, Choice: open.choice, Signature: open.signature, Maker: makerOfCall(open.signature),
		Tool: llm.ToolDelta{Index: open.position, ID: open.id, Name: open.name, MadeUp: !open.given},
	})
	if len(open.early) > 0 {
		dst = append(dst, llm.Event{
			Kind: llm.EventToolCall, Choice: open.choice, Text: string(open.early), Tool: llm.ToolDelta{Index: open.position},
		})
	}
	d.kept -= len(open.name) + len(open.signature) + len(open.early)
	open.told, open.name, open.signature, open.early = true, "", "", nil
	return dst
}

// beginAll tells of all calls of a choice that has ended.
func (d *Decoder) beginAll(dst []llm.Event, choice int) []llm.Event {
	for i := range d.calls {
		if d.calls[i].choice == choice {
			dst = d.begin(dst, &d.calls[i])
		}
	}
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
		return c.id == open.id || (c.name == "" || !open.given && !open.told) && c.index >= 0
	}
	return c.name == "" || c.index >= 0
}

func (d *Decoder) open(choice int, c callDelta) *openCall {
	position := 0
	if last := d.last(choice); last != nil {
		position = last.position + 1
	}
	given := c.id != ""
	if !given {
		c.id = parse.CallID(position)
	}
	if c.index < 0 {
		c.index = position
	}
	d.calls = append(d.calls, openCall{
		choice: choice, position: position, index: c.index, id: c.id, given: given, name: c.name, signature: c.signature,
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
