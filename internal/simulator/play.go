package simulator

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"

	"weir/internal/dialect"
	"weir/internal/llm"
	"weir/internal/sse"
)

// player sends the answer to a request.
type player struct {
	*call

	enc     dialect.Encoder
	begun   bool      // the headers are sent
	lines   int       // replaced line ends
	out     io.Writer // w, or a compressor that writes to it
	zip     *gzip.Writer
	written int64
}

// run sends the answer that the model name specifies.
func (p *player) run() {
	p.answer = newAnswer(p.spec, p.req, p.words(), p.fault, p.o.Silent)
	if p.d.NoCallIDs && !p.spec.ids {
		p.answer.leaveIDsOut()
	}
	if p.fault != nil {
		p.entry.meet(p.fault.name)
		p.prepare()
	}
	instead := p.fault != nil && p.fault.instead != nil
	if p.spec.early && p.stream && !instead {
		p.begin(unset)
	}
	if !p.wait(p.spec.ttft) {
		p.gone()
		return
	}
	if instead && p.fault.instead(p) {
		return
	}
	if !p.o.Free {
		p.cachePrompt()
		p.entry.consume(p.answer)
		p.entry.charge(p.spec)
	}
	p.play()
}

// play sends the answer, up to its end or its fault.
func (p *player) play() {
	give := p.playWhole
	if p.stream {
		give = p.playStream
	}
	switch err := give(); {
	case err == nil:
	case errors.Is(err, errPlace):
		p.breakOff(p.fault.outcome, p.s.clock())
		p.fault.breaks(p)
	case p.lie != nil && p.mute: // the client has all promised bytes
		p.entry.end(p.fault.outcome, p.s.clock())
	default:
		p.gone()
	}
}

// begin sends the headers of an answer; length is that of its body, unset for a stream.
func (p *player) begin(length int64) {
	if p.begun {
		return
	}
	p.begun = true
	p.entry.begin(http.StatusOK)
	h := p.w.Header()
	h.Set("X-Request-Id", p.requestID())
	if p.stream {
		h.Set("Content-Type", p.d.Framing.ContentType)
		h.Set("Cache-Control", "no-cache")
	} else {
		h.Set("Content-Type", "application/json")
	}
	if p.compress {
		h.Set("Content-Encoding", "gzip")
		p.zip = gzip.NewWriter(p.w)
		p.out = p.zip
		length = unset
	}
	switch {
	case p.lie != nil:
		p.w.lie(p.lie(length))
	case length != unset:
		h.Set("Content-Length", strconv.FormatInt(length, 10))
		p.w.WriteHeader(http.StatusOK)
		return
	default:
		p.w.WriteHeader(http.StatusOK)
	}
	p.w.Flush()
}

// playStream sends the answer piece by piece.
func (p *player) playStream() error {
	p.begin(unset)
	meta := p.meta()
	p.enc = p.d.NewEncoder(meta)
	if err := p.pad(); err != nil {
		return err
	}
	buf := p.enc.Append(nil, p.start(&meta))
	if err := p.write(p.shape(p.amendStart(buf), unset)); err != nil {
		return err
	}
	sent := int64(0)
	var ev llm.Event // shared, because the encoder makes it escape
	for ev = range p.answer.events() {
		if !isPiece(&ev) {
			if err := p.sendMark(&ev); err != nil {
				return err
			}
			continue
		}
		if sent > 0 && !p.wait(p.spec.pace) {
			return errGone
		}
		buf = p.enc.Append(buf[:0], &ev)
		if err := p.sendPiece(buf, sent, ev.Kind); err != nil {
			return err
		}
		sent++
	}
	if p.place != unset {
		return errPlace // the answer is shorter than the place of its fault
	}
	if !p.wait(p.spec.late) {
		return errGone
	}
	final := p.final()
	return p.end(p.enc.Finish(buf[:0], &final))
}

// start returns the event before the first piece. Some wire formats report the usage of the input in it.
func (p *player) start(m *llm.Meta) *llm.Event {
	u := p.reportedUsage()
	for class := range u {
		if !llm.Class(class).IsInput() {
			u[class] = 0
		}
	}
	return &llm.Event{
		Kind: llm.EventStart, ID: m.ID, Model: m.Model, Created: m.Created, Tier: p.spec.tier,
		Metered: &llm.Metered{Usage: u},
	}
}

