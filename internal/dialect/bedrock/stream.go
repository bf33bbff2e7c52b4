package bedrock

import (
	"errors"
	"fmt"

	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
	"weir/internal/sse"
)

var (
	errNotObject = errors.New("bedrock: an event of the stream is not an object")
	errImage     = fmt.Errorf("bedrock: an image of the stream is not base64, or has more than %d bytes", maxImage)
	errNotOpen   = errors.New("bedrock: the stream continues a tool call that it did not begin")
)

// The events of ConverseStream, in order: a message has blocks, each of which stops before the next one starts or has
// its first delta.
const (
	messageStart = "messageStart"
	blockStart   = "contentBlockStart"
	blockDelta   = "contentBlockDelta"
	blockStop    = "contentBlockStop"
	messageStop  = "messageStop"
	metadata     = "metadata"
)

// Decoder reads one stream of ConverseStream's events.
type Decoder struct {
	calls    []openCall
	image    *openImage // nil for none
	finished bool       // messageStop arrived
	metered  bool       // metadata arrived
	guarded  bool       // a guardrail checked it
	told     int        // bytes of text so far
	before   int        // bytes of text before the open block
	spoke    int        // bytes of text before the last block with text
	cited    *cited     // nil for none
	ran      *ran       // a tool of the provider, of the open block; nil for none
	made     llm.Usage  // calls of such tools
}

// openCall is a tool call that has begun; its index in the list is its position among the calls.
type openCall struct {
	block     int64
	arguments bool // it has arguments
}

// maxCalls bounds the tool calls of a stream.
const maxCalls = 1024

// NewDecoder returns a decoder of one stream.
func NewDecoder(*llm.Quirks) *Decoder { return &Decoder{} }

// Decode appends the events of one frame to dst. It returns an *llm.Error if the provider raised an exception in the
// stream; any other error means that the frame violates the protocol. The stream is done when both its end and its
// usage have arrived. Decode ignores unknown events.
func (d *Decoder) Decode(dst []llm.Event, frame sse.Event) ([]llm.Event, error) {
	if isException(frame.Name) || string(frame.Name) == errorName {
		return dst, streamError(frame)
	}
	read := readerOf(frame.Name)
	if read == nil {
		return dst, nil
	}
	if err := rawjson.Validate(frame.Data, maxDepth); err != nil {
		return dst, fmt.Errorf("bedrock: an event of the stream is not JSON: %w", err)
	}
	if rawjson.KindOf(frame.Data) != rawjson.Object {
		return dst, errNotObject
	}
	return read(d, dst, frame.Data)
}

type eventReader func(d *Decoder, dst []llm.Event, data []byte) ([]llm.Event, error)

// readerOf returns the reader of an event by its name; nil for an event without content.
func readerOf(name []byte) eventReader {
	switch string(name) {
	case blockDelta:
		return (*Decoder).delta
	case blockStart:
		return (*Decoder).start
	case blockStop:
		return (*Decoder).end
	case messageStart:
		return (*Decoder).begin
	case messageStop:
		return (*Decoder).stop
	case metadata:
		return (*Decoder).meter
	}
	return nil
}

// streamError returns an exception of the stream. Its name is in the frame or in the data.
func streamError(frame sse.Event) *llm.Error {
	e := DecodeError(frame.Data)
	if isException(frame.Name) && codeOf(e.Code) == llm.CodeProviderError {
		e.Code = string(frame.Name)
	}
	return exception(e, frame.Data)
}

func (d *Decoder) begin(dst []llm.Event, _ []byte) ([]llm.Event, error) {
	return append(dst, llm.Event{Kind: llm.EventStart}), nil
}

// start opens an image or a tool call. Blocks of text and thinking have no start.
func (d *Decoder) start(dst []llm.Event, data []byte) ([]llm.Event, error) {
	index, inner := blockOf(data, "start")
	name, v, _ := OnlyMember(inner)
	if name == "image" {
		d.image = &openImage{block: index, format: rawjson.Text(rawjson.Get(v, "format"))}
	}
	if name == "toolUse" && isServerTool(v) {
		d.openServer(v)
		return dst, nil
	}
	if name != "toolUse" || len(d.calls) == maxCalls {
		return dst, nil
	}
	tool := llm.ToolDelta{
		Index: len(d.calls),
		ID:    rawjson.Text(rawjson.Get(v, "toolUseId")),
		Name:  rawjson.Text(rawjson.Get(v, "name")),
	}
	if tool.ID == "" {
		tool.ID, tool.MadeUp = parse.CallID(tool.Index), true
	}
	d.calls = append(d.calls, openCall{block: index})
	return append(dst, llm.Event{Kind: llm.EventToolCall, Tool: tool}), nil
}

// blockOf returns the index of a block, and the member of that name next to it.
func blockOf(data []byte, name string) (index int64, v []byte) {
	for m := range rawjson.Members(data) {
		switch string(m.Key()) {
		case "contentBlockIndex":
			index, _ = rawjson.AsInt(m.Value)
		case name:
			v = m.Value
		}
	}
	return index, v
}

