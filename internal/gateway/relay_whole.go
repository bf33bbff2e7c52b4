package gateway

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

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
	// keepReply is the largest reply buffer that goes back to the pool.
	keepReply = 256 << 10
)

// wholeReply is one on its way to the client, once it is settled.
type wholeReply struct {
	attempt *attempt
	body    []byte // the provider's
	reply   *llm.Reply
	usage   *llm.Usage
}

// relayWhole passes on a whole reply, once it is settled.
func (c *call) relayWhole(a *attempt, resp *provider.Response) error {
	body, err := resp.ReadAll()
	c.measured.got = c.server.now()
	if err != nil {
		return err
	}
	reply, err := a.tallyWhole(&c.held, resp, body)
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

// ready makes an answer ready for its client: its calls have ids, and where there are fewer choices than were asked for, it
// is told.
func (a *attempt) ready(body []byte, reply *llm.Reply) []byte {
	if n := int64(len(reply.Choices)); n > 0 && n < a.Head.Choices {
		a.dropped = append(a.dropped, "n")
	}
	return a.nameCalls(body, reply)
}

// servedAs takes note of the service tier that a header of the answer names.
func (a *attempt) servedAs(resp *provider.Response) {
	if name := a.Speaks.TierHeader; name != "" {
		a.tally.ServedAs(resp.Header.Get(name))
	}
}

// tallyWhole decodes a whole reply and takes note of it. Of what is none there may be some
// to take note of.
func (a *attempt) tallyWhole(held *capacity, resp *provider.Response, body []byte) (reply *llm.Reply, err error) {
	if err := a.boundAnswer(held, body); err != nil {
		return nil, err
	}
	held.step(a.replyWork(body), func() { reply, err = a.Spoken.DecodeReply(body, a.Quirks) })
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

// replyWork is how much work a reply is to decode or to translate, in bytes. The numbers of
// vectors are less than other elements.
func (a *attempt) replyWork(body []byte) int {
	if a.Op.Op == llm.OpEmbed {
		return len(body)
	}
	return treeWork(body)
}

// checkWhole says why a reply that was understood is not the answer to the request.
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

// largeAnswer is how many bytes of a whole answer are worth a look at what it takes in memory.
const largeAnswer = 256 << 10

// boundAnswer counts what a large answer of a chat takes among the bodies in flight before it
// is decoded, and refuses one with more elements than a request may have.
func (a *attempt) boundAnswer(held *capacity, body []byte) error {
	if len(body) < largeAnswer || a.Op.Op != llm.OpChat || rawjson.Validate(body, parse.MaxDepth) != nil {
		return nil // of what is no JSON nothing is built
	}
	size, err := held.server.bounds.Measure(body)
	if err != nil {
		return fmt.Errorf("gateway: an answer of %d bytes: %s", len(body), llm.AsError(err).Message)
	}
	return held.awaitAnswer(size)
}

// encode writes the reply as the client reads it: the provider's own bytes where they speak the
// same, else a translation.
func (w *wholeReply) encode(dst []byte) []byte {
	c, reply := w.attempt.call, w.reply
	if w.attempt.Spoken == c.Op && w.asAsked() {
		return c.Op.Stamp(dst, c.withoutCost(w.body), c.final(&w.attempt.tally, w.usage))
	}
	reply.ID, reply.Model, reply.Created = c.Dialect.IDPrefix+c.id.text, c.spent.model(), c.started.Unix()
	reply.Usage, reply.Reported, reply.Cost = *w.usage, true, c.spent.cost()
	reply.Base64, reply.Echo, reply.Called = c.Head.Base64, c.echo(), &c.tree.called
	return c.Op.EncodeReply(dst, reply)
}

// asAsked reports whether vectors have the form that the client asked for: not
// every server that speaks OpenAI's wire format knows both.
func (w *wholeReply) asAsked() bool {
	return len(w.reply.Vectors) == 0 || w.attempt.Head.Base64 == (w.reply.Vectors[0].Numbers == nil)
}

// send sends the reply, of a content type that is empty for JSON.
func (w *wholeReply) send(contentType string) {
	c := w.attempt.call
	buf := c.server.encoders.Get().(*[]byte)
	defer func() {
		if cap(*buf) <= keepReply {
			c.server.encoders.Put(buf)
		}
	}()
	c.held.step(w.attempt.replyWork(w.body), func() { *buf = w.encode((*buf)[:0]) })
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
	c.releaseBody() // whatever time the client takes
	dialect.WriteBody(c.w, *buf, c.server.timing.Write)
}

// withoutCost is an answer, or the data of an event, as the client may see it: without what the provider says that it
// costs, where the account is charged otherwise.
func (c *call) withoutCost(data []byte) []byte {
	if !c.principal.Charged() {
		return data
	}
	return stamp.WithoutCost(data)
}

// final is what the end of an answer tells the client.
func (c *call) final(t *quote.Tally, usage *llm.Usage) *llm.Final {
	return &llm.Final{
		Finish: t.Finish, Stopped: t.Stopped, Usage: *usage, Reported: true,
		Cost: c.spent.cost(), Attempts: len(c.spent.models), Models: c.spent.models,
	}
}

// sendEvents answers a stream's request with the events of the reply.
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

// sendOneEvent answers a stream's request, of which comments have gone out, with a reply that
// nobody translates: as one event, if it is JSON.
func (w *wholeReply) sendOneEvent() {
	c := w.attempt.call
	var line bytes.Buffer // without line breaks
	if json.Compact(&line, w.body) != nil {
		c.out.fail(&llm.Error{
			Code:    llm.CodeProviderError,
			Message: "The model gives no streams, and what it gave cannot be sent as one. Ask without a stream.",
		})
		return
	}
	c.idem.streamed()
	data := w.attempt.Spoken.Stamp(nil, c.withoutCost(line.Bytes()), c.final(&w.attempt.tally, w.usage))
	c.out.write(append(c.Op.Framing.Append(nil, "", data), c.Op.EndMarker...))
}

// eventsOf is a whole choice as the events of a stream.
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
