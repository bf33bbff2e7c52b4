package gateway

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"

	"weir/internal/dialect"
	"weir/internal/llm"
	"weir/internal/provider"
)

const (
	// maxFrame bounds one event of a provider's stream.
	maxFrame = 8 << 20
	// keepReply is the largest reply buffer that returns to the pool.
	keepReply = 256 << 10
)

// relayWhole settles a whole reply and sends it to the client.
func (x *exchange) relayWhole(a *attempt, resp *provider.Response) error {
	in := x.in
	body, err := x.readWhole(resp)
	x.measured.got = in.server.now()
	if err != nil {
		return err
	}
	w := wholeReply{attempt: a, body: body, unread: x.content == nil && a.resumes == nil && !in.loops}
	defer w.release()
	if err = w.read(in.server.bounds, &in.held, resp); err == nil {
		err = a.refuseServed()
	}
	if err != nil {
		if w.measured != nil {
			w.outcome() // the provider may charge a text that it has not counted
		}
		return err
	}
	if in.Op.ObjectCalls && a.Spoken != in.Op {
		if tool, is := malformedCall(w.reply); is {
			return provider.MalformedCall(tool)
		}
	}
	x.spent.reached = true
	if a.resumes != nil {
		return x.continueWhole(a, w.reply)
	}
	x.settleWhole(&w, resp)
	w.collect(x.content, in)
	switch {
	case in.Head.Stream && in.Op.DecodeRequest != nil:
		x.sendEvents(&w)
	case in.Head.Stream && !x.out.withdraw():
		x.sendOneEvent(&w)
	case a.Spoken.Raw:
		x.sendWhole(&w, resp.Header.Get("Content-Type"))
	default:
		x.sendWhole(&w, "")
	}
	return nil
}

// readWhole reads a whole reply, within the memory of its account.
func (x *exchange) readWhole(resp *provider.Response) ([]byte, error) {
	defer resp.Body.Close() //nolint:errcheck // it has been read
	resp.Lend(x.room)
	for {
		if err := x.in.held.ArriveWhole(resp.Came()); err != nil {
			return nil, err
		}
		body, whole, err := resp.ReadMore(x.reading.draining.Load())
		if err != nil {
			return nil, err
		}
		if whole {
			x.room = body
			return body, nil
		}
	}
}

// settleWhole settles an attempt by its whole reply, and passes the reply to repeats of the request if the client has
// left.
func (x *exchange) settleWhole(w *wholeReply, resp *provider.Response) {
	a := w.attempt
	var late *lateReply
	if x.reading.hangUp.end() {
		late = a.lateReply(&x.called, x.spent.models)
		late.read(a, resp, w.body)
	}
	w.ready()
	x.choice.plan.Succeeded(x.measured.got, 0)
	s := w.outcome().Succeeded()
	findMissed(a, &s)
	x.settle(s)
	x.cache.judge(x, a, &s)
	if w.usage = s.Usage; late != nil {
		late.usage, late.spent.money, late.spent.priced = s.Usage, x.spent.money, x.spent.priced
		x.reading.hangUp.give(x.in, late)
	}
}

// sendWhole sends the reply; an empty contentType means JSON.
func (x *exchange) sendWhole(w *wholeReply, contentType string) {
	in := x.in
	buf := in.server.encoders.Get().(*[]byte)
	defer func() {
		if cap(*buf) <= keepReply {
			clear(*buf) // as for a request's body
			in.server.encoders.Put(buf)
		}
	}()
	*buf = w.encode((*buf)[:0], &x.spent, &x.called)
	x.values = w.attempt.answered(&x.spent)
	headers := &x.values
	if cost := x.spent.cost(); cost != nil {
		headers.Cost = cost.String()
	}
	headers.Type = contentType
	fields := in.answerHeaders(headers, cmp.Or(contentType, "application/json"))
	fields.SetNumber("Content-Length", int64(len(*buf)))
	h := in.w.Header()
	if !x.idem.keep(headers, *buf) {
		h["Idempotent-Kept"] = []string{"false"}
	}
	x.cache.keepWhole(*buf, contentType)
	if !in.kept.keep(*buf) {
		h["X-Weir-Kept"] = []string{"false"}
	}
	x.releaseBody()                 // however long the client takes
	in.w.WriteHeader(http.StatusOK) // also before an empty body: the headers lie in memory that is used again
	dialect.WriteBody(in.w, *buf, in.server.timing.Write)
}

// sendEvents answers a request for a stream with events built from the reply.
func (x *exchange) sendEvents(w *wholeReply) {
	var out []byte
	for i := range w.reply.Choices {
		for _, e := range eventsOf(&w.reply.Choices[i]) {
			out = x.out.encoder.Append(out, &e)
		}
	}
	x.idem.streamed()
	out = x.out.encoder.Finish(out, x.spent.final(&w.attempt.tally, &w.usage))
	x.in.kept.keepEncoded(x.out.encoder)
	x.out.end(out)
}

// sendOneEvent answers a request for a stream, after comments were sent, with a reply that has no translation: as one
// event if it is JSON, else by an error.
func (x *exchange) sendOneEvent(w *wholeReply) {
	in := x.in
	var line bytes.Buffer // without line breaks
	if json.Compact(&line, w.body) != nil {
		x.out.fail(&llm.Error{
			Code:    llm.CodeProviderError,
			Message: "The model does not support streaming. Send the request without \"stream\".",
		})
		return
	}
	x.idem.streamed()
	final := x.spent.final(&w.attempt.tally, &w.usage)
	data := w.attempt.Spoken.Stamp(nil, withoutCost(in.principal, line.Bytes()), final)
	x.out.write(append(in.Op.Framing.Append(nil, "", data), in.Op.EndMarker...))
}
