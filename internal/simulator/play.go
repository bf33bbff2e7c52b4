package simulator

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"slices"
	"strconv"

	"weir/internal/dialect"
	"weir/internal/llm"
	"weir/internal/sse"
)

// begin sends the headers of an answer; length is that of its body, unset for a stream.
func (c *call) begin(length int64) {
	if c.begun {
		return
	}
	c.begun = true
	c.entry.begin(http.StatusOK)
	h := c.w.Header()
	h.Set("X-Request-Id", c.requestID())
	if c.stream {
		h.Set("Content-Type", c.d.Framing.ContentType)
		h.Set("Cache-Control", "no-cache")
	} else {
		h.Set("Content-Type", "application/json")
	}
	if c.compress {
		h.Set("Content-Encoding", "gzip")
		c.zip = gzip.NewWriter(c.w)
		c.out = c.zip
		length = unset
	}
	switch {
	case c.lie != nil:
		c.w.lie(c.lie(length))
	case length != unset:
		h.Set("Content-Length", strconv.FormatInt(length, 10))
		c.w.WriteHeader(http.StatusOK)
		return
	default:
		c.w.WriteHeader(http.StatusOK)
	}
	c.w.Flush()
}

// playStream sends the answer piece by piece.
func (c *call) playStream() error {
	c.begin(unset)
	meta := c.meta()
	c.enc = c.d.NewEncoder(meta)
	if err := c.pad(); err != nil {
		return err
	}
	buf := c.enc.Append(nil, c.start(&meta))
	if err := c.write(c.shape(c.amendStart(buf), unset)); err != nil {
		return err
	}
	sent := int64(0)
	var ev llm.Event // shared, because the encoder makes it escape
	for ev = range c.answer.events() {
		if !isPiece(&ev) {
			if err := c.sendMark(&ev); err != nil {
				return err
			}
			continue
		}
		if sent > 0 && !c.wait(c.spec.pace) {
			return errGone
		}
		buf = c.enc.Append(buf[:0], &ev)
		if err := c.sendPiece(buf, sent, ev.Kind); err != nil {
			return err
		}
		sent++
	}
	if c.place != unset {
		return errPlace // the answer is shorter than the place of its fault
	}
	if !c.wait(c.spec.late) {
		return errGone
	}
	final := c.final()
	return c.end(c.enc.Finish(buf[:0], &final))
}

// start returns the event before the first piece. Some wire formats report the usage of the input in it.
func (c *call) start(m *llm.Meta) *llm.Event {
	u := c.told()
	for class := range u {
		if !llm.Class(class).IsInput() {
			u[class] = 0
		}
	}
	return &llm.Event{
		Kind: llm.EventStart, ID: m.ID, Model: m.Model, Created: m.Created, Tier: c.spec.tier,
		Metered: &llm.Metered{Usage: u},
	}
}

// amendStart applies the variant to the usage at the start of a stream. The usage occurs there once, even if the
// variant repeats it at the end.
func (c *call) amendStart(b []byte) []byte {
	switch c.spec.usage {
	case "", usageTwice, usageDecreasing:
		return b
	}
	b, _, _ = amendEvents(c.d, b, c.spec.usage)
	return b
}

// isPiece reports whether an event is a piece of the answer, and so a token. A signature is not.
func isPiece(ev *llm.Event) bool { return ev.Signature == "" }

// sendPiece sends one piece, or the part that its fault leaves.
func (c *call) sendPiece(b []byte, number int64, kind llm.EventKind) error {
	b = c.shape(b, number)
	if number == c.place {
		return c.half(b)
	}
	c.entry.piece(kind)
	return c.write(b)
}

// sendMark sends an event that is not a piece, if the wire format has a place for it.
func (c *call) sendMark(ev *llm.Event) error {
	b := c.enc.Append(nil, ev)
	if len(b) == 0 {
		return nil
	}
	return c.write(c.shape(b, unset))
}

func (c *call) meta() llm.Meta {
	return llm.Meta{
		ID: c.replyID(), Created: c.s.clock().Unix(), Model: c.spec.name,
		IncludeUsage: c.head.IncludeUsage && c.spec.usage != usageMissing,
	}
}

// half writes half of the piece at the fault's place, if the fault breaks within a piece.
func (c *call) half(piece []byte) error {
	if c.fault.inside {
		if err := c.write(piece[:len(piece)/2]); err != nil {
			return err
		}
	}
	return errPlace
}

// end sends the end of a stream.
func (c *call) end(b []byte) error {
	b, reported, raw := amendEvents(c.d, b, c.spec.usage)
	if c.noEnd {
		all := b
		if b = withoutEnd(c.d, b); len(b) == len(all) {
			c.spare() // this wire format has none
		} else if tellsUsage(c.d, all) && !tellsUsage(c.d, b) {
			reported, raw = false, ""
		}
	}
	marked := c.d.EndMarker != "" && bytes.HasSuffix(b, []byte(c.d.EndMarker))
	b = c.shape(b, c.answer.pieces())
	if c.limit != unset {
		c.limit = min(c.limit, c.written) // the place is before the end in any case
	} else {
		c.settle(reported, raw, marked)
	}
	before := c.written
	err := c.write(b)
	if err != nil && len(bytes.TrimSpace(b[c.written-before:])) > 0 {
		return err
	}
	return c.closeZip() // a client may disconnect at the end marker, before its line ends
}

