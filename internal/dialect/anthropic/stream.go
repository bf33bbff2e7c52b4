package anthropic

import (
	"bytes"
	"errors"
	"fmt"

	"weir/internal/dialect/alike"
	"weir/internal/dialect/explain"
	"weir/internal/llm"
	"weir/internal/rawjson"
	"weir/internal/sse"
)

var errNotObject = errors.New("anthropic: a frame of the stream is not an object")

// maxBlocks bounds the open content blocks of a stream, and its tool calls; further ones are ignored.
const maxBlocks = 1024

// Decoder reads one streamed answer:
// https://platform.claude.com/docs/en/build-with-claude/streaming.
type Decoder struct {
	blocks []openBlock
	last   llm.PartKind // of the block that began last
	calls  int
	counts counts
	ran    toolUse

	told     int // bytes of text so far
	searches searches
	kept     int // stored bytes of citations and queries

	alike  alike.Shape // of the last frame, if it was only a piece of text
	spoken []byte      // the frame's text as JSON; nil for none
}

// openBlock is a content block of the stream that has begun and not ended.
type openBlock struct {
	index int64
	kind  llm.PartKind
	call  int    // position among the calls
	said  bool   // it has content
	again bool   // a text after a text
	half  string // an incomplete character at the end of the text so far

	start   int          // bytes of text before it
	sources []llm.Source // of a text
	search  string       // id of the search, if it is one
	input   []byte       // of the search
}

// textStart represents the start of a text if its pieces do not show it: after another text, or before a citation. The
// vendor splits answers with citations into such texts.
var textStart = []byte(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)

// NewDecoder returns a decoder of one stream.
func NewDecoder(q *llm.Quirks) *Decoder { return &Decoder{counts: newCounts(q)} }

// Decode appends the events of one frame to dst. It returns an *llm.Error if the provider reported an error in the
// stream; any other error means that the frame violates the protocol. It ignores frames of unknown types, as the vendor
// requires of clients.
func (d *Decoder) Decode(dst []llm.Event, frame sse.Event) ([]llm.Event, error) {
	data := bytes.TrimSpace(frame.Data)
	// servers of other vendors send [DONE]
	if len(data) == 0 || string(frame.Name) == "ping" || string(data) == "[DONE]" {
		return dst, nil
	}
	if text, ok := d.alike.Match(frame.Name, data); ok {
		return d.again(dst, text), nil
	}
	d.alike.Forget()
	if err := rawjson.Validate(data, maxDepth); err != nil {
		if string(frame.Name) == "error" {
			return dst, explain.Reported(nil)
		}
		return dst, fmt.Errorf("anthropic: a frame of the stream is not JSON: %w", err)
	}
	if rawjson.KindOf(data) != rawjson.Object {
		return dst, errNotObject
	}
	f := readFrame(data)
	from := len(dst)
	d.spoken = nil
	dst, err := d.frame(dst, string(frame.Name), &f, data)
	if said := dst[from:]; len(said) == 1 && said[0].Kind == llm.EventText && d.spoken != nil {
		d.alike.Keep(frame.Name, data, d.spoken)
	}
	for i := range dst[from:] {
		if e := &dst[from+i]; e.Kind == llm.EventText {
			d.told += len(e.Text)
		}
	}
	return dst, err
}

// again appends the event of a frame that differs from the one before only in its text.
func (d *Decoder) again(dst []llm.Event, text []byte) []llm.Event {
	if len(text) == 0 {
		return dst
	}
	d.told += len(text)
	return append(dst, llm.Event{Kind: llm.EventText, Text: string(text)})
}

// frame appends the events of a frame's object.
func (d *Decoder) frame(dst []llm.Event, name string, f *streamFrame, data []byte) ([]llm.Event, error) {
	switch kind := f.kind; {
	case name == "error", kind == "error", kind == "" && rawjson.Present(f.failure):
		return dst, explain.Reported(data)
	case kind == "content_block_delta":
		return d.delta(dst, f, data), nil
	case kind == "content_block_start":
		return d.open(dst, f, data), nil
	case kind == "content_block_stop":
		return d.close(dst, f.index), nil
	case kind == "message_start":
		return d.start(dst, f.message), nil
	case kind == "message_delta":
		return d.end(dst, f), nil
	case kind == "message_stop":
		return append(dst, llm.Event{Kind: llm.EventDone}), nil
	}
	return dst, nil
}

// streamFrame holds the members of a frame's object.
type streamFrame struct {
	kind                                  string
	index                                 int64
	delta, block, message, usage, failure []byte
}

