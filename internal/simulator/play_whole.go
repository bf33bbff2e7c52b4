package simulator

import "weir/internal/llm"

// playWhole generates the answer piece by piece and sends it as one.
func (p *player) playWhole() error {
	if err := p.generate(); err != nil {
		return err
	}
	reply := p.reply()
	buf := p.s.buffer()
	defer p.s.release(buf)
	body := p.o.EncodeReply((*buf)[:0], reply)
	*buf = body
	p.s.memo.keep(p.call, reply, body)
	body, raw := amendBody(p.d, body, p.spec.usage)
	if p.edit != nil {
		body = p.edit(body)
	}
	if p.spec.bom {
		body = append([]byte(byteOrderMark), body...)
	}
	return p.sendWhole(body, reply.Reported, raw)
}

// generate generates the pieces of the answer, and counts them.
func (p *player) generate() error {
	if p.spec.pace == 0 {
		p.entry.pieces(p.answer.made())
		return nil
	}
	waits := false
	for ev := range p.answer.events() {
		if !isPiece(&ev) {
			continue
		}
		if waits && !p.wait(p.spec.pace) {
			return errGone
		}
		waits = true
		p.entry.piece(ev.Kind)
	}
	return nil
}

func (p *player) sendWhole(body []byte, reported bool, raw string) error {
	if p.fault != nil && p.fault.breaks != nil {
		if p.limit == unset {
			p.limit = int64(len(body) / 2)
		}
		p.limit = max(0, min(p.limit, int64(len(body))-1))
	}
	length := int64(len(body)) + p.padding
	if p.fault != nil && p.fault.clean {
		length = p.limit
	}
	p.begin(length)
	if p.limit == unset {
		p.settle(reported, raw, false)
	}
	if err := p.pad(); err != nil {
		return err
	}
	if err := p.write(body); err != nil {
		return err
	}
	return p.closeZip()
}

func (p *player) reply() *llm.Reply {
	reply := &llm.Reply{
		ID: p.replyID(), Created: p.s.clock().Unix(), Model: p.spec.name,
		Usage: p.reportedUsage(), Reported: p.spec.usage != usageMissing, Cost: p.spec.ownCost(), Tier: p.spec.tier,
		Choices: make([]llm.Choice, p.answer.choices),
	}
	if e := p.req.Embedding; e != nil {
		reply.Vectors, reply.Base64 = vectors(e), e.Base64
	}
	if p.o.Op == llm.OpCountTokens {
		reply.Counted = p.answer.prompt
	}
	for i := range reply.Choices {
		reply.Choices[i] = llm.Choice{
			Index: i, Finish: p.answer.finish, Message: p.answer.message(int64(i)), Tokens: p.answer.tokens(int64(i)),
		}
	}
	return reply
}
