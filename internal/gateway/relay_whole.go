package gateway

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"weir/internal/capacity"
	"weir/internal/dialect"
	"weir/internal/dialect/parse"
	"weir/internal/dialect/stamp"
	"weir/internal/llm"
	"weir/internal/provider"
	"weir/internal/quote"
	"weir/internal/rawjson"
)

const (
	// maxFrame bounds one event of a provider's stream.
	maxFrame = 8 << 20
	// keepReply is the largest reply buffer that returns to the pool.
	keepReply = 256 << 10
)

// wholeReply is a settled reply on its way to the client.
type wholeReply struct {
	attempt *attempt
	body    []byte // as the provider sent it
	reply   *llm.Reply
	usage   *llm.Usage
}

// relayWhole settles a whole reply and sends it to the client.
func (c *call) relayWhole(a *attempt, resp *provider.Response) error {
	body, err := resp.ReadAll()
	c.measured.got = c.server.now()
	if err != nil {
		return err
	}
	reply, err := a.tallyWhole(c.server, &c.held, resp, body)
	if err != nil {
		return err
	}
	if c.Op.ObjectCalls && a.Spoken != c.Op {
		if tool, is := malformedCall(reply); is {
			return provider.MalformedCall(tool)
		}
	}
	c.spent.reached = true
	if a.resumes != nil {
		return c.rescue.whole(a, reply)
	}
	late := c.upstream.hangUp.reply(a, resp, body)
	body = a.ready(body, reply)
	c.plan.Succeeded(c.server.now(), 0)
	s := a.outcome().Succeeded()
	c.settle(s)
	c.upstream.hangUp.settled(c, late, &s.Usage)
	w := wholeReply{a, body, reply, &s.Usage}
	switch {
	case c.Head.Stream && c.Op.DecodeRequest != nil:
		w.sendEvents()
	case c.Head.Stream && !c.out.withdraw():
		w.sendOneEvent()
	case a.Spoken.Raw:
		w.send(resp.Header.Get("Content-Type"))
	default:
		w.send("")
	}
	return nil
}

// ready prepares an answer for its client: it sets missing call ids, and adds "n" to X-Weir-Dropped if the answer has
// fewer choices than requested.
func (a *attempt) ready(body []byte, reply *llm.Reply) []byte {
	if n := int64(len(reply.Choices)); n > 0 && n < a.Head.Choices {
		a.dropped = append(a.dropped, "n")
	}
	return a.nameCalls(body, reply)
}

// servedAs records the service tier that a header of the answer names.
func (a *attempt) servedAs(resp *provider.Response) {
	if name := a.Speaks.TierHeader; name != "" {
		a.tally.ServedAs(resp.Header.Get(name))
	}
}

// tallyWhole decodes a whole reply and tallies it. Even an invalid reply may carry usage, which is tallied.
func (a *attempt) tallyWhole(s *Server, held *capacity.Held, resp *provider.Response, body []byte) (
	reply *llm.Reply, err error,
) {
	if err := a.boundAnswer(s, held, body); err != nil {
		return nil, err
	}
	held.Step(a.replyWork(body), func() { reply, err = a.Spoken.DecodeReply(body, a.Quirks) })
	a.tally.Status, a.tally.Text = resp.Status, quote.MostText
	a.servedAs(resp)
	if reply != nil {
		a.tally.AddReply(reply)
	}
	if err == nil {
		err = a.checkWhole(reply)
	}
	return reply, err
}

// replyWork returns the work of decoding or translating a reply, in bytes. The numbers of a vector are cheaper than
// other elements.
func (a *attempt) replyWork(body []byte) int {
	if a.Op.Op == llm.OpEmbed {
		return len(body)
	}
	return capacity.TreeWork(body)
}

// checkWhole returns an error if a decoded reply is no answer to the request.
func (a *attempt) checkWhole(reply *llm.Reply) error {
	if !a.tally.Whole() {
		return provider.Truncated()
	}
	if slices.Contains(a.tally.Finish, llm.FinishError) {
		return provider.Aborted()
	}
	if n := int64(len(reply.Vectors)); n > 0 && a.Head.Texts > 0 && n != a.Head.Texts {
		return fmt.Errorf("gateway: %d vectors for %d texts", n, a.Head.Texts)
	}
	return nil
}

// largeAnswer is the size of a whole answer, in bytes. The memory that such answers need is measured before decoding.
const largeAnswer = 256 << 10

// boundAnswer reserves the memory that a large answer of a chat needs before it is decoded. It refuses an answer with
// more elements than a request may have.
func (a *attempt) boundAnswer(s *Server, held *capacity.Held, body []byte) error {
	if len(body) < largeAnswer || a.Op.Op != llm.OpChat || rawjson.Validate(body, parse.MaxDepth) != nil {
		return nil // invalid JSON is not decoded
	}
	size, err := s.bounds.Measure(body)
	if err != nil {
		return fmt.Errorf("gateway: an answer of %d bytes: %s", len(body), llm.AsError(err).Message)
	}
	return held.AwaitAnswer(size)
}

