package simulator

import (
	"bytes"
	"slices"
	"strings"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// toContinue returns the assistant's text at the end of the conversation that a model with words of its own continues;
// empty for none.
func toContinue(s *spec, req *llm.Request) string {
	n := len(req.Messages)
	if n == 0 || s.base != baseChat && s.base != baseStory || choicesOf(s, req) > 1 {
		return ""
	}
	last := &req.Messages[n-1]
	calls := slices.ContainsFunc(last.Parts, func(p llm.Part) bool { return p.Kind == llm.PartToolCall })
	if last.Role != llm.RoleAssistant || calls {
		return ""
	}
	return last.Text()
}

// words returns the hash that decides the words of the answer. A story depends only on its question. A chat that
// continues the assistant's text has the words of the request that began the text.
func (c *call) words() uint64 {
	begun := toContinue(c.spec, c.req)
	switch {
	case c.spec.base == baseStory:
		return hash(c.seed(), []byte(lastUserText(c.req)))
	case begun != "":
		h := c.hashOf(withoutLast(c.body))
		if _, ok := spoken(c.spec).behind(h, begun); ok {
			return h
		}
	}
	return c.hash
}

// resume removes the text that the answer repeats at its beginning. An answer that begins otherwise stays whole.
func (a *answer) resume(begun string) {
	if begun == "" || len(a.parts) == 0 {
		return
	}
	rest, ok := a.parts[len(a.parts)-1].behind(a.hash, begun)
	if !ok {
		return
	}
	a.parts, a.limit, a.thinking = nil, 0, 0
	a.add(rest)
}

// behind returns the remainder after text in the part; false if the part does not begin with it. The place may be
// within a piece.
func (p part) behind(h uint64, text string) (rest part, ok bool) {
	for i := range p.count {
		piece := p.at(h, i)
		if len(text) < len(piece) {
			return p.from(i, len(text)), strings.HasPrefix(piece, text)
		}
		if text, ok = strings.CutPrefix(text, piece); !ok {
			return part{}, false
		}
	}
	return part{kind: p.kind}, text == ""
}

// from returns the part from a byte of one of its pieces on.
func (p part) from(first int64, offset int) part {
	rest := p
	rest.count -= first
	rest.at = func(h uint64, i int64) string {
		piece := p.at(h, first+i)
		if i == 0 {
			return piece[offset:]
		}
		return piece
	}
	return rest
}

// conversations are the members of a request that hold its messages, in any wire format.
var conversations = []string{"messages", "contents", "input"}

// withoutLast returns the body before its last message was appended.
func withoutLast(body []byte) []byte {
	for m := range rawjson.Members(body) {
		if !slices.Contains(conversations, m.Name()) || rawjson.KindOf(m.Value) != rawjson.Array {
			continue
		}
		start, end := 0, 1 // ends of the last message but one, and of the last
		for _, message := range rawjson.Elements(m.Value) {
			start = end
			end += bytes.Index(m.Value[end:], message) + len(message)
		}
		return rawjson.Splice(nil, body, rawjson.Edit{Start: m.Start + start, End: m.Start + end})
	}
	return body
}
