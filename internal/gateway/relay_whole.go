package gateway

import (
	"cmp"
	"fmt"
	"strconv"

	"weir/internal/dialect"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/provider"
	"weir/internal/rawjson"
)

const (
	// maxFrame bounds one event of a provider's stream.
	maxFrame = 8 << 20
	// keepReply is the largest reply buffer that goes back to the pool.
	keepReply = 256 << 10
)

// relayWhole passes on a whole reply, once it is settled.
func (c *call) relayWhole(resp *provider.Response) error {
	body, err := resp.ReadAll()
	c.own.answered(c.server.now())
	if err != nil {
		return err
	}
	reply, err := c.tallyWhole(resp, body)
	if err != nil {
		return err
	}
	from, sum := c.spoken(c.target()), c.sum
	if c.resumed != nil {
		return c.resumeWhole(reply, sum)
	}
	c.plan.Succeeded(c.server.now(), 0)
	s := c.settlementOfWhole(sum)
	c.settle(s)
	if c.head.Stream && c.op.DecodeRequest != nil {
		return c.streamWhole(reply, sum, &s.Usage)
	}
	if c.head.Stream && !c.out.withdraw() {
		return c.streamAsCame(body, from, &s.Usage)
	}
	buf := c.server.encoders.Get().(*[]byte)
	defer func() {
		if cap(*buf) <= keepReply {
			c.server.encoders.Put(buf)
		}
	}()
	*buf = c.encodeWhole((*buf)[:0], from, body, reply, &s.Usage)
	contentType := ""
	if from.Raw {
		contentType = resp.Header.Get("Content-Type")
	}
	return c.sendWhole(*buf, contentType)
}

// tallyWhole decodes a whole reply and takes note of it. Of what is none there may be some
// to take note of.
func (c *call) tallyWhole(resp *provider.Response, body []byte) (*llm.Reply, error) {
	if err := c.boundAnswer(body); err != nil {
		return nil, err
	}
	reply, err := c.decodeReply(body)
	c.sum.status = resp.Status
	if reply != nil {
		c.sum.addReply(reply)
	}
	if err != nil {
		return nil, err
	}
	c.reached = true
	if !c.sum.whole() {
		return nil, provider.Truncated()
	}
	return reply, nil
}

func (c *call) decodeReply(body []byte) (*llm.Reply, error) {
	defer c.endStep(c.beginStep(len(body)))
	t := c.target()
	return c.spoken(t).DecodeReply(body, c.quirks(t))
}

// largeAnswer is how many bytes of a whole answer are worth a look at what it takes in memory.
const largeAnswer = 256 << 10

// boundAnswer counts what a large answer of a chat takes among the bodies in flight before it
// is decoded, and refuses one with more elements than a request may have.
func (c *call) boundAnswer(body []byte) error {
	if len(body) < largeAnswer || c.op.Op != llm.OpChat || rawjson.Validate(body, parse.MaxDepth) != nil {
		return nil // of what is no JSON nothing is built
	}
	size, err := c.server.bounds.Measure(body)
	if err != nil {
		return fmt.Errorf("gateway: an answer of %d bytes: %s", len(body), llm.AsError(err).Message)
	}
	return c.awaitArrival(size)
}

// encodeWhole writes the reply as the client reads it: the provider's own
// bytes where they speak the same, else a translation.
func (c *call) encodeWhole(dst []byte, from *dialect.Operation, body []byte, reply *llm.Reply,
	usage *llm.Usage,
) []byte {
	defer c.endStep(c.beginStep(len(body)))
	if from == c.op && c.asAsked(reply) {
		return from.Stamp(dst, body, c.final(&tally{}, usage))
	}
	reply.ID, reply.Model, reply.Created = c.dialect.IDPrefix+c.idText, c.tried[len(c.tried)-1], c.started.Unix()
	reply.Usage, reply.Reported, reply.Cost = *usage, true, c.cost()
	reply.Base64, reply.Echo = c.head.Base64, c.echo()
	return c.op.EncodeReply(dst, reply)
}

// asAsked reports whether vectors have the form that the client asked for: not
// every server that speaks OpenAI's wire format knows both.
func (c *call) asAsked(reply *llm.Reply) bool {
	return len(reply.Vectors) == 0 || c.head.Base64 == (reply.Vectors[0].Numbers == nil)
}

func (c *call) sendWhole(body []byte, contentType string) error {
	a := c.answered()
	if cost := c.cost(); cost != nil {
		a.Cost = cost.String()
	}
	a.Type = contentType
	c.answerHeaders(&a, cmp.Or(contentType, "application/json"))
	c.w.Header()["Content-Length"] = []string{strconv.Itoa(len(body))}
	c.keepReply(&a, body)
	if !c.keep(body) {
		c.w.Header()["X-Weir-Kept"] = []string{"false"}
	}
	c.releaseBody() // whatever time the client takes
	dialect.WriteBody(c.w, body, c.server.timing.Write)
	return nil
}

// final is what the end of an answer tells the client.
func (c *call) final(t *tally, usage *llm.Usage) *llm.Final {
	return &llm.Final{
		Finish: t.finish, Usage: *usage, Reported: true,
		Cost: c.cost(), Attempts: len(c.tried), Models: c.tried,
	}
}

// streamWhole answers a stream's request with a reply that came whole.
func (c *call) streamWhole(reply *llm.Reply, t *tally, usage *llm.Usage) error {
	var out []byte
	for i := range reply.Choices {
		for _, e := range eventsOf(&reply.Choices[i]) {
			out = c.out.encoder.Append(out, &e)
		}
	}
	c.idem.streamed(c)
	out = c.out.encoder.Finish(out, c.final(t, usage))
	c.keepEnd(out)
	c.out.write(out)
	return nil
}

// eventsOf is a whole choice as the events of a stream.
func eventsOf(choice *llm.Choice) []llm.Event {
	events := []llm.Event{{Kind: llm.EventStart, Choice: choice.Index}}
	calls := 0
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
		default:
			continue
		}
		events = append(events, e)
	}
	return events
}
