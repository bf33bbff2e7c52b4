package anthropic

import (
	"weir/internal/dialect/parse"
	"weir/internal/dialect/proof"
	"weir/internal/dialect/stamp"
	"weir/internal/llm"
	"weir/internal/rawjson"
	"weir/internal/sse"
)

// Encoder writes one streamed answer: message_start, every content block with its start, pieces and stop,
// message_delta, message_stop.
type Encoder struct {
	id, model string
	start     llm.Usage // usage reported at the start
	begun     bool
	open      llm.PartKind // kind of the open block; zero for none
	signed    bool         // the open thinking block has its signature
	maker     string       // of the open thinking block
	blocks    int64        // begun so far; the last one is open
	calls     []call       // by position
	current   int          // the call with the block opened last
	held      []*heldBlock // blocks that wait for the end of the open call
	full      bool         // the held blocks exceed maxHeld
	size      int          // bytes of ids and held blocks
	refused   bool
	cited     bool // the open text has a citation, and ends with its claim
	searched  int  // searches so far
	called    *llm.Called
}

// call is a tool call of the stream.
type call struct {
	begun     bool
	id        string
	arguments parse.ObjectEnd
	held      *heldBlock // set if it waits for another call to end
}

// NewEncoder returns an encoder of one stream. Clients add up the usage at the start, so that is the estimate if the
// provider reports nothing before its answer.
func NewEncoder(m llm.Meta) *Encoder {
	e := &Encoder{id: m.ID, model: m.Model, called: m.Called}
	e.start[llm.Input] = m.Input
	return e
}

// Size returns the stored bytes of ids and of waiting blocks.
func (e *Encoder) Size() int { return e.size }

// Append writes a piece of the answer. message_start precedes the first piece; before that it writes nothing. The
// format has one choice. Other pieces wait for the end of an open call.
func (e *Encoder) Append(dst []byte, ev *llm.Event) []byte {
	switch {
	case ev.Choice != 0 || e.full:
		return dst
	case ev.Kind == llm.EventToolCall && (ev.Tool.Index < 0 || ev.Tool.Index >= maxBlocks):
		return dst
	case e.waits(ev):
		e.hold(ev)
		return dst
	}
	return e.release(e.write(dst, ev), false)
}

// write writes a piece in its block, and begins the block unless it is open.
func (e *Encoder) write(dst []byte, ev *llm.Event) []byte {
	switch ev.Kind {
	case llm.EventStart:
		if ev.Metered != nil && ev.Usage.InputTokens() > 0 {
			e.start = ev.Usage
		}
	case llm.EventText:
		dst = e.text(dst, ev.Text)
		return e.signature(dst, ev, proof.OfText)
	case llm.EventRefusal:
		e.refused = true
		return e.text(dst, ev.Text)
	case llm.EventReasoning:
		return e.thinking(dst, ev)
	case llm.EventToolCall:
		return e.toolCall(dst, ev)
	case llm.EventOther:
		if ev.RawOf == Name {
			return e.other(dst, ev.Raw)
		}
		return e.text(dst, ev.Words())
	case llm.EventClaim:
		if ev.RawOf != Name {
			return e.claim(dst, ev.Claim)
		}
	case llm.EventSearch:
		if ev.RawOf != Name {
			return e.search(dst, ev.Search)
		}
	}
	return dst
}

// begin writes the first event of a stream, followed by a ping, as the vendor does.
func (e *Encoder) begin(dst []byte) []byte {
	if e.begun {
		return dst
	}
	e.begun = true
	dst = append(dst, "event: message_start\ndata: {\"type\":\"message_start\",\"message\":"...)
	dst = appendOpening(dst, e.id, e.model)
	dst = append(dst, `[],"stop_reason":null,"stop_sequence":null,"usage":`...)
	dst = appendUsage(dst, &e.start, "", nil)
	return append(dst, "}}\n\n"+KeepAlive...)
}