// amendStart applies the variant to the usage at the start of a stream. The usage occurs there once, even if the
// variant repeats it at the end.
func (p *player) amendStart(b []byte) []byte {
	switch p.spec.usage {
	case "", usageTwice, usageDecreasing:
		return b
	}
	b, _, _ = amendEvents(p.d, b, p.spec.usage)
	return b
}

// isPiece reports whether an event is a piece of the answer, and so a token. A signature is not.
func isPiece(ev *llm.Event) bool { return ev.Signature == "" }

// sendPiece sends one piece, or the part that its fault leaves.
func (p *player) sendPiece(b []byte, number int64, kind llm.EventKind) error {
	b = p.shape(b, number)
	if number == p.place {
		return p.half(b)
	}
	p.entry.piece(kind)
	return p.write(b)
}

// sendMark sends an event that is not a piece, if the wire format has a place for it.
func (p *player) sendMark(ev *llm.Event) error {
	b := p.enc.Append(nil, ev)
	if len(b) == 0 {
		return nil
	}
	return p.write(p.shape(b, unset))
}

func (p *player) meta() llm.Meta {
	return llm.Meta{
		ID: p.replyID(), Created: p.s.clock().Unix(), Model: p.spec.name,
		IncludeUsage: p.head.IncludeUsage && p.spec.usage != usageMissing,
	}
}

// half writes half of the piece at the fault's place, if the fault breaks within a piece.
func (p *player) half(piece []byte) error {
	if p.fault.inside {
		if err := p.write(piece[:len(piece)/2]); err != nil {
			return err
		}
	}
	return errPlace
}

// end sends the end of a stream.
func (p *player) end(b []byte) error {
	b, reported, raw := amendEvents(p.d, b, p.spec.usage)
	if p.noEnd {
		all := b
		if b = withoutEnd(p.d, b); len(b) == len(all) {
			p.spare() // this wire format has none
		} else if tellsUsage(p.d, all) && !tellsUsage(p.d, b) {
			reported, raw = false, ""
		}
	}
	marked := p.d.EndMarker != "" && bytes.HasSuffix(b, []byte(p.d.EndMarker))
	b = p.shape(b, p.answer.pieces())
	if p.limit != unset {
		p.limit = min(p.limit, p.written) // the place is before the end in any case
	} else {
		p.settle(reported, raw, marked)
	}
	before := p.written
	err := p.write(b)
	if err != nil && len(bytes.TrimSpace(b[p.written-before:])) > 0 {
		return err
	}
	return p.closeZip() // a client may disconnect at the end marker, before its line ends
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
func (p *player) settle(reported bool, raw string, marked bool) {
	outcome := Served
	if p.fault != nil {
		outcome = p.fault.outcome
	}
	var told *llm.Usage
	if p.mute {
		raw = ""
	} else if reported && raw == "" {
		told = new(p.reportedUsage())
	}
	p.entry.settle(outcome, told, raw, marked, p.s.clock())
}

// reportedUsage returns the reported usage, if llm.Usage can express it.
func (p *player) reportedUsage() llm.Usage {
	u := p.entry.usage()
	switch p.spec.usage {
	case usageOver:
		u[llm.Output] += overUsage
	case usageZero:
		u = llm.Usage{}
	}
	return u
}

func (p *player) final() llm.Final {
	return llm.Final{
		Finish: p.answer.finishes(), Usage: p.reportedUsage(), Reported: p.spec.usage != usageMissing,
		Cost: p.spec.ownCost(), Attempts: 1, Models: []string{p.spec.name},
	}
}

// write writes b in the requested portions, up to the place of the fault.
func (p *player) write(b []byte) error {
	for len(b) > 0 {
		n := int64(len(b))
		if p.spec.chunk != unset {
			n = min(n, p.spec.chunk)
		}
		if p.limit != unset {
			n = min(n, p.limit-p.written)
		}
		if n <= 0 {
			return errPlace
		}
		wrote, err := p.out.Write(b[:n])
		p.written += int64(wrote)
		if err != nil {
			return errGone
		}
		b = b[n:]
		if p.stream || len(b) > 0 || p.drip > 0 {
			p.flush()
		}
		if len(b) == 0 && !p.stream {
			return nil // the client has all of it, and may disconnect
		}
		if !p.wait(p.drip) || p.r.Context().Err() != nil {
			return errGone
		}
	}
	return nil
}

func (p *player) flush() {
	if p.zip != nil {
		_ = p.zip.Flush() // a later Write fails too
	}
	p.w.Flush()
}

func (p *player) closeZip() error {
	if p.zip == nil {
		return nil
	}
	if p.zip.Close() != nil {
		return errGone
	}
	return nil
}
