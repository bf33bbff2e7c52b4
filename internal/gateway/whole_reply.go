package gateway

import (
	"fmt"
	"slices"

	"weir/internal/account"
	"weir/internal/capacity"
	"weir/internal/dialect/parse"
	"weir/internal/dialect/stamp"
	"weir/internal/llm"
	"weir/internal/provider"
	"weir/internal/quote"
	"weir/internal/rawjson"
)

// wholeReply is a whole reply on its way to the client.
type wholeReply struct {
	attempt *attempt
	body    []byte // as the provider sent it
	reply   *llm.Reply
	// measured has the reply if its text was not read; nil if it was.
	measured *llm.Measured
	unread   bool      // the text need not be read, unless the provider did not count it
	usage    llm.Usage // after the settlement
}

// read decodes a whole reply within the server's bounds and the memory and turns of held, and tallies it. Even an
// invalid reply may carry usage, which is tallied.
func (w *wholeReply) read(bounds *parse.Limiter, held *capacity.Held, resp *provider.Response) error {
	if err := w.bound(bounds, held); err != nil {
		return err
	}
	a := w.attempt
	err := w.decode(held)
	a.tally.Status, a.tally.Text = resp.Status, quote.MostText
	a.tally.ServedAs(tierOf(a.Speaks, resp))
	switch {
	case w.measured != nil:
		a.tally.AddMeasured(w.measured)
	case w.reply != nil:
		a.tally.AddReply(w.reply)
	}
	if err != nil {
		return err
	}
	return w.check()
}

// decode decodes the reply in a turn. An invalid reply may be decoded in part.
func (w *wholeReply) decode(held *capacity.Held) (err error) {
	defer held.TurnAnyway(w.work()).End()
	if w.measure() {
		return nil
	}
	w.reply, err = w.attempt.Spoken.DecodeReply(w.body, w.attempt.Quirks)
	return err
}

// measure reads a reply without its text, if it is passed through and nobody reads its text. It reports false for any
// other.
func (w *wholeReply) measure() bool {
	a, in := w.attempt, w.attempt.in
	read := a.Spoken.MeasureReply
	if !w.unread || read == nil || !a.passes() || in.Head.Stream {
		return false
	}
	m := in.server.measured.Get().(*llm.Measured)
	if !read(w.body, a.Quirks, m) {
		in.server.forget(m)
		return false
	}
	w.measured, w.reply = m, &m.Reply
	return true
}

// forget lets another reply use the memory.
func (s *Server) forget(m *llm.Measured) {
	*m = llm.Measured{}
	s.measured.Put(m)
}

// outcome describes the attempt after its reply. It reads a text that has to be counted, because the provider has not
// counted it.
func (w *wholeReply) outcome() quote.Answer {
	a := w.attempt
	answer := a.outcome()
	if w.measured == nil || answer.LastWord() {
		return answer
	}
	reply, err := a.Spoken.DecodeReply(w.body, a.Quirks)
	if err != nil {
		return answer
	}
	a.tally.Unread()
	a.tally.AddReply(reply)
	w.release()
	w.reply = reply
	return a.outcome()
}

// release lets another reply use the memory of a measured one.
func (w *wholeReply) release() {
	if w.measured != nil {
		w.attempt.in.server.forget(w.measured)
		w.measured, w.reply = nil, nil
	}
}

// work returns the work of decoding or translating the reply, in bytes. The numbers of a vector are cheaper than other
// elements.
func (w *wholeReply) work() int {
	if w.attempt.Op.Op == llm.OpEmbed {
		return len(w.body)
	}
	return capacity.TreeWork(w.body)
}

// check returns an error if a decoded reply is no answer to the request.
func (w *wholeReply) check() error {
	a := w.attempt
	if !a.tally.Whole() {
		return provider.Truncated()
	}
	if slices.Contains(a.tally.Finish, llm.FinishError) {
		return provider.Aborted()
	}
	if n := int64(len(w.reply.Vectors)); n > 0 && a.Head.Texts > 0 && n != a.Head.Texts {
		return fmt.Errorf("gateway: %d vectors for %d texts", n, a.Head.Texts)
	}
	return nil
}

// largeAnswer is the size of a whole answer, in bytes. The memory that such answers need is measured before decoding.
const largeAnswer = 256 << 10

// bound reserves the memory that a large answer of a chat needs before it is decoded. It refuses an answer with more
// elements than a request may have.
func (w *wholeReply) bound(bounds *parse.Limiter, held *capacity.Held) error {
	n := len(w.body)
	if n < largeAnswer || w.attempt.Op.Op != llm.OpChat || rawjson.Validate(w.body, parse.MaxDepth) != nil {
		return nil // invalid JSON is not decoded
	}
	size, err := bounds.Measure(w.body)
	if err != nil {
		return fmt.Errorf("gateway: an answer of %d bytes: %s", n, llm.AsError(err).Message)
	}
	return held.AwaitAnswer(size)
}

// ready prepares the reply for its client: it sets missing call ids, and adds "n" to X-Weir-Dropped if the answer has
// fewer choices than requested.
func (w *wholeReply) ready() {
	a := w.attempt
	if n := int64(len(w.reply.Choices)); n > 0 && n < a.Head.Choices {
		a.dropped = append(a.dropped, "n")
	}
	w.body = a.nameCalls(w.body, w.reply)
}

// encode writes the reply in the client's format, in a turn: the provider's own bytes if both use the same format, else
// a translation, whose calls have the names of called.
func (w *wholeReply) encode(dst []byte, spent *spent, called *llm.Called) []byte {
	a, in, reply := w.attempt, w.attempt.in, w.reply
	defer in.held.TurnAnyway(w.work()).End()
	if m := w.measured; m != nil && !in.principal.Charged() {
		usage := rawjson.Member{Start: m.Place.Start, Value: w.body[m.Place.Start:m.Place.End]}
		return stamp.At(dst, w.body, usage, m.Last, spent.final(&a.tally, &w.usage))
	}
	if a.passes() && w.asAsked() {
		return in.Op.Stamp(dst, withoutCost(in.principal, w.body), spent.final(&a.tally, &w.usage))
	}
	reply.ID, reply.Model, reply.Created = in.Dialect.IDPrefix+in.id.text, spent.model(), in.started.Unix()
	reply.Usage, reply.Reported, reply.Cost = w.usage, true, spent.cost()
	reply.Base64, reply.Echo, reply.Called = in.Head.Base64, in.echo(), called
	return in.Op.EncodeReply(dst, reply)
}

// asAsked reports whether vectors have the encoding that the client requested: some servers that use OpenAI's wire
// format do not support both.
func (w *wholeReply) asAsked() bool {
	return len(w.reply.Vectors) == 0 || w.attempt.Head.Base64 == (w.reply.Vectors[0].Numbers == nil)
}

// withoutCost returns an answer, or the data of an event, as its account may see it: without the provider's own cost,
// if the account has a price list.
func withoutCost(p *account.Principal, data []byte) []byte {
	if !p.Charged() {
		return data
	}
	return stamp.WithoutCost(data)
}
