package quote

import (
	"bytes"
	"strconv"

	"weir/internal/ledger"
	"weir/internal/llm"
)

// boundCache adds the most that an answer can have cost whose request may have something kept in
// the cache for an hour, and whose provider does not tell how much of what it wrote that is.
func (a Answer) boundCache(s *ledger.Settlement) {
	n := s.Usage[llm.CacheWrite]
	if n == 0 || a.timed || s.ProviderCost != nil || !asksHourCache(a.Body) {
		return
	}
	most, price := s.Usage, &a.Attempt.Price
	most[llm.CacheWrite], most[llm.CacheWrite1h] = 0, most[llm.CacheWrite1h]+n
	s.Provenance, s.AtMost = ledger.Estimated, max(s.AtMost, price.CostAtMost(&most, s.Tier),
		price.CostAtMost(&s.Usage, s.Tier))
	s.Unpriced |= price.Unpriced(&most, s.Tier)
}

// asked is what the request says of its units, and that it has nothing kept in a cache for an hour, where it has not.
func (q *Quote) asked() string {
	switch {
	case !q.Price.Rates[llm.CacheWrite1h].Known(), asksHourCache(q.Body):
		return q.Head.Asked
	case q.Head.Asked == "":
		return llm.ShortCache
	}
	return q.Head.Asked + "," + llm.ShortCache
}

// asksHourCache reports whether a body may ask for something to be kept in a cache for an hour, as
// Anthropic's wire format and those that carry its marks can. It may say so of a body that has the
// words elsewhere, never the other way round.
//
// https://platform.claude.com/docs/en/build-with-claude/prompt-caching and
// https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html.
func asksHourCache(body []byte) bool {
	has := func(text string) bool { return bytes.Contains(body, []byte(text)) }
	return has(`"1h"`) && (has(`"cache_control"`) || has(`"cachePoint"`)) || hasEscapedWord(body)
}

// hasEscapedWord reports whether there is a letter, a digit or a _ written as \uXXXX, which no
// encoder does: a name in the body may not look like itself.
func hasEscapedWord(body []byte) bool {
	const escape = `\u00`
	for {
		before, rest, found := bytes.Cut(body, []byte(escape))
		if !found || len(rest) < 2 {
			return false
		}
		escaped := bytes.HasSuffix(before, []byte(`\`)) // the backslash, which no name here has
		if n, err := strconv.ParseUint(string(rest[:2]), 16, 8); err == nil && !escaped && isWord(byte(n)) {
			return true
		}
		body = rest
	}
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}
