package simulator

import (
	"time"

	"weir/internal/llm"
	"weir/internal/promptcache"
	"weir/internal/rawjson"
)

// prefix is the beginning of a prompt, up to a block's end or a multiple of tokens.
type prefix struct {
	hash   uint64
	tokens int64
	mark   time.Duration // the lifetime that a mark at the end asks for; 0 for no mark
}

// section is one message of a prompt, or all its tools.
type section struct {
	hash   uint64 // of this section alone
	tokens int64
	place  int // the number of the message from 1, 0 for instructions outside of the messages, -1 for tools
}

// prompt is a request's prompt as a prompt cache sees it: tools, then messages.
type prompt struct {
	prefixes []prefix
	sections []section
	marks    int
	total    int64

	step     int64 // 0: prefixes end with blocks
	perMedia int64
	number   int    // of the current message
	hash     uint64 // of all
	own      uint64 // of the current section
	fixed    int64  // tokens before the current message's text
	bytes    int64  // of the current message's text
}

// promptOf reads the prompt of a request by a rule. In some wire formats instructions are within the messages.
func promptOf(req *llm.Request, rule *promptcache.Rule, perMedia int64, within bool) *prompt {
	p := &prompt{perMedia: perMedia, fixed: tokensPerRequest}
	if !rule.Marked {
		p.step = rule.Step
	}
	for i := range req.Tools {
		t := &req.Tools[i]
		p.begin(tokensPerTool)
		for _, text := range []string{t.Name, t.Description, string(t.Parameters), string(t.Raw)} {
			p.text(text)
		}
		p.blockEnds(t.CacheControl)
	}
	if len(req.Tools) > 0 {
		p.sectionEnds(-1)
	}
	for i := range req.Messages {
		m := &req.Messages[i]
		p.begin(tokensPerMessage)
		p.name(string(m.Role))
		for j := range m.Parts {
			p.part(&m.Parts[j])
			p.blockEnds(markOf(&m.Parts[j]))
		}
		if m.Role != llm.RoleSystem || within {
			p.number++
		}
		p.sectionEnds(p.placeOf(m, within))
	}
	p.total = p.tokens()
	p.markWhole(req)
	return p
}

// markWhole applies the mark of a whole request, which is at the last block.
// https://platform.claude.com/docs/en/build-with-claude/prompt-caching (undated copies of 2026).
func (p *prompt) markWhole(req *llm.Request) {
	for _, f := range req.Extra {
		if f.Name == "cache_control" && rawjson.Present(f.Value) && len(p.prefixes) > 0 {
			p.marks++
			p.prefixes[len(p.prefixes)-1].mark = lifetimeOf(f.Value)
		}
	}
}

// markOf returns the mark of a part, or of a part within a tool's result.
func markOf(part *llm.Part) []byte {
	mark := part.CacheControl
	if part.Result != nil {
		for i := range part.Result.Parts {
			if inner := part.Result.Parts[i].CacheControl; inner != nil {
				mark = inner
			}
		}
	}
	return mark
}

func lifetimeOf(mark []byte) time.Duration {
	if rawjson.Text(rawjson.Get(mark, "ttl")) == "1h" {
		return promptcache.Long
	}
	return promptcache.Short
}

func (p *prompt) tokens() int64 { return p.fixed + quarter(int(p.bytes)) }

// begin begins a message or a tool, which costs so many tokens beside its text.
func (p *prompt) begin(cost int64) {
	p.fixed, p.bytes = p.tokens()+cost, 0
	p.name("")
	p.stepOver()
}

// stepOver ends the prefixes that the tokens so far complete.
func (p *prompt) stepOver() {
	for p.step > 0 && p.next() <= p.tokens() {
		p.prefixes = append(p.prefixes, prefix{hash: p.hash, tokens: p.next()})
	}
}

// next returns the tokens of the next prefix of a cache without marks.
func (p *prompt) next() int64 { return p.step * int64(len(p.prefixes)+1) }

// text adds a text of the current message.
func (p *prompt) text(s string) {
	p.own = hashText(p.own, s)
	for p.step > 0 && s != "" {
		room := (p.next()-p.fixed)*bytesPerToken - p.bytes // at least 1, after stepOver
		n := min(room, int64(len(s)))
		if n < room {
			break
		}
		p.hash = hashText(p.hash, s[:n])
		p.bytes += n
		s = s[n:]
		p.stepOver()
	}
	p.hash = hashText(p.hash, s)
	p.bytes += int64(len(s))
	p.stepOver()
}

// part adds a part of a message.
func (p *prompt) part(part *llm.Part) {
	p.name(string(rune(part.Kind)))
	p.text(part.Text)
	if m := part.Media; m != nil {
		for _, text := range []string{m.URL, m.FileID, m.MIME, m.Data} {
			p.name(text)
		}
		p.fixed += p.perMedia
		p.stepOver()
	}
	if call := part.Call; call != nil {
		p.text(call.Name)
		p.text(call.Arguments)
	}
	if part.Result != nil {
		p.name(part.Result.CallID)
		for i := range part.Result.Parts {
			p.part(&part.Result.Parts[i])
		}
	}
	if part.Kind == llm.PartOther {
		p.name(string(part.Raw))
	}
}

// blockEnds ends a block, which may have a mark.
func (p *prompt) blockEnds(mark []byte) {
	var life time.Duration
	if rawjson.Present(mark) {
		life = lifetimeOf(mark)
		p.marks++
	}
	if p.step == 0 {
		p.prefixes = append(p.prefixes, prefix{p.hash, p.tokens(), life})
	}
}

// placeOf returns the place of a message for a section.
func (p *prompt) placeOf(m *llm.Message, within bool) int {
	switch {
	case m.At > 0:
		return m.At
	case m.Role == llm.RoleSystem && !within:
		return 0
	}
	return p.number
}

// sectionEnds ends a message, or the tools.
func (p *prompt) sectionEnds(place int) {
	tokens := p.tokens()
	for i := range p.sections {
		tokens -= p.sections[i].tokens
	}
	p.sections = append(p.sections, section{hash: p.own, tokens: tokens, place: place})
	p.own = 0
}

// name adds a text that costs nothing.
func (p *prompt) name(text string) { p.hash, p.own = hashText(p.hash, text), hashText(p.own, text) }
