package simulator

import (
	"encoding/json"
	"strconv"

	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// tokens returns the log probabilities of the first pieces of a choice's text; nil if they were not requested.
func (a *answer) tokens(choice int64) json.RawMessage {
	if a.logprobs == nil {
		return nil
	}
	var s parse.Tokens
	left, h := a.limit, a.hashOf(choice)
	for i := range a.parts {
		p := &a.parts[i]
		n := min(p.count, max(left, 0))
		for j := range n {
			a.token(&s, p, h, j)
		}
		left -= n
	}
	return s.List()
}

// token adds a piece of a text, and other likely words at its place.
func (a *answer) token(s *parse.Tokens, p *part, h uint64, i int64) {
	if p.kind != llm.EventText {
		return
	}
	text := p.at(h, i)
	s.Add(parse.Token{Text: rawjson.AppendString(nil, text), Logprob: logprob(h, i, 0)})
	for k := range a.logprobs.Top {
		s.AddLikely(parse.Token{Text: rawjson.AppendString(nil, text), Logprob: logprob(h, i, k)})
		text = otherWord(plainWords, text, h+uint64(k), i)
	}
}

// logprob returns the log probability of the k-th likely token at place i, less than that of the one before.
func logprob(h uint64, i, k int64) []byte {
	return strconv.AppendFloat(nil, -float64(k)-float64(mix(h+uint64(i))%1000)/1000, 'f', 3, 64)
}
