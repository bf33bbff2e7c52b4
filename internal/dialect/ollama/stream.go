package ollama

import (
	"bytes"
	"errors"
	"fmt"

	"weir/internal/dialect/explain"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
	"weir/internal/sse"
)

var errNotObject = errors.New("ollama: a line of the stream is not an object")

// maxCalls bounds the tool calls of a stream; further ones are ignored.
const maxCalls = 1024

// Decoder reads one stream of answer pieces. The last one has done set.
type Decoder struct {
	started bool
	calls   int
}

// NewDecoder returns a decoder of one stream.
func NewDecoder(*llm.Quirks) *Decoder { return &Decoder{} }

// Decode appends the events of one line to dst. It returns an *llm.Error if the provider reported an error in the
// stream; any other error means that the line violates the protocol.
func (d *Decoder) Decode(dst []llm.Event, frame sse.Event) ([]llm.Event, error) {
	data := bytes.TrimSpace(frame.Data)
	if len(data) == 0 {
		return dst, nil
	}
	if err := rawjson.Validate(data, maxDepth); err != nil {
		return dst, fmt.Errorf("ollama: a line of the stream is not JSON: %w", err)
	}
	if rawjson.KindOf(data) != rawjson.Object {
		return dst, errNotObject
	}
	a := readAnswer(data, nil)
	if !d.started && rawjson.Present(a.message) {
		d.started = true
		dst = append(dst, llm.Event{Kind: llm.EventStart, Model: rawjson.Text(a.model), Created: a.created()})
	}
	from := len(dst)
	dst = parse.AddTokens(d.message(dst, a.message), from, 0, parse.ReadTokens(a.logprobs))
	if a.done {
		dst = d.end(dst, &a)
	} else if a.usage.found {
		dst = count(dst, &a)
	}
	if rawjson.Present(a.failure) {
		return dst, explain.Reported(data)
	}
	return dst, nil
}

func (d *Decoder) message(dst []llm.Event, v []byte) []llm.Event {
	m := readMessage(v, false)
	if s := rawjson.Text(m.thinking); s != "" {
		dst = append(dst, llm.Event{Kind: llm.EventReasoning, Text: s, Maker: Name})
	}
	if s := rawjson.Text(m.content); s != "" {
		dst = append(dst, llm.Event{Kind: llm.EventText, Text: s})
	}
	for _, e := range rawjson.Elements(m.toolCalls) {
		if d.calls == maxCalls {
			break
		}
		dst = d.call(dst, ReadCall(e))
	}
	for _, e := range rawjson.Elements(m.images) {
		data := rawjson.Text(e)
		dst = append(dst, llm.Event{Kind: llm.EventOther, Raw: e, RawOf: Name, Media: &llm.Media{
			MIME: ImageType(data),
			Data: data,
		}})
	}
	return dst
}

// call appends a tool call, which arrives whole.
func (d *Decoder) call(dst []llm.Event, c *llm.ToolCall) []llm.Event {
	if c.ID == "" {
		c.ID, c.MadeUp = parse.CallID(d.calls), true
	}
	tool := llm.ToolDelta{Index: d.calls, ID: c.ID, Name: c.Name, MadeUp: c.MadeUp}
	d.calls++
	dst = append(dst, llm.Event{Kind: llm.EventToolCall, Tool: tool})
	if c.Arguments == "" {
		return dst
	}
	return append(dst, llm.Event{Kind: llm.EventToolCall, Text: c.Arguments, Tool: llm.ToolDelta{Index: tool.Index}})
}

// count appends the usage, which is in the last line.
func count(dst []llm.Event, a *answer) []llm.Event {
	if usage, most, ok := a.usage.classes(); ok {
		dst = append(dst, llm.Event{Kind: llm.EventUsage, Metered: &llm.Metered{Usage: usage, Partial: !a.done}})
	} else if most != nil {
		dst = append(dst, llm.Event{Kind: llm.EventCost, Metered: &llm.Metered{Most: most}})
	}
	return dst
}

// end appends the usage and the finish reason, which ends the stream: the format has no end marker.
func (d *Decoder) end(dst []llm.Event, a *answer) []llm.Event {
	dst = count(dst, a)
	reason := finishOf(rawjson.Text(a.reason))
	if reason == llm.FinishStop && d.calls > 0 {
		reason = llm.FinishToolCalls
	}
	return append(dst, llm.Event{Kind: llm.EventFinish, Finish: reason})
}

// Idle reports whether a line has no piece of the answer, such as one with only an error.
func Idle(frame sse.Event) bool { return !rawjson.Present(rawjson.Get(frame.Data, "message")) }