// encode writes the reply in the client's format: the provider's own bytes if both use the same format, else a
// translation.
func (w *wholeReply) encode(dst []byte) []byte {
	c, reply := w.attempt.call, w.reply
	if w.attempt.passes() && w.asAsked() {
		return c.Op.Stamp(dst, c.withoutCost(w.body), c.final(&w.attempt.tally, w.usage))
	}
	reply.ID, reply.Model, reply.Created = c.Dialect.IDPrefix+c.id.text, c.spent.model(), c.started.Unix()
	reply.Usage, reply.Reported, reply.Cost = *w.usage, true, c.spent.cost()
	reply.Base64, reply.Echo, reply.Called = c.Head.Base64, c.echo(), &c.tree.called
	return c.Op.EncodeReply(dst, reply)
}

// asAsked reports whether vectors have the encoding that the client requested: some servers that use OpenAI's wire
// format do not support both.
func (w *wholeReply) asAsked() bool {
	return len(w.reply.Vectors) == 0 || w.attempt.Head.Base64 == (w.reply.Vectors[0].Numbers == nil)
}

// send sends the reply; an empty contentType means JSON.
func (w *wholeReply) send(contentType string) {
	c := w.attempt.call
	buf := c.server.encoders.Get().(*[]byte)
	defer func() {
		if cap(*buf) <= keepReply {
			c.server.encoders.Put(buf)
		}
	}()
	c.held.Step(w.attempt.replyWork(w.body), func() { *buf = w.encode((*buf)[:0]) })
	told := w.attempt.answered()
	if cost := c.spent.cost(); cost != nil {
		told.Cost = cost.String()
	}
	told.Type = contentType
	c.answerHeaders(&told, cmp.Or(contentType, "application/json"))
	c.w.Header()["Content-Length"] = []string{strconv.Itoa(len(*buf))}
	c.idem.keep(&told, *buf)
	if !c.kept.keep(*buf) {
		c.w.Header()["X-Weir-Kept"] = []string{"false"}
	}
	c.releaseBody() // however long the client takes
	dialect.WriteBody(c.w, *buf, c.server.timing.Write)
}

// withoutCost returns an answer, or the data of an event, as the client may see it: without the provider's own cost, if
// the account has a price list.
func (c *call) withoutCost(data []byte) []byte {
	if !c.principal.Charged() {
		return data
	}
	return stamp.WithoutCost(data)
}

// final returns the values for the end of an answer.
func (c *call) final(t *quote.Tally, usage *llm.Usage) *llm.Final {
	return &llm.Final{
		Finish: t.Finish, Stopped: t.Stopped, Usage: *usage, Reported: true,
		Cost: c.spent.cost(), Attempts: len(c.spent.models), Models: c.spent.models,
	}
}

// sendEvents answers a request for a stream with events built from the reply.
func (w *wholeReply) sendEvents() {
	c := w.attempt.call
	var out []byte
	for i := range w.reply.Choices {
		for _, e := range eventsOf(&w.reply.Choices[i]) {
			out = c.out.encoder.Append(out, &e)
		}
	}
	c.idem.streamed()
	out = c.out.encoder.Finish(out, c.final(&w.attempt.tally, w.usage))
	c.kept.keepEncoded(c.out.encoder)
	c.out.write(out)
}

// sendOneEvent answers a request for a stream, after comments were sent, with a reply that has no translation: as one
// event if it is JSON, else by an error.
func (w *wholeReply) sendOneEvent() {
	c := w.attempt.call
	var line bytes.Buffer // without line breaks
	if json.Compact(&line, w.body) != nil {
		c.out.fail(&llm.Error{
			Code:    llm.CodeProviderError,
			Message: "The model does not support streaming. Send the request without \"stream\".",
		})
		return
	}
	c.idem.streamed()
	data := w.attempt.Spoken.Stamp(nil, c.withoutCost(line.Bytes()), c.final(&w.attempt.tally, w.usage))
	c.out.write(append(c.Op.Framing.Append(nil, "", data), c.Op.EndMarker...))
}

// eventsOf returns a whole choice as the events of a stream.
func eventsOf(choice *llm.Choice) []llm.Event {
	events := []llm.Event{{Kind: llm.EventStart, Choice: choice.Index}}
	calls, said := 0, 0
	for i := range choice.Message.Parts {
		p := &choice.Message.Parts[i]
		e := llm.Event{Choice: choice.Index, Text: p.Text, Signature: p.Signature, Redacted: p.Redacted, Maker: p.Maker}
		switch p.Kind {
		case llm.PartText:
			e.Kind = llm.EventText
		case llm.PartReasoning:
			e.Kind = llm.EventReasoning
		case llm.PartRefusal:
			e.Kind = llm.EventRefusal
		case llm.PartToolCall:
			e.Kind, e.Text = llm.EventToolCall, p.Call.Arguments
			e.Tool = llm.ToolDelta{Index: calls, ID: p.Call.ID, Name: p.Call.Name}
			calls++
		case llm.PartImage, llm.PartAudio, llm.PartDocument:
			e.Kind, e.Media = llm.EventOther, p.Media
		case llm.PartOther:
			if p.Search() == nil {
				continue
			}
			e.Kind, e.Search = llm.EventSearch, p.Search()
		default:
			continue
		}
		events = append(events, e)
		for _, c := range p.Claims() {
			c.Start, c.End = said+c.Start, said+c.End
			events = append(events, llm.Event{Kind: llm.EventClaim, Choice: choice.Index, Claim: &c})
		}
		if p.Kind == llm.PartText {
			said += len(p.Text)
		}
	}
	return events
}