// withoutEnd returns the end of a stream without its end marker. If the marker is not a fixed text, it removes the
// events that the client half of the wire format reads as one. Some wire formats have none.
func withoutEnd(d *dialect.Dialect, b []byte) []byte {
	if d.EndMarker != "" || d.NewDecoder == nil {
		return bytes.TrimSuffix(b, []byte(d.EndMarker))
	}
	decoder := d.NewDecoder(&llm.Quirks{})
	var out []byte
	for _, f := range splitEvents(&d.Framing, b) {
		// events that it cannot decode are not the end
		events, _ := decoder.Decode(nil, sse.Event{Name: []byte(f.name), Data: f.data, Raw: f.raw})
		if !slices.ContainsFunc(events, func(e llm.Event) bool { return e.Kind == llm.EventDone }) {
			out = appendEvent(out, &d.Framing, &f, f.data)
		}
	}
	return out
}

// settle completes the ledger's record before the last bytes are sent, so that a client that has read them finds it
// complete.
func (c *call) settle(reported bool, raw string, marked bool) {
	outcome := Served
	if c.fault != nil {
		outcome = c.fault.outcome
	}
	var told *llm.Usage
	if c.mute {
		raw = ""
	} else if reported && raw == "" {
		told = new(c.told())
	}
	c.entry.settle(outcome, told, raw, marked, c.s.clock())
}

// told returns the reported usage, if llm.Usage can express it.
func (c *call) told() llm.Usage {
	u := c.entry.usage()
	switch c.spec.usage {
	case usageOver:
		u[llm.Output] += overUsage
	case usageZero:
		u = llm.Usage{}
	}
	return u
}

func (c *call) final() llm.Final {
	return llm.Final{
		Finish: c.answer.finishes(), Usage: c.told(), Reported: c.spec.usage != usageMissing, Cost: c.spec.ownCost(),
		Attempts: 1, Models: []string{c.spec.name},
	}
}

// playWhole generates the answer piece by piece and sends it as one.
func (c *call) playWhole() error {
	if err := c.generate(); err != nil {
		return err
	}
	reply := c.reply()
	buf := c.s.buffer()
	defer c.s.release(buf)
	body := c.o.EncodeReply((*buf)[:0], reply)
	*buf = body
	c.s.memo.keep(c, reply, body)
	body, raw := amendBody(c.d, body, c.spec.usage)
	if c.edit != nil {
		body = c.edit(body)
	}
	if c.spec.bom {
		body = append([]byte(byteOrderMark), body...)
	}
	return c.sendWhole(body, reply.Reported, raw)
}

// generate generates the pieces of the answer, and counts them.
func (c *call) generate() error {
	if c.spec.pace == 0 {
		c.entry.pieces(c.answer.made())
		return nil
	}
	waits := false
	for ev := range c.answer.events() {
		if !isPiece(&ev) {
			continue
		}
		if waits && !c.wait(c.spec.pace) {
			return errGone
		}
		waits = true
		c.entry.piece(ev.Kind)
	}
	return nil
}

func (c *call) sendWhole(body []byte, reported bool, raw string) error {
	if c.fault != nil && c.fault.breaks != nil {
		if c.limit == unset {
			c.limit = int64(len(body) / 2)
		}
		c.limit = max(0, min(c.limit, int64(len(body))-1))
	}
	length := int64(len(body)) + c.padding
	if c.fault != nil && c.fault.clean {
		length = c.limit
	}
	c.begin(length)
	if c.limit == unset {
		c.settle(reported, raw, false)
	}
	if err := c.pad(); err != nil {
		return err
	}
	if err := c.write(body); err != nil {
		return err
	}
	return c.closeZip()
}

func (c *call) reply() *llm.Reply {
	reply := &llm.Reply{
		ID: c.replyID(), Created: c.s.clock().Unix(), Model: c.spec.name,
		Usage: c.told(), Reported: c.spec.usage != usageMissing, Cost: c.spec.ownCost(), Tier: c.spec.tier,
		Choices: make([]llm.Choice, c.answer.choices),
	}
	if e := c.req.Embedding; e != nil {
		reply.Vectors, reply.Base64 = vectors(e), e.Base64
	}
	if c.o.Op == llm.OpCountTokens {
		reply.Counted = c.answer.prompt
	}
	for i := range reply.Choices {
		reply.Choices[i] = llm.Choice{
			Index: i, Finish: c.answer.finish, Message: c.answer.message(int64(i)), Tokens: c.answer.tokens(int64(i)),
		}
	}
	return reply
}

// write writes b in the requested portions, up to the place of the fault.
func (c *call) write(b []byte) error {
	for len(b) > 0 {
		n := int64(len(b))
		if c.spec.chunk != unset {
			n = min(n, c.spec.chunk)
		}
		if c.limit != unset {
			n = min(n, c.limit-c.written)
		}
		if n <= 0 {
			return errPlace
		}
		wrote, err := c.out.Write(b[:n])
		c.written += int64(wrote)
		if err != nil {
			return errGone
		}
		b = b[n:]
		if c.stream || len(b) > 0 || c.drip > 0 {
			c.flush()
		}
		if len(b) == 0 && !c.stream {
			return nil // the client has all of it, and may disconnect
		}
		if !c.wait(c.drip) || c.r.Context().Err() != nil {
			return errGone
		}
	}
	return nil
}

func (c *call) flush() {
	if c.zip != nil {
		_ = c.zip.Flush() // a later Write fails too
	}
	c.w.Flush()
}

func (c *call) closeZip() error {
	if c.zip == nil {
		return nil
	}
	if c.zip.Close() != nil {
		return errGone
	}
	return nil
}