func readFrame(data []byte) (f streamFrame) {
	for m := range rawjson.Members(data) {
		switch string(m.Key()) {
		case "type":
			f.kind = typeWord(m.Value)
		case "index":
			f.index, _ = rawjson.AsInt(m.Value)
		case "delta":
			f.delta = m.Value
		case "content_block":
			f.block = m.Value
		case "message":
			f.message = m.Value
		case "usage":
			f.usage = m.Value
		case "error":
			f.failure = m.Value
		}
	}
	return f
}

// typeWord returns a type, without an allocation for the most frequent ones.
func typeWord(v []byte) string {
	switch string(v) {
	case `"content_block_delta"`:
		return "content_block_delta"
	case `"text_delta"`:
		return "text_delta"
	case `"thinking_delta"`:
		return "thinking_delta"
	case `"input_json_delta"`:
		return "input_json_delta"
	}
	return rawjson.Text(v)
}

// start reports the data known before the first word, including the input usage, which stays valid if the stream breaks
// off.
func (d *Decoder) start(dst []llm.Event, message []byte) []llm.Event {
	ev := llm.Event{Kind: llm.EventStart}
	var usage []byte
	for m := range rawjson.Members(message) {
		switch string(m.Key()) {
		case "id":
			ev.ID = rawjson.Text(m.Value)
		case "model":
			ev.Model = rawjson.Text(m.Value)
		case "usage":
			usage = m.Value
		}
	}
	d.counts.add(usage)
	ev.Tier = d.counts.modes()
	dst = append(dst, ev)
	if u, ok := d.counts.usage(); ok {
		return append(dst, llm.Event{
			Kind: llm.EventUsage, Metered: &llm.Metered{Usage: u, Timed: d.counts.timed(), Partial: true},
		})
	}
	return d.part(dst)
}

// part appends the readable part of incomplete counts.
func (d *Decoder) part(dst []llm.Event) []llm.Event {
	if most := d.counts.readable(); most != nil {
		dst = append(dst, llm.Event{Kind: llm.EventCost, Metered: &llm.Metered{Most: most}})
	}
	return dst
}

// open begins a content block.
func (d *Decoder) open(dst []llm.Event, f *streamFrame, data []byte) []llm.Event {
	b := openBlock{index: f.index, start: d.told}
	before := d.last
	defer func() { d.last = b.kind }()
	switch kind := rawjson.Text(rawjson.Get(f.block, "type")); kind {
	case "text":
		b.kind, b.again = llm.PartText, before == llm.PartText
		dst = b.text(dst, rawjson.Get(f.block, "text"))
	case "thinking":
		b.kind = llm.PartReasoning
		dst = piece(dst, llm.EventReasoning, rawjson.Get(f.block, "thinking"))
		dst = signature(dst, rawjson.Get(f.block, "signature"))
	case "redacted_thinking":
		b.kind = llm.PartReasoning
		if s := rawjson.Text(rawjson.Get(f.block, "data")); s != "" {
			dst = append(dst, llm.Event{Kind: llm.EventReasoning, Redacted: s, Maker: Name})
		}
	case "tool_use":
		if d.calls == maxBlocks {
			return dst
		}
		b.kind, b.call = llm.PartToolCall, d.calls
		d.calls++
		dst = append(dst, llm.Event{Kind: llm.EventToolCall, Tool: llm.ToolDelta{
			Index: b.call,
			ID:    rawjson.Text(rawjson.Get(f.block, "id")), Name: rawjson.Text(rawjson.Get(f.block, "name")),
		}})
		dst = d.input(dst, &b, rawjson.Get(f.block, "input"))
	default:
		b.kind = llm.PartOther
		d.ran.add(f.block)
		dst = append(dst, llm.Event{Kind: llm.EventOther, Raw: data, RawOf: Name})
		if s := d.searches.block(f.block); s != nil {
			dst = append(dst, llm.Event{Kind: llm.EventSearch, Search: s, RawOf: Name})
		}
		if kind == serverToolUse && rawjson.Text(rawjson.Get(f.block, "name")) == webSearch {
			b.search = rawjson.Text(rawjson.Get(f.block, "id"))
		}
	}
	if len(d.blocks) < maxBlocks {
		d.blocks = append(d.blocks, b)
	}
	return dst
}

// input emits an input that arrives whole at the start of its block, as from servers of other vendors. Anthropic's own
// is empty there.
func (d *Decoder) input(dst []llm.Event, b *openBlock, v []byte) []llm.Event {
	for range rawjson.Members(v) {
		b.said = true
		return append(dst, llm.Event{Kind: llm.EventToolCall, Text: string(v), Tool: llm.ToolDelta{Index: b.call}})
	}
	return dst
}

func piece(dst []llm.Event, kind llm.EventKind, v []byte) []llm.Event {
	if s := rawjson.Text(v); s != "" {
		dst = append(dst, llm.Event{Kind: kind, Text: s, Maker: Name})
	}
	return dst
}

