package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"weir/internal/capacity"
	"weir/internal/dialect"
	"weir/internal/dialect/parse"
	"weir/internal/dialect/stamp"
	"weir/internal/llm"
	"weir/internal/provider"
	"weir/internal/quote"
	"weir/internal/rawjson"
	"weir/internal/sse"
)

const (
	freeKept    = 4 << 10  // bytes of a stream's state that need no reservation
	usualPiece  = 16 << 10 // bytes sent at once, at most as a rule
	usualEvents = 32       // events in one such piece, at most as a rule
)

// mostNames bounds the names in one event, in bytes: ids, the model, the tier, a tool's name.
const mostNames = 8 << 10

var errNames = fmt.Errorf("gateway: the names in an event exceed %d bytes", mostNames)

// relayStream relays a stream piece by piece. If client and provider use the same wire format, the bytes pass unchanged
// and the decoder only reads along.
//
// Stage 11: relay.
func (c *call) relayStream(a *attempt, resp *provider.Response) error {
	from := a.Spoken
	r := relay{
		call: c, attempt: a, same: a.passes() && a.resumes == nil,
		reader:  from.Framing.NewReader(resp.Body, maxFrame),
		decoder: from.NewDecoder(a.Quirks),
		stream:  c.out, tally: &a.tally,
	}
	a.answer.Events = r.reader
	r.tally.Status, r.tally.Text = resp.Status, freeKept
	a.servedAs(resp)
	c.upstream.ending.Store(false)
	err := r.run()
	if err == nil {
		err = r.judge()
	}
	c.spent.reached = true
	if err == nil {
		return r.finish()
	}
	r.breakOff()
	return err
}

// relay is the relay of one stream.
type relay struct {
	call    *call
	attempt *attempt
	same    bool
	reader  dialect.Frames
	decoder dialect.Decoder
	stream  *clientStream
	tally   *quote.Tally
	events  []llm.Event
	out     []byte
	last    []byte    // last event passed through, for an encoder that may have to continue behind it
	held    sse.Event // event with the final usage, held back until the settlement
	asked   bool      // held is present only because the gateway requested usage
	calls   heardCalls
	aborted bool   // the provider aborted the answer: later events count but are not sent on
	end     []byte // the provider's end marker, held back until the settlement
}

// run relays until the answer is whole. It returns the error that interrupted the answer.
func (r *relay) run() error {
	for {
		frame, err := r.reader.Next()
		if err != nil && r.tally.Whole() && !r.call.client.Gone() {
			return nil // only the end marker is missing
		}
		if errors.Is(err, io.EOF) {
			return provider.Truncated()
		}
		if err != nil {
			return err
		}
		if err := r.take(frame); err != nil {
			return err
		}
		if r.tally.Done {
			break // the rest is sent with the end and reserves memory until then
		}
		large := len(frame.Raw) > capacity.FreeEvent
		if large || !r.reader.Buffered() {
			r.flush(large)
		}
		if err := r.keep(); err != nil {
			return err
		}
	}
	if !r.tally.Whole() {
		return provider.Truncated()
	}
	return nil
}

// judge returns the failure of an answer that is whole but invalid; nil if it is valid.
func (r *relay) judge() error {
	if r.aborted {
		return provider.Aborted()
	}
	if tool, is := r.calls.malformed(r.tally.Finish); is {
		return provider.MalformedCall(tool)
	}
	return nil
}

// flush sends the buffered output and drops buffers that have grown beyond a usual piece.
func (r *relay) flush(large bool) {
	if len(r.out) > 0 {
		r.stream.write(r.out)
		r.out = r.out[:0]
	}
	if large || cap(r.out) > usualPiece || cap(r.last) > usualPiece || cap(r.events) > usualEvents {
		if len(r.last) > 0 {
			r.follow(sse.Event{Data: r.last})
		}
		r.out, r.events, r.last = nil, nil, nil
	}
	r.call.held.Sent()
}