// delta reads a piece of a block. An unmodelled one passes unchanged.
func (d *Decoder) delta(dst []llm.Event, data []byte) ([]llm.Event, error) {
	index, inner := blockOf(data, "delta")
	for m := range rawjson.PresentMembers(inner) {
		switch string(m.Key()) {
		case "text":
			text := rawjson.Text(m.Value)
			d.told += len(text)
			return appendPiece(dst, llm.Event{Kind: llm.EventText, Text: text}), nil
		case "reasoningContent":
			return appendThoughtPieces(dst, m.Value), nil
		case "toolUse":
			return d.input(dst, index, rawjson.Get(m.Value, "input"))
		case "image":
			return dst, d.piece(index, m.Value)
		case "citation":
			d.cite(index, m.Value)
		}
		return append(dst, llm.Event{Kind: llm.EventOther, Raw: inner, RawOf: Name}), nil
	}
	return dst, nil
}

func appendPiece(dst []llm.Event, ev llm.Event) []llm.Event {
	if ev.Text == "" {
		return dst
	}
	return append(dst, ev)
}

// appendThoughtPieces reads a piece of thinking, plain or encrypted, or its signature.
func appendThoughtPieces(dst []llm.Event, v []byte) []llm.Event {
	for m := range rawjson.Members(v) {
		s := rawjson.Text(m.Value)
		if s == "" {
			continue
		}
		ev := llm.Event{Kind: llm.EventReasoning, Maker: maker}
		switch string(m.Key()) {
		case "text":
			ev.Text = s
		case "signature":
			ev.Signature = s
		case "redactedContent":
			ev.Redacted = s
		default:
			continue
		}
		dst = append(dst, ev)
	}
	return dst
}

// input reads a piece of a call's arguments.
func (d *Decoder) input(dst []llm.Event, block int64, v []byte) ([]llm.Event, error) {
	i := d.find(block)
	switch {
	case d.ran != nil:
		d.ran.add(rawjson.Text(v))
		return dst, nil
	case i >= 0:
	case len(d.calls) == maxCalls:
		return dst, nil
	default:
		return dst, errNotOpen
	}
	piece := rawjson.Text(v)
	d.calls[i].arguments = d.calls[i].arguments || piece != ""
	return appendPiece(dst, llm.Event{Kind: llm.EventToolCall, Text: piece, Tool: llm.ToolDelta{Index: i}}), nil
}

// find returns the position of the call of a block, -1 for none.
func (d *Decoder) find(block int64) int {
	for i := len(d.calls) - 1; i >= 0; i-- {
		if d.calls[i].block == block {
			return i
		}
	}
	return -1
}

// end emits a finished image, and the empty object as the arguments of a call without any.
func (d *Decoder) end(dst []llm.Event, data []byte) ([]llm.Event, error) {
	dst = d.endServer(d.claims(d.show(dst)))
	index, _ := blockOf(data, "")
	i := d.find(index)
	if i < 0 || d.calls[i].arguments {
		return dst, nil
	}
	d.calls[i].arguments = true
	return append(dst, llm.Event{Kind: llm.EventToolCall, Text: "{}", Tool: llm.ToolDelta{Index: i}}), nil
}

func (d *Decoder) stop(dst []llm.Event, data []byte) ([]llm.Event, error) {
	for m := range rawjson.Members(data) {
		d.guarded = d.guarded || isGuarded(m)
	}
	reason := finishOf(rawjson.Text(rawjson.Get(data, "stopReason")))
	if reason == "" {
		reason = llm.FinishStop
	}
	d.finished = true
	return d.done(append(d.claims(d.show(dst)), llm.Event{
		Kind: llm.EventFinish, Finish: reason, Text: stopSequence(rawjson.Get(data, stopFields)),
	})), nil
}

func (d *Decoder) meter(dst []llm.Event, data []byte) ([]llm.Event, error) {
	var usage llm.Metered
	var reported bool
	var tier, latency []byte
	for m := range rawjson.Members(data) {
		switch string(m.Key()) {
		case "usage":
			usage.Usage, usage.Most, usage.Timed, reported = decodeUsage(m.Value)
		case "serviceTier":
			tier = rawjson.Get(m.Value, "type")
		case "performanceConfig":
			latency = rawjson.Get(m.Value, "latency")
		default:
			d.guarded = d.guarded || isGuarded(m)
		}
	}
	if d.guarded {
		countGuard(&usage.Usage, usage.Most)
	}
	countRan(&usage.Usage, usage.Most, &d.made)
	if reported {
		dst = append(dst, llm.Event{Kind: llm.EventUsage, Tier: modesOf(tier, latency), Metered: &usage})
	} else if usage.Most != nil {
		dst = append(dst, llm.Event{Kind: llm.EventCost, Metered: &llm.Metered{Most: usage.Most}})
	}
	d.metered = true
	return d.done(dst), nil
}

func (d *Decoder) done(dst []llm.Event) []llm.Event {
	if !d.finished || !d.metered {
		return dst
	}
	return append(dst, llm.Event{Kind: llm.EventDone})
}

// Idle reports whether an event only begins the answer, or is an exception.
func Idle(frame sse.Event) bool {
	return isException(frame.Name) || string(frame.Name) == errorName || string(frame.Name) == messageStart
}
