package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"weir/internal/dialect"
	"weir/internal/dialect/parse"
	"weir/internal/dialect/stamp"
	"weir/internal/llm"
	"weir/internal/provider"
	"weir/internal/quote"
	"weir/internal/rawjson"
	"weir/internal/sse"
)

// mostNames bounds the names in one event, in bytes: ids, the model, the tier, a tool's name.
const mostNames = 8 << 10

var errNames = fmt.Errorf("gateway: the names in an event have more than %d bytes", mostNames)

// relayStream passes on a stream piece by piece. Where both ends speak the
// same, the bytes go untouched and the decoder only listens.
//
// Stage 11: relay.
func (c *call) relayStream(a *attempt, resp *provider.Response) error {
	from := a.Spoken
	r := relay{
		call: c, attempt: a, same: from == c.Op && a.resumes == nil,
		reader:  from.Framing.NewReader(resp.Body, maxFrame),
		decoder: from.NewDecoder(a.Quirks),
		stream:  c.out, tally: &a.tally,
	}
	a.answer.events = r.reader
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

// relay is one stream on its way through.
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
	last    []byte    // of what went out as it came, for whoever has to go on behind it
	held    sse.Event // the event with the last usage, which waits for the settlement
	asked   bool      // held is there only because the gateway asked for it
	calls   heardCalls
	aborted bool   // the provider has broken the answer off: what follows counts, and is not passed on
	end     []byte // the provider's own end marker, which waits for the same
}

// run relays until the answer is whole. Its error is what broke it off.
func (r *relay) run() error {
	for {
		frame, err := r.reader.Next()
		if err != nil && r.tally.Whole() && !r.call.client.gone() {
			return nil // what is missing is the end marker, not the answer
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
			break // what is left goes out with the end, and counts until then
		}
		large := len(frame.Raw) > freeEvent
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

// judge says why an answer that is whole is a failure; nil for one that is none.
func (r *relay) judge() error {
	if r.aborted {
		return provider.Aborted()
	}
	if tool, is := r.calls.malformed(r.tally.Finish); is {
		return provider.MalformedCall(tool)
	}
	return nil
}

// flush sends what is there, and lets go of buffers that have grown beyond a usual piece.
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
	r.call.held.passedOn()
}

// keep counts what stays of the answer until it has ended, and waits for memory.
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
	return r.call.held.keep(eventCopies * int64(n))
}

// remember makes room for n bytes more of text that is kept: for the tally, which counts it
// should the provider tell no usage, and for a rescue, which goes on behind it. Where no
// memory is free it is not kept.
func (r *relay) remember(n int) {
	t, w, held := r.tally, &r.call.rescue.words, &r.call.held
	if more := t.Kept() + n - t.Text; more > 0 && t.Text < quote.MostText {
		t.Text += held.keepText(more)
	}
	if more := len(w.text) + n - w.counted - freeKept; more > 0 && w.on && !w.other {
		got := held.keepText(more)
		w.counted += got
		w.other = got == 0
	}
}

// take decodes one frame and puts it, or its translation, into out. What came
// with an error counts too.
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

// isIdle reports whether a frame tells of no work of the provider's.
func (r *relay) isIdle(frame sse.Event, err error) bool {
	switch idle := r.attempt.Spoken.Idle; {
	case rawjson.Validate(frame.Data, parse.MaxDepth) != nil:
		return true // an error that is none of JSON, an end marker, or no answer at all
	case idle != nil:
		return idle(frame)
	}
	return err != nil && len(r.events) == 0
}

// event takes note of an event, and reports whether the client is to have it.
func (r *relay) event(e *llm.Event) (passes bool, err error) {
	c := r.call
	if n := len(e.ID) + len(e.Model) + len(e.Tier) + len(e.Tool.ID) + len(e.Tool.Name); n > mostNames {
		return false, errNames
	}
	if r.tally.FirstToken == 0 && e.Kind.IsPiece() {
		r.tally.FirstToken = c.server.ledger.Now().Sub(r.attempt.hold.Attempt().Opened)
		c.plan.Release() // it answers, whatever time its client takes
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

// frameKind is what one frame of a provider's stream carries.
type frameKind struct{ start, usage, usageOnly, alone, content, finish, empty bool }

func (f *frameKind) note(e *llm.Event) {
	f.start = f.start || e.Kind == llm.EventStart
	f.usage = f.usage || e.Kind == llm.EventUsage
	f.usageOnly = f.usageOnly && e.Kind == llm.EventUsage
	f.alone = f.alone || e.Alone
	f.content = f.content || e.Kind.IsPiece()
	f.finish = f.finish || e.Kind == llm.EventFinish
}

// forward passes a frame on as it came, but keeps back what the settlement
// has to come before: the end marker, and the usage at the end. In some wire
// formats the end marker has the usage in it. The end of the answer, or a frame
// behind it that says nothing, may have a usage in it that is not believed; the
// cost of what was counted in its place stands there, too. Words are kept back only where the
// event that ends the answer has them and the usage, as Gemini's last one does:
// nothing but the end of the body follows it.
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
		return // of one of several choices, which the gateway alone asked for
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

// asksUsage reports whether the gateway alone asked for the usage of a stream: its client knows no usage that is null, which
// all other pieces then have (Mistral's SDK refuses it).
func (r *relay) asksUsage() bool { return r.call.Op.Op == llm.OpChat && !r.call.Head.IncludeUsage }

// isEndMarker reports whether a frame is the wire format's end marker.
func (r *relay) isEndMarker(frame sse.Event) bool {
	op := r.call.Op
	return string(op.Framing.Append(nil, string(frame.Name), frame.Data)) == op.EndMarker
}

// shown is a frame as a client sees it whose account is charged otherwise than the provider charges: its data without a
// cost, and nothing beside them, since comments and fields that no wire format knows may tell it too. It is the zero
// frame where nothing is left: data that are no JSON, but for the end marker, and those of a cost alone.
func (r *relay) shown(frame sse.Event) sse.Event {
	framing, data := r.call.Op.Framing, r.call.withoutCost(frame.Data)
	name := stamp.EventName(frame.Name)
	raw := framing.Append(nil, name, data)
	if string(raw) != r.call.Op.EndMarker && (rawjson.Validate(data, parse.MaxDepth) != nil || len(data) < len(frame.Data) && isEmpty(data)) {
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

// follow tells the encoder of an event that went out as it came. It has to know
// of the first and of the last one, to say in the end what went wrong; of each,
// where an answer that breaks off may go on.
func (r *relay) follow(frame sse.Event) {
	if f, ok := r.stream.encoder.(dialect.Follower); ok {
		f.Follow(frame)
	}
}

// releaseHeld passes on what was kept back and was not the last of its kind.
func (r *relay) releaseHeld() {
	r.appendHeld(nil)
	r.held.Data = r.held.Data[:0]
}

// appendHeld writes what was kept back, unless the client never asked for it;
// with what the end of the answer tells, if this is it.
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

// breakOff sends what is there of an answer that broke off. While the client
// has seen none of it, it is kept back: another target may begin anew.
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
