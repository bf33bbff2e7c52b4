package anthropic

import (
	"cmp"

	"weir/internal/llm"
)

const (
	// maxHeld bounds, in bytes, the blocks of a stream that wait for the open call to end. A longer answer ends there
	// as if cut by a cap.
	maxHeld = 8 << 20
	// blockSize is the memory of such a block in addition to its text.
	blockSize = 512
)

// heldBlock is a block that began while a call with incomplete arguments was open: blocks of this format follow one
// another, but providers interleave calls.
type heldBlock struct {
	event llm.Event // without its text
	text  []byte
}

// isBusy reports whether the open block is a call with incomplete arguments.
func (e *Encoder) isBusy() bool {
	return e.open == llm.PartToolCall && e.current < len(e.calls) && !e.calls[e.current].arguments.Ended()
}

// waits reports whether a piece must wait for the open call.
func (e *Encoder) waits(ev *llm.Event) bool {
	return ev.Kind.IsPiece() && e.isBusy() && (ev.Kind != llm.EventToolCall || ev.Tool.Index != e.current)
}

// hold stores a piece as part of its block.
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

// heldFor returns the held block that a piece continues, or nil.
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

// release writes the held blocks in order: all of them, or up to the next incomplete call.
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
