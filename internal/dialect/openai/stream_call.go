package openai

import (
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

const (
	// maxCalls bounds the tool calls of a stream; further ones are ignored.
	maxCalls = 1024
	// maxPieced bounds a name that arrives in pieces, in bytes.
	maxPieced = 1024
	// maxEarly bounds the arguments of a stream, in bytes, that arrive before the names of their calls.
	maxEarly = 1 << 20
)

// openCall is a tool call of the stream that has begun.
type openCall struct {
	choice   int
	position int // among the calls of its choice
	index    int // the provider's index
	id       string
	given    bool // the provider sent the id

	name, signature string
	early           []byte // arguments before the name
	told            bool   // its opening event was emitted
}

// callDelta is one tool call of one delta.
type callDelta struct {
	index     int // -1 if the provider sent none
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

// call appends the events of one delta: the opening of the call with its id and name, and a piece of its arguments. A
// name may arrive in pieces or repeatedly until arguments arrive; arguments before the name wait for it.
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

// learn stores a delta's data of a call that was not reported yet.
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

// begin reports a call with the arguments so far, unless it was reported.
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
			Kind: llm.EventToolCall, Choice: open.choice, Text: string(open.early),
			Tool: llm.ToolDelta{Index: open.position},
		})
	}
	d.kept -= len(open.name) + len(open.signature) + len(open.early)
	open.told, open.name, open.signature, open.early = true, "", "", nil
	return dst
}

// beginAll reports all calls of a choice that has ended.
func (d *Decoder) beginAll(dst []llm.Event, choice int) []llm.Event {
	for i := range d.calls {
		if d.calls[i].choice == choice {
			dst = d.begin(dst, &d.calls[i])
		}
	}
	return dst
}

// makerOfCall returns the maker of a call's signature, or "".
func makerOfCall(signature string) string {
	if signature == "" {
		return ""
	}
	return google
}

// find returns the call that a delta continues, or nil.
func (d *Decoder) find(choice int, c callDelta) *openCall {
	for i := len(d.calls) - 1; i >= 0; i-- {
		if open := &d.calls[i]; open.choice == choice && c.continues(open) {
			return open
		}
	}
	return nil
}

// continues reports whether the delta belongs to an open call. Some providers omit the index, some number every call 0,
// some repeat id and name on every delta.
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
		choice: choice, position: position, index: c.index, id: c.id, given: given, name: c.name,
		signature: c.signature,
	})
	d.kept += len(c.id) + len(c.name) + len(c.signature)
	return &d.calls[len(d.calls)-1]
}

// last returns the newest call of a choice, or nil.
func (d *Decoder) last(choice int) *openCall {
	for i := len(d.calls) - 1; i >= 0; i-- {
		if d.calls[i].choice == choice {
			return &d.calls[i]
		}
	}
	return nil
}
