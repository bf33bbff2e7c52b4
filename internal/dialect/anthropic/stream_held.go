package anthropic

import (
	"cmp"

	"weir/internal/llm"
)

const (
	// maxHeld bounds, in bytes, the blocks of a stream that wait for the open call to end. An answer with more ends there,
	// as one that a cap cut.
	maxHeld = 8 << 20
	// blockSize is what such a block takes beside its text.
	blockSize = 512
)

// heldBlock is a block that began while a call was open whose arguments had not come to their end: in this format one
// block follows another, and providers let calls take turns.
type heldBlock struct {
	event llm.Event // but its text
	text  []byte
}

// isBusy reports whether the open block is a call whose arguments go on.
func (e *Encoder) isBusy() bool {
	return e.open == llm.PartToolCall && e.current < len(e.calls) && !e.calls[e.current].arguments.Ended()
}

// waits reports whether a piece has to wait for the open call.
func (e *Encoder) waits(ev *llm.Event) bool {
	return ev.Kind.IsPiece() && e.isBusy() && (ev.Kind != llm.EventToolCall || ev.Tool.Index != e.current)
}

// hold keeps a piece for later, as part of the block to which it belongs.
func (e *Encoder) hold(ev *llm.Event) {
	b := e.heldFor(ev)
	e.size += len(ev.Text) + len(ev.Signature) + len(ev.Redacted) + len(ev.Raw)
	if b == nil {
		e.size += blockSize
	}
	if ev.Claim != nil {
		e.size += ev.Claim.Source.Size()
	}
	if ev.Search != nil {
		e.size += ev.Search.Size()
	}
	if e.full = e.size > maxHeld; e.full {
		return
	}
	if b == nil {
		b = &heldBlock{event: *ev}
		b.event.Raw = append([]byte(nil), ev.Raw...)
		e.held = append(e.held, b)
		if ev.Kind == llm.EventToolCall {
			e.call(ev.Tool.Index).held = b
		}
	}
	b.text = append(b.text, ev.Text...)
	b.event.Signature = cmp.Or(ev.Signature, b.event.Signature)
}

// heldFor is the block that is held which a piece continues; nil for none.
func (e *Encoder) heldFor(ev *llm.Event) *heldBlock {
	if ev.Kind == llm.EventToolCall {
		return e.call(ev.Tool.Index).held
	}
	if len(e.held) == 0 {
		return nil
	}
	b := e.held[len(e.held)-1]
	if b.event.Kind != ev.Kind || b.event.Maker != ev.Maker || b.event.Signature != "" || b.event.Redacted != "" ||
		ev.Redacted != "" || ev.Kind == llm.EventOther {
		return nil
	}
	return b
}

// release writes the blocks that are held, in their order: all of them, or up to the next call that goes on.
func (e *Encoder) release(dst []byte, all bool) []byte {
	for len(e.held) > 0 && (all || !e.isBusy()) {
		b := e.held[0]
		e.held = e.held[1:]
		b.event.Text = string(b.text)
		e.size -= len(b.text) + blockSize
		dst = e.write(dst, &b.event)
	}
	return dst
}
