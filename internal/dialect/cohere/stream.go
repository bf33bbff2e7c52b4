package cohere

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"

	"weir/internal/dialect/explain"
	"weir/internal/dialect/parse"
	"weir/internal/dialect/position"
	"weir/internal/llm"
	"weir/internal/rawjson"
	"weir/internal/sse"
)

var (
	errNotObject = errors.New("cohere: an event of the stream is not an object")
	errNoCall    = errors.New("cohere: a piece of a tool call arrived before the call")
)

// maxCalls bounds the tool calls of a stream; further ones are ignored.
const maxCalls = 1024

// Decoder reads one stream of chat events. The event message-end ends the answer; Cohere's "[DONE]" after it has no
// content.
type Decoder struct {
	calls  []int64 // the provider's indexes, in the order of the calls
	text   position.Text
	begins map[int64]int // characters of the text before each content
}

// NewDecoder returns a decoder of one stream.
func NewDecoder(*llm.Quirks) *Decoder { return &Decoder{} }

// Decode appends the events of one frame to dst. It returns an *llm.Error if the provider reported an error in the
// stream, with the events next to it; any other error means that the frame violates the protocol.
func (d *Decoder) Decode(dst []llm.Event, frame sse.Event) ([]llm.Event, error) {
	data := bytes.TrimSpace(frame.Data)
	if len(data) == 0 || string(data) == "[DONE]" {
		return dst, nil
	}
	if err := rawjson.Validate(data, maxDepth); err != nil {
		return dst, fmt.Errorf("cohere: an event of the stream is not JSON: %w", err)
	}
	if rawjson.KindOf(data) != rawjson.Object {
		return dst, errNotObject
	}
	e := readEvent(data)
	if e.kind == nil { // some proxies only send the type as the event's name
		e.kind = rawjson.AppendString(nil, string(frame.Name))
	}
	return d.event(dst, &e, data)
}

// event holds the members of an event's object.
type event struct {
	kind, id, delta []byte
	message         []byte // of the delta
	failure         []byte // of an object that is an error, not an event
	index           int64
}

func readEvent(data []byte) (e event) {
	for m := range rawjson.Members(data) {
		switch string(m.Key()) {
		case "type":
			e.kind = m.Value
		case "id":
			e.id = m.Value
		case "index":
			e.index, _ = rawjson.AsInt(m.Value)
		case "delta":
			e.delta = m.Value
			e.message = rawjson.Get(m.Value, "message")
		case "message", "error":
			e.failure = m.Value
		}
	}
	return e
}

func (d *Decoder) event(dst []llm.Event, e *event, data []byte) ([]llm.Event, error) {
	switch string(e.kind) {
	case `"message-start"`:
		return append(dst, llm.Event{Kind: llm.EventStart, ID: rawjson.Text(e.id)}), nil
	case `"content-start"`, `"content-delta"`:
		from := len(dst)
		dst = content(dst, rawjson.Get(e.message, "content"))
		d.words(dst[from:], e.index)
		return dst, nil
	case `"tool-plan-delta"`:
		return piece(dst, llm.EventReasoning, rawjson.Get(e.message, "tool_plan")), nil
	case `"tool-call-start"`, `"tool-call-delta"`:
		return d.call(dst, e)
	case `"citation-start"`:
		return d.citation(dst, rawjson.Get(e.message, "citations")), nil
	case `"message-end"`:
		return d.messageEnd(dst, e)
	}
	if rawjson.Present(e.failure) {
		return dst, explain.Error(DecodeError(data), 0)
	}
	return dst, nil // the ends of blocks, calls and citations, and unknown types
}

func piece(dst []llm.Event, kind llm.EventKind, v []byte) []llm.Event {
	if text := rawjson.Text(v); text != "" {
		ev := llm.Event{Kind: kind, Text: text}
		if kind == llm.EventReasoning {
			ev.Maker = Name
		}
		dst = append(dst, ev)
	}
	return dst
}

// content appends a piece of text or of thinking.
func content(dst []llm.Event, v []byte) []llm.Event {
	for m := range rawjson.Members(v) {
		switch string(m.Key()) {
		case "text":
			dst = piece(dst, llm.EventText, m.Value)
		case "thinking":
			dst = piece(dst, llm.EventReasoning, m.Value)
		}
	}
	return dst
}

// call appends the events of one piece of a tool call: its opening with its id and name, and a piece of its arguments.
func (d *Decoder) call(dst []llm.Event, e *event) ([]llm.Event, error) {
	v := rawjson.Get(e.message, "tool_calls")
	position := d.find(e.index)
	if string(e.kind) == `"tool-call-start"` {
		if len(d.calls) == maxCalls {
			return dst, nil
		}
		position = len(d.calls)
		d.calls = append(d.calls, e.index)
		tool := llm.ToolDelta{
			Index: position, ID: rawjson.Text(rawjson.Get(v, "id")),
			Name: rawjson.Text(rawjson.Get(v, "function", "name")),
		}
		if tool.ID == "" {
			tool.ID, tool.MadeUp = parse.CallID(position), true
		}
		dst = append(dst, llm.Event{Kind: llm.EventToolCall, Tool: tool})
	}
	arguments := rawjson.Text(rawjson.Get(v, "function", "arguments"))
	switch {
	case position < 0 && len(d.calls) < maxCalls:
		return dst, errNoCall
	case position < 0 || arguments == "":
		return dst, nil
	}
	return append(dst, llm.Event{Kind: llm.EventToolCall, Text: arguments, Tool: llm.ToolDelta{Index: position}}), nil
}

// find returns the position of the newest call of that index, or -1.
func (d *Decoder) find(index int64) int {
	for i := len(d.calls) - 1; i >= 0; i-- {
		if d.calls[i] == index {
			return i
		}
	}
	return -1
}

// messageEnd appends the usage and the finish reason. A failed generation reports its error there.
func (d *Decoder) messageEnd(dst []llm.Event, e *event) ([]llm.Event, error) {
	if usage, most, ok := decodeUsage(rawjson.Get(e.delta, "usage")); ok {
		dst = append(dst, llm.Event{Kind: llm.EventUsage, Metered: &llm.Metered{Usage: usage}})
	} else if most != nil {
		dst = append(dst, llm.Event{Kind: llm.EventCost, Metered: &llm.Metered{Most: most}})
	}
	word := rawjson.Text(rawjson.Get(e.delta, "finish_reason"))
	if message := rawjson.Text(rawjson.Get(e.delta, "error")); message != "" {
		status := 0
		if word == "TIMEOUT" {
			status = http.StatusGatewayTimeout
		}
		return dst, reported(message, status)
	}
	reason := finishOf(word)
	if reason == llm.FinishStop && len(d.calls) > 0 {
		reason = llm.FinishToolCalls
	}
	if reason == "" {
		return dst, nil // not a valid end
	}
	return append(dst, llm.Event{Kind: llm.EventFinish, Finish: reason}, llm.Event{Kind: llm.EventDone}), nil
}

// Idle reports whether an event only begins or ends the answer, or only has an error.
func Idle(frame sse.Event) bool {
	kind := rawjson.Text(rawjson.Get(frame.Data, "type"))
	if kind == "" {
		kind = string(frame.Name)
	}
	return kind == "" || kind == "message-start" || kind == "message-end" || kind == "error"
}
