package gateway

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"weir/internal/capacity"
	"weir/internal/contentlog"
	"weir/internal/dialect"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/provider"
	"weir/internal/quote"
	"weir/internal/rawjson"
	"weir/internal/route"
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
// and the decoder only reads along. If the answer is interrupted before the client has received any of it, unsent is
// the part that has arrived.
//
// Stage 11: relay.
func (x *exchange) relayStream(a *attempt, resp *provider.Response) (unsent []byte, err error) {
	a.answer = capacity.Arriving{ReadCloser: resp.Body, Held: &x.in.held}
	r := x.relay(a)
	r.same = a.passes() && a.resumes == nil
	r.reader = a.Spoken.Framing.NewReader(&a.answer, maxFrame)
	r.decoder = a.Spoken.NewDecoder(a.Quirks)
	a.answer.Events = r.reader
	r.tally.Status, r.tally.Text = resp.Status, freeKept
	a.tally.ServedAs(tierOf(a.Speaks, resp))
	x.reading.ending.Store(false)
	if err = r.run(); err == nil {
		err = r.judge()
	}
	x.spent.reached = true
	if err != nil {
		return r.breakOff(), err
	}
	x.finishStream(&r)
	return nil, nil
}

// relay returns the relay of a stream without its parts for reading.
func (x *exchange) relay(a *attempt) relay {
	return relay{
		in: x.in, attempt: a, plan: &x.choice.plan, words: &x.rescue.words, ending: &x.reading.ending,
		stream: x.out, tally: &a.tally, content: x.content,
	}
}

// finishStream settles a whole answer and sends its end.
func (x *exchange) finishStream(r *relay) {
	x.choice.plan.Succeeded(x.in.server.now(), r.tally.FirstToken)
	s := r.attempt.outcome().Succeeded()
	findMissed(r.attempt, &s)
	x.settle(s)
	x.cache.judge(x, r.attempt, &s)
	x.idem.streamed()
	r.finish(x.spent.final(r.tally, x.rescue.usageOfAll(&s.Usage, r.attempt.resumes.onBehind())))
}

// relay is the relay of one stream.
type relay struct {
	in      *intake
	attempt *attempt
	plan    *route.Plan // of the request
	words   *words      // text that another target may have to continue
	content *contentlog.Capture
	ending  *atomic.Bool // set when the answer is whole except for its usage and end marker
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
		if err != nil && r.tally.Whole() && !r.in.client.Gone() {
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
	r.in.held.Sent()
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
	return r.in.held.Keep(capacity.EventCopies * int64(n))
}

// remember reserves memory for n bytes more of stored text: for the tally, which counts tokens if the provider reports
// no usage, and for a rescue, which continues behind the text. If no memory is free, the text is not stored.
func (r *relay) remember(n int) {
	t, w, held := r.tally, r.words, &r.in.held
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
				r.attempt.ids.get().Event(e)
			}
			r.out = r.stream.encoder.Append(r.out, e)
		}
	}
	if f.finish && r.tally.Whole() {
		r.ending.Store(true)
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
	if n := len(e.ID) + len(e.Model) + len(e.Tier) + len(e.Tool.ID) + len(e.Tool.Name); n > mostNames {
		return false, errNames
	}
	if r.tally.FirstToken == 0 && e.Kind.IsPiece() {
		r.tally.FirstToken = r.in.server.ledger.Now().Sub(r.attempt.hold.Attempt().Opened)
		r.plan.Release() // the target answers, however long the client takes
	}
	r.remember(len(e.Text) + len(e.Tool.Name))
	if r.tally.Add(e); r.aborted {
		return false, nil
	}
	if e.Kind == llm.EventStart {
		if err := r.attempt.refuseServed(); err != nil {
			return false, err
		}
	}
	if r.attempt.resumes != nil {
		if passes, err = r.attempt.resumes.pass(e); err != nil || !passes {
			return false, err
		}
	}
	if r.in.Op.ObjectCalls && !r.same {
		r.calls.add(e)
	}
	r.words.add(e)
	r.content.Event(e)
	return true, nil
}

// finish sends the end of a whole answer that has been settled.
func (r *relay) finish(final *llm.Final) {
	if !r.same {
		r.out = r.stream.encoder.Finish(r.out, final)
		r.in.kept.keepEncoded(r.stream.encoder)
		r.stream.end(r.out)
		return
	}
	r.appendHeld(final)
	if r.end == nil {
		r.end = []byte(r.in.Op.EndMarker)
	}
	r.stream.end(append(r.out, r.end...))
}

// breakOff sends the buffered part of an interrupted answer. If the client has not received any of it, it returns the
// part, because another target may start a new answer.
func (r *relay) breakOff() (unsent []byte) {
	if len(r.last) > 0 {
		r.follow(sse.Event{Data: r.last})
	}
	if len(r.out) == 0 || !r.stream.committed() {
		return r.out
	}
	r.stream.write(r.out)
	return nil
}