func signature(dst []llm.Event, v []byte) []llm.Event {
	if s := rawjson.Text(v); s != "" {
		dst = append(dst, llm.Event{Kind: llm.EventReasoning, Signature: s, Maker: Name})
	}
	return dst
}

// find returns the open block of that index, or nil.
func (d *Decoder) find(index int64) *openBlock {
	for i := len(d.blocks) - 1; i >= 0; i-- {
		if d.blocks[i].index == index {
			return &d.blocks[i]
		}
	}
	return nil
}

// delta reads a piece of a block. Pieces of unknown blocks or kinds pass unchanged.
func (d *Decoder) delta(dst []llm.Event, f *streamFrame, data []byte) []llm.Event {
	b := d.find(f.index)
	kind := typeWord(rawjson.Get(f.delta, "type"))
	switch {
	case b != nil && b.kind == llm.PartOther:
		d.asks(b, f.delta)
	case b != nil && b.kind == llm.PartText && kind == "citations_delta":
		d.cites(b, rawjson.Get(f.delta, "citation"))
	case kind == "text_delta":
		d.spoken = rawjson.Get(f.delta, "text")
		return b.text(dst, d.spoken)
	case kind == "thinking_delta":
		return piece(dst, llm.EventReasoning, rawjson.Get(f.delta, "thinking"))
	case kind == "signature_delta":
		return signature(dst, rawjson.Get(f.delta, "signature"))
	case kind == "input_json_delta":
		if b == nil || b.kind != llm.PartToolCall {
			return dst
		}
		if s := rawjson.Text(rawjson.Get(f.delta, "partial_json")); s != "" {
			b.said = true
			dst = append(dst, llm.Event{Kind: llm.EventToolCall, Text: s, Tool: llm.ToolDelta{Index: b.call}})
		}
		return dst
	}
	dst = b.begin(dst, true)
	return append(dst, llm.Event{Kind: llm.EventOther, Raw: data, RawOf: Name})
}

// text emits a piece of a text.
func (b *openBlock) text(dst []llm.Event, v []byte) []llm.Event {
	s := ""
	if b != nil {
		s, b.half, _ = rawjson.AsPiece(b.half, v)
	} else {
		s = rawjson.Text(v)
	}
	if s == "" {
		return dst
	}
	dst = b.begin(dst, false)
	return append(dst, llm.Event{Kind: llm.EventText, Text: s})
}

// begin reports the start of a text before its first piece if the piece does not show it.
func (b *openBlock) begin(dst []llm.Event, cited bool) []llm.Event {
	if b == nil || b.kind != llm.PartText || b.said {
		return dst
	}
	b.said = true
	if !b.again && !cited {
		return dst
	}
	return append(dst, llm.Event{Kind: llm.EventOther, Raw: textStart, RawOf: Name})
}

// close ends a block. A call without arguments gets the empty object as its input.
func (d *Decoder) close(dst []llm.Event, index int64) []llm.Event {
	b := d.find(index)
	if b == nil {
		return dst
	}
	if b.kind == llm.PartToolCall && !b.said {
		dst = append(dst, llm.Event{Kind: llm.EventToolCall, Text: "{}", Tool: llm.ToolDelta{Index: b.call}})
	}
	dst = d.claims(dst, b)
	*b = d.blocks[len(d.blocks)-1]
	d.blocks = d.blocks[:len(d.blocks)-1]
	return dst
}

// end reports the finish reason and the usage of the answer.
func (d *Decoder) end(dst []llm.Event, f *streamFrame) []llm.Event {
	reason := rawjson.Text(rawjson.Get(f.delta, "stop_reason"))
	finish := finishOf(reason)
	if finish == llm.FinishStop && d.calls > 0 {
		finish = llm.FinishToolCalls // servers of other vendors may not report it
	}
	if finish != "" {
		dst = append(dst, llm.Event{Kind: llm.EventFinish, Finish: finish})
	}
	told := d.counts.add(f.usage)
	u, ok := d.counts.usage()
	if !ok || !told {
		return d.part(dst)
	}
	most := d.ran.addTo(&u, d.counts.most(u), &d.counts)
	free := reason == stopRefused && d.last == 0
	if free {
		u, most = refused(rawjson.Get(f.delta, "stop_details"), u)
	}
	return append(dst, llm.Event{
		Kind: llm.EventUsage, Tier: d.counts.modes(), Metered: &llm.Metered{
			Usage: u, Most: most, Timed: d.counts.timed(), Partial: finish == "", Instead: free,
		},
	})
}

// Idle reports whether an event only begins the answer, keeps the connection alive, or only has an error.
func Idle(frame sse.Event) bool {
	switch readFrame(frame.Data).kind {
	case "message_start", "ping", "error", "":
		return true
	}
	return string(frame.Name) == "ping" || string(frame.Name) == "error"
}