// block opens a block, unless one of its kind is open.
func (e *Encoder) block(dst []byte, kind llm.PartKind, opening string) []byte {
	if e.open == kind {
		return dst
	}
	dst = e.openBlock(dst, kind)
	return append(append(dst, opening...), "}\n\n"...)
}

// openBlock closes the open block and begins another, up to its object.
func (e *Encoder) openBlock(dst []byte, kind llm.PartKind) []byte {
	dst = e.stop(e.begin(dst))
	e.open, e.signed, e.cited = kind, false, false
	dst = append(dst, "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":"...)
	dst = rawjson.AppendCount(dst, "", e.blocks)
	e.blocks++
	return append(dst, `,"content_block":`...)
}

// stop ends the open block.
func (e *Encoder) stop(dst []byte) []byte {
	if e.open == 0 {
		return dst
	}
	if e.open == llm.PartReasoning && !e.signed && proof.IsForeign(e.maker, Name) {
		// the signature identifies the maker in later requests
		dst = e.sign(dst, proof.Seal(proof.Proof{Maker: e.maker}))
	}
	e.open = 0
	dst = append(dst, "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":"...)
	return append(rawjson.AppendCount(dst, "", e.blocks-1), "}\n\n"...)
}

// piece writes a delta of a block with one text.
func (e *Encoder) piece(dst []byte, block int64, opening, text string) []byte {
	dst = e.openDelta(dst, block)
	return append(rawjson.AppendString(append(dst, opening...), text), "}}\n\n"...)
}

func (e *Encoder) openDelta(dst []byte, block int64) []byte {
	dst = append(dst, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":"...)
	return append(rawjson.AppendCount(dst, "", block), `,"delta":`...)
}

func (e *Encoder) text(dst []byte, text string) []byte {
	if text == "" {
		return dst
	}
	if e.cited {
		dst = e.stop(dst)
	}
	dst = e.block(dst, llm.PartText, `{"type":"text","text":""}`)
	return e.piece(dst, e.blocks-1, `{"type":"text_delta","text":`, text)
}

// thinking writes a piece of thinking, or its signature, which ends the block. Another vendor's signature is written as
// one string.
func (e *Encoder) thinking(dst []byte, ev *llm.Event) []byte {
	if ev.Text != "" {
		dst = e.openThinking(dst, ev.Maker)
		dst = e.piece(dst, e.blocks-1, `{"type":"thinking_delta","thinking":`, ev.Text)
	}
	signature, redacted := ev.Signature, ev.Redacted
	if proof.IsForeign(ev.Maker, Name) && (signature != "" || redacted != "") {
		signature, redacted = proof.Seal(proof.Proof{Maker: ev.Maker, Signature: signature, Redacted: redacted}), ""
		if e.open != llm.PartReasoning || e.signed { // thinking without text
			signature, redacted = "", signature
		}
	}
	if signature != "" {
		dst = e.sign(e.openThinking(dst, ev.Maker), signature)
	}
	if redacted != "" {
		dst = e.redacted(dst, redacted)
	}
	return dst
}

// openThinking opens a thinking block, unless an unsigned one is open.
func (e *Encoder) openThinking(dst []byte, maker string) []byte {
	if e.signed {
		dst = e.stop(dst)
	}
	dst = e.block(dst, llm.PartReasoning, `{"type":"thinking","thinking":"","signature":""}`)
	e.maker = maker
	return dst
}

// sign ends the thinking of the open block.
func (e *Encoder) sign(dst []byte, signature string) []byte {
	e.signed = true
	return e.piece(dst, e.blocks-1, `{"type":"signature_delta","signature":`, signature)
}

// redacted writes a redacted thinking block.
func (e *Encoder) redacted(dst []byte, data string) []byte {
	dst = e.openBlock(dst, llm.PartReasoning)
	e.signed = true
	dst = rawjson.AppendString(append(dst, `{"type":"redacted_thinking","data":`...), data)
	return e.stop(append(dst, "}}\n\n"...))
}

// signature writes another vendor's signature of a text or a call.
func (e *Encoder) signature(dst []byte, ev *llm.Event, of string) []byte {
	if ev.Signature == "" {
		return dst
	}
	return e.redacted(dst, proof.Seal(proof.Proof{Maker: ev.Maker, Of: of, Signature: ev.Signature}))
}

// toolCall opens a call or continues one. It ignores pieces after the end of a call, and after arguments that are not
// an object. Another vendor's signature of a call precedes it, or follows if it arrives later.
func (e *Encoder) toolCall(dst []byte, ev *llm.Event) []byte {
	at := ev.Tool.Index
	c := e.call(at)
	opens := !c.begun
	if opens {
		c.begun, c.id, c.held = true, ev.Tool.ID, nil
		e.size += len(c.id)
		dst = e.signature(dst, ev, proof.OfCall+c.id)
		dst = e.openBlock(dst, llm.PartToolCall)
		dst = rawjson.AppendString(append(dst, `{"type":"tool_use","id":`...), ev.Tool.ID)
		dst = rawjson.AppendString(append(dst, `,"name":`...), ev.Tool.Name)
		dst = append(dst, `,"input":{}}`+"}\n\n"...)
		e.current = at
	}
	if ev.Text != "" && at == e.current && e.open == llm.PartToolCall {
		if c.arguments.Add(ev.Text) {
			dst = e.piece(dst, e.blocks-1, `{"type":"input_json_delta","partial_json":`, ev.Text)
		}
	}
	if opens || ev.Signature == "" {
		return dst
	}
	sealed := proof.Seal(proof.Proof{Maker: ev.Maker, Of: proof.OfCall + c.id, Signature: ev.Signature})
	return e.Append(dst, &llm.Event{Kind: llm.EventReasoning, Redacted: sealed, Maker: Name})
}

// call returns the call at that position.
func (e *Encoder) call(at int) *call {
	for len(e.calls) <= at {
		e.calls = append(e.calls, call{})
	}
	return &e.calls[at]
}

// other writes an unmodelled frame of this format with the index of its block in this stream.
func (e *Encoder) other(dst, raw []byte) []byte {
	name, member := "content_block_start", "content_block"
	content := rawjson.Get(raw, member)
	switch {
	case content != nil:
		dst = e.stop(e.begin(dst))
		e.open = llm.PartOther
		if rawjson.Text(rawjson.Get(content, "type")) == "text" {
			e.open = llm.PartText
		}
		e.blocks++
	case rawjson.Get(raw, "delta") != nil:
		name, member = "content_block_delta", "delta"
		content = rawjson.Get(raw, member)
		if e.open == 0 { // a text may consist of only a citation
			dst = e.block(dst, llm.PartText, `{"type":"text","text":""}`)
		}
	default:
		return dst
	}
	data := append(append([]byte(`{"type":"`), name...), `","index":`...)
	data = append(rawjson.AppendCount(data, "", e.blocks-1), `,"`...)
	data = append(append(append(data, member...), `":`...), content...)
	return sse.Append(dst, name, append(data, '}')) // it may have line breaks
}

// Finish writes the finish reason, the usage and the end marker.
func (e *Encoder) Finish(dst []byte, f *llm.Final) []byte {
	c := llm.Choice{Stopped: f.Stopped}
	if len(f.Finish) > 0 {
		c.Finish = f.Finish[0]
	}
	if e.refused && c.Finish == llm.FinishStop {
		c.Finish = llm.FinishContentFilter
	}
	if e.full {
		c.Finish = llm.FinishLength
	}
	dst = e.stop(e.begin(e.release(dst, true)))
	dst = append(dst, "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{"...)
	dst = append(appendStop(dst, &c), '}')
	if f.Reported {
		dst = appendDeltaUsage(append(dst, `,"usage":`...), &f.Usage, f.Cost)
	}
	dst = stamp.Attempts(dst, f)
	dst = append(dst, "}\n\n"...)
	return append(dst, EndMarker...)
}

// Fail writes an in-band error. No end marker follows.
func (e *Encoder) Fail(dst []byte, err *llm.Error) []byte {
	return sse.Append(dst, "error", EncodeError(nil, err, e.id))
}
