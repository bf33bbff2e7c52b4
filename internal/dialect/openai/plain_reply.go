package openai

import (
	"cmp"

	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Most replies are one text with its usage. The code below reads them in one pass, and leaves all others to
// DecodeReply.

// plainReply reads a reply into r.
type plainReply struct {
	rawjson.Scanner
	r       *llm.Reply
	measure *llm.Measured // nil to read the text, too
	had     rawjson.Seen  // members of the reply, the choice and the message that must appear once
	usage   []byte
}

// The members in plainReply.had.
const (
	hadID = 1 << iota
	hadCreated
	hadModel
	hadChoices
	hadUsage
	hadTier
	hadIndex
	hadMessage
	hadFinish
	hadContent
	hadAnnotations
)

// once notes a member, and reports whether it is the first of its name.
func (p *plainReply) once(member rawjson.Seen) bool {
	first := p.had&member == 0
	p.had |= member
	return first
}

// MeasureReply reads of a whole answer all that DecodeReply reads, except its text and members without a meaning. It
// reports false for an answer that DecodeReply has to read. Of m, which must be zero, it uses the memory.
func MeasureReply(body []byte, q *llm.Quirks, m *llm.Measured) bool {
	m.Choices = m.Room[:0]
	p := plainReply{Scanner: rawjson.Scan(body, maxDepth), r: &m.Reply, measure: m}
	return p.read(q)
}

// decodePlain is DecodeReply for a plain reply; nil for any other.
func decodePlain(body []byte, q *llm.Quirks) *llm.Reply {
	room := &struct {
		llm.Reply
		choices [1]llm.Choice
		parts   [1]llm.Part
	}{}
	room.Choices = room.choices[:0]
	p := plainReply{Scanner: rawjson.Scan(body, maxDepth), r: &room.Reply}
	room.choices[0].Message.Parts = room.parts[:0]
	if !p.read(q) {
		return nil
	}
	return &room.Reply
}

func (p *plainReply) read(q *llm.Quirks) bool {
	p.r.ExtraOf = Name
	for m := range p.Members() {
		if !p.member(m) {
			return false
		}
		if p.measure != nil {
			p.measure.Last = p.At()
		}
	}
	if !p.Ended() || p.had&hadChoices == 0 {
		return false
	}
	if meter(p.r, p.usage, q); !p.r.Reported {
		return false
	}
	var none ran
	none.addTo(&p.r.Usage, p.r.Model)
	return true
}

// member reads a member of the reply.
func (p *plainReply) member(m rawjson.Member) bool {
	r := p.r
	switch string(m.Key()) {
	case "id":
		r.ID = rawjson.Text(p.Value())
		return p.once(hadID)
	case "created":
		r.Created, _ = rawjson.AsInt(p.Value())
		return p.once(hadCreated)
	case "model":
		r.Model = rawjson.Text(p.Value())
		return p.once(hadModel)
	case "choices":
		return p.once(hadChoices) && p.choices()
	case "usage":
		p.usage = p.Value()
		if p.measure != nil {
			p.measure.Place = llm.Span{Start: m.Start, End: p.At()}
		}
		return p.once(hadUsage)
	case "service_tier":
		r.Tier = rawjson.Text(p.Value())
		return p.once(hadTier)
	case "object":
		return !IsErrorObject(p.Value())
	case "error", "citations", searchResults:
		return isNull(p.Value())
	}
	p.extra(&r.Extra, m)
	return true
}

// extra reads a member without a meaning.
func (p *plainReply) extra(to *[]llm.Field, m rawjson.Member) {
	if m.Value = p.Value(); p.measure == nil {
		*to = parse.Extra(*to, m)
	}
}

func isNull(v []byte) bool { return rawjson.KindOf(v) == rawjson.Null }

// choices reads the choices, of which there must be one.
func (p *plainReply) choices() bool {
	for i := range p.Elements() {
		if i > 0 || !p.choice() {
			return false
		}
	}
	return len(p.r.Choices) == 1
}

func (p *plainReply) choice() bool {
	p.r.Choices = p.r.Choices[:1]
	c := &p.r.Choices[0]
	for m := range p.Members() {
		switch string(m.Key()) {
		case "index":
			if n, ok := rawjson.AsInt(p.Value()); ok && n >= 0 && n < maxChoices {
				c.Index = int(n)
			}
			if !p.once(hadIndex) {
				return false
			}
		case "message":
			if !p.once(hadMessage) || !p.message(c) {
				return false
			}
		case "finish_reason":
			c.Finish = finishOf(rawjson.Text(p.Value()))
			if !p.once(hadFinish) {
				return false
			}
		case "logprobs", "error":
			if !isNull(p.Value()) {
				return false
			}
		default:
			p.extra(&c.Extra, m)
		}
	}
	c.Finish = parse.Finish(cmp.Or(c.Finish, llm.FinishStop), nil)
	return p.had&hadMessage != 0
}

// message reads the message, which must have a text.
func (p *plainReply) message(c *llm.Choice) bool {
	c.Message.Role = llm.RoleAssistant
	var text, annotations []byte
	for m := range p.Members() {
		switch key := m.Key(); string(key) {
		case "role":
			p.Value()
		case "content":
			if text = p.Value(); !p.once(hadContent) {
				return false
			}
		case "annotations":
			v := p.Value()
			if !p.once(hadAnnotations) || rawjson.HasElement(v) || rawjson.KindOf(v) != rawjson.Array && !isNull(v) {
				return false
			}
			if !isNull(v) {
				annotations = v
			}
		case "executed_tools":
			if !isNull(p.Value()) {
				return false
			}
		default:
			var meant message
			if meant.place(key) == nil {
				p.extra(&c.Message.Extra, m)
			} else if !isNull(p.Value()) {
				return false
			}
		}
	}
	if len(text) <= len(`""`) || text[0] != '"' {
		return false
	}
	if p.measure != nil {
		p.measure.Text = len(text) - len(`""`)
		return true
	}
	c.Message.Parts = c.Message.Parts[:1]
	c.Message.Parts[0] = llm.Part{Kind: llm.PartText, Text: rawjson.Text(text), Annotations: annotations}
	return true
}
