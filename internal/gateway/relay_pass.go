package gateway

import (
	"bytes"

	"weir/internal/dialect"
	"weir/internal/dialect/parse"
	"weir/internal/dialect/stamp"
	"weir/internal/llm"
	"weir/internal/rawjson"
	"weir/internal/sse"
)

// frameKind describes the content of one frame of a provider's stream.
type frameKind struct{ start, usage, usageOnly, alone, content, finish, empty bool }

func (f *frameKind) note(e *llm.Event) {
	f.start = f.start || e.Kind == llm.EventStart
	f.usage = f.usage || e.Kind == llm.EventUsage
	f.usageOnly = f.usageOnly && e.Kind == llm.EventUsage
	f.alone = f.alone || e.Kind == llm.EventUsage && e.Alone
	f.content = f.content || e.Kind.IsPiece()
	f.finish = f.finish || e.Kind == llm.EventFinish
}

// forward passes a frame through, but holds back the parts that must follow the settlement: the end marker and the
// final usage. In some wire formats the end marker holds the usage. The frame that ends the answer, or an empty frame
// behind it, may hold a usage that is not believed; it is held back as well, since it is stamped with the cost of
// Weir's own count. Content is held back only if the event that ends the answer has both content and usage, as Gemini's
// last event does: only the end of the body follows it.
func (r *relay) forward(frame sse.Event, f frameKind) {
	if frame = r.named(frame); r.in.principal.Charged() {
		if frame = r.shown(frame); frame.Raw == nil {
			return
		}
	}
	if r.tally.Done && !f.usage && (!f.finish || r.isEndMarker(frame)) {
		r.end = r.in.Op.Framing.Append(nil, string(frame.Name), frame.Data)
		return
	}
	r.releaseHeld()
	told := f.usage || f.finish && r.in.Op.HasUsage(frame.Data) // believed or not
	last := told && f.finish
	if f.alone && !r.in.Head.IncludeUsage && !r.tally.Whole() {
		return // usage of one of several choices, which only the gateway requested
	}
	if (told || f.empty) && (last || !f.content) && (f.alone || r.tally.Whole()) {
		r.held.Name, r.held.Data = bytes.Clone(frame.Name), append(r.held.Data[:0], frame.Data...)
		r.asked = f.usageOnly && !r.in.Head.IncludeUsage
		return
	}
	if f.finish {
		r.in.kept.keepEvent(frame.Data)
	}
	if r.asksUsage() {
		r.out = rawjson.AppendWithoutNull(r.out, frame.Raw, `"usage"`)
	} else {
		r.out = append(r.out, frame.Raw...)
	}
	if f.start || r.words.on {
		r.follow(frame)
		return
	}
	r.last = append(r.last[:0], frame.Data...)
}

// asksUsage reports whether only the gateway requested the usage of a stream. Its client does not know the null usage
// that all other pieces then have (Mistral's SDK refuses it).
func (r *relay) asksUsage() bool { return r.in.Op.Op == llm.OpChat && !r.in.Head.IncludeUsage }

// isEndMarker reports whether a frame is the wire format's end marker.
func (r *relay) isEndMarker(frame sse.Event) bool {
	op := r.in.Op
	return string(op.Framing.Append(nil, string(frame.Name), frame.Data)) == op.EndMarker
}

// shown returns a frame as the client of an account with a price list may see it: its data without a cost, and without
// comments and unknown fields, since these may reveal the cost, too. It returns the zero frame if nothing is left: for
// data that are not JSON, except the end marker, and for data with only a cost.
func (r *relay) shown(frame sse.Event) sse.Event {
	framing, data := r.in.Op.Framing, withoutCost(r.in.principal, frame.Data)
	name := stamp.EventName(frame.Name)
	raw := framing.Append(nil, name, data)
	if string(raw) != r.in.Op.EndMarker &&
		(rawjson.Validate(data, parse.MaxDepth) != nil || len(data) < len(frame.Data) && isEmpty(data)) {
		return sse.Event{}
	}
	return sse.Event{Name: []byte(name), Data: data, Raw: raw}
}

// isEmpty reports whether an object has no member.
func isEmpty(object []byte) bool {
	for range rawjson.Members(object) {
		return false
	}
	return true
}

// follow passes an event that was passed through to the encoder. The encoder needs the first and the last one to report
// an error in the end; it needs each if an interrupted answer may be continued.
func (r *relay) follow(frame sse.Event) {
	if f, ok := r.stream.encoder.(dialect.Follower); ok {
		f.Follow(frame)
	}
}

// releaseHeld sends the held event, which was not the last of its kind.
func (r *relay) releaseHeld() {
	r.appendHeld(nil)
	r.held.Data = r.held.Data[:0]
}

// appendHeld appends the held event to out, unless the client did not request it. If it is the end of the answer, it is
// stamped with final.
func (r *relay) appendHeld(final *llm.Final) {
	if len(r.held.Data) == 0 || r.asked {
		return
	}
	d, data := r.in.Op, r.held.Data
	if final != nil {
		data = d.Stamp(nil, data, final)
		r.in.kept.keepEvent(data)
	}
	r.out = d.Framing.Append(r.out, string(r.held.Name), data)
}