// keep reserves memory for the state that stays until the answer has ended. It waits if no memory is free.
func (r *relay) keep() error {
	n := len(r.held.Data) + len(r.end) + min(r.calls.size, mostArguments)
	if s, ok := r.stream.encoder.(dialect.Sized); ok {
		n += s.Size()
	}
	if s, ok := r.decoder.(dialect.Sized); ok {
		n += s.Size()
	}
	if n <= freeKept {
		return nil
	}
	return r.call.held.Keep(capacity.EventCopies * int64(n))
}

// remember reserves memory for n bytes more of stored text: for the tally, which counts tokens if the provider reports
// no usage, and for a rescue, which continues behind the text. If no memory is free, the text is not stored.
func (r *relay) remember(n int) {
	t, w, held := r.tally, &r.call.rescue.words, &r.call.held
	if more := t.Kept() + n - t.Text; more > 0 && t.Text < quote.MostText {
		t.Text += held.KeepText(more)
	}
	if more := len(w.text) + n - w.counted - freeKept; more > 0 && w.on && !w.other {
		got := held.KeepText(more)
		w.counted += got
		w.other = got == 0
	}
}

// take decodes one frame and appends it, or its translation, to out. Events that come with an error count, too.
func (r *relay) take(frame sse.Event) error {
	events, err := r.decoder.Decode(r.events[:0], frame)
	r.events = events
	r.tally.Begun = r.tally.Begun || !r.isIdle(frame, err)
	r.aborted = r.aborted || aborts(events)
	f := frameKind{usageOnly: len(events) > 0, empty: len(events) == 0}
	for i := range events {
		e := &events[i]
		passes, failure := r.event(e)
		if failure != nil {
			return failure
		}
		f.note(e)
		if passes && !r.same && (e.Kind.IsPiece() || e.Kind == llm.EventStart) {
			if e.Kind == llm.EventToolCall {
				r.attempt.namer().Event(e)
			}
			r.out = r.stream.encoder.Append(r.out, e)
		}
	}
	if f.finish && r.tally.Whole() {
		r.call.upstream.ending.Store(true)
	}
	if r.same && err == nil && !r.aborted {
		r.forward(frame, f)
	}
	return err
}

// aborts reports whether one of the events ends an answer, or one of its choices, by a failure.
func aborts(events []llm.Event) bool {
	for i := range events {
		if events[i].Kind == llm.EventFinish && events[i].Finish == llm.FinishError {
			return true
		}
	}
	return false
}

// isIdle reports whether a frame shows that the provider has not worked yet.
func (r *relay) isIdle(frame sse.Event, err error) bool {
	switch idle := r.attempt.Spoken.Idle; {
	case rawjson.Validate(frame.Data, parse.MaxDepth) != nil:
		return true // an error that is not JSON, an end marker, or no answer at all
	case idle != nil:
		return idle(frame)
	}
	return err != nil && len(r.events) == 0
}

// event records an event and reports whether it is sent to the client.
func (r *relay) event(e *llm.Event) (passes bool, err error) {
	c := r.call
	if n := len(e.ID) + len(e.Model) + len(e.Tier) + len(e.Tool.ID) + len(e.Tool.Name); n > mostNames {
		return false, errNames
	}
	if r.tally.FirstToken == 0 && e.Kind.IsPiece() {
		r.tally.FirstToken = c.server.ledger.Now().Sub(r.attempt.hold.Attempt().Opened)
		c.plan.Release() // the target answers, however long the client takes
	}
	r.remember(len(e.Text) + len(e.Tool.Name))
	if r.tally.Add(e); r.aborted {
		return false, nil
	}
	if r.attempt.resumes != nil {
		if passes, err = r.attempt.resumes.pass(e); err != nil || !passes {
			return false, err
		}
	}
	if c.Op.ObjectCalls && !r.same {
		r.calls.add(e)
	}
	c.rescue.words.add(e)
	return true, nil
}

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
	if frame = r.named(frame); r.call.principal.Charged() {
		if frame = r.shown(frame); frame.Raw == nil {
			return
		}
	}
	if r.tally.Done && !f.usage && (!f.finish || r.isEndMarker(frame)) {
		r.end = r.call.Op.Framing.Append(nil, string(frame.Name), frame.Data)
		return
	}
	r.releaseHeld()
	told := f.usage || f.finish && r.call.Op.HasUsage(frame.Data) // believed or not
	last := told && f.finish
	if f.alone && !r.call.Head.IncludeUsage && !r.tally.Whole() {
		return // usage of one of several choices, which only the gateway requested
	}
	if (told || f.empty) && (last || !f.content) && (f.alone || r.tally.Whole()) {
		r.held.Name, r.held.Data = bytes.Clone(frame.Name), append(r.held.Data[:0], frame.Data...)
		r.asked = f.usageOnly && !r.call.Head.IncludeUsage
		return
	}
	if f.finish {
		r.call.kept.keepEvent(frame.Data)
	}
	if r.asksUsage() {
		r.out = rawjson.AppendWithoutNull(r.out, frame.Raw, `"usage"`)
	} else {
		r.out = append(r.out, frame.Raw...)
	}
	if f.start || r.call.rescue.words.on {
		r.follow(frame)
		return
	}
	r.last = append(r.last[:0], frame.Data...)
}

// asksUsage reports whether only the gateway requested the usage of a stream. Its client does not know the null usage
// that all other pieces then have (Mistral's SDK refuses it).
func (r *relay) asksUsage() bool { return r.call.Op.Op == llm.OpChat && !r.call.Head.IncludeUsage }

// isEndMarker reports whether a frame is the wire format's end marker.
func (r *relay) isEndMarker(frame sse.Event) bool {
	op := r.call.Op
	return string(op.Framing.Append(nil, string(frame.Name), frame.Data)) == op.EndMarker
}

// shown returns a frame as the client of an account with a price list may see it: its data without a cost, and without
// comments and unknown fields, since these may reveal the cost, too. It returns the zero frame if nothing is left: for
// data that are not JSON, except the end marker, and for data with only a cost.
func (r *relay) shown(frame sse.Event) sse.Event {
	framing, data := r.call.Op.Framing, r.call.withoutCost(frame.Data)
	name := stamp.EventName(frame.Name)
	raw := framing.Append(nil, name, data)
	if string(raw) != r.call.Op.EndMarker &&
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
	d, data := r.call.Op, r.held.Data
	if final != nil {
		data = d.Stamp(nil, data, final)
		r.call.kept.keepEvent(data)
	}
	r.out = d.Framing.Append(r.out, string(r.held.Name), data)
}

// finish settles a whole answer and sends its end.
func (r *relay) finish() error {
	c := r.call
	c.plan.Succeeded(c.server.now(), r.tally.FirstToken)
	s := r.attempt.outcome().Succeeded()
	c.settle(s)
	c.idem.streamed()
	final := c.final(r.tally, c.rescue.usageOfAll(&s.Usage))
	if !r.same {
		r.out = r.stream.encoder.Finish(r.out, final)
		c.kept.keepEncoded(r.stream.encoder)
		r.stream.write(r.out)
		return nil
	}
	r.appendHeld(final)
	if r.end == nil {
		r.end = []byte(c.Op.EndMarker)
	}
	r.stream.write(append(r.out, r.end...))
	return nil
}

// breakOff sends the buffered part of an interrupted answer. If the client has not received any of it, the part is held
// back, because another target may start a new answer.
func (r *relay) breakOff() {
	if len(r.last) > 0 {
		r.follow(sse.Event{Data: r.last})
	}
	switch {
	case len(r.out) == 0:
	case r.stream.committed():
		r.stream.write(r.out)
	default:
		r.stream.pending = r.out
	}
}
