package quote

import (
	"bytes"
	"strconv"

	"weir/internal/dialect/compose"
	"weir/internal/ledger"
	"weir/internal/llm"
)

// boundCache raises the bound of an answer whose request may store content in a cache for an hour or longer and whose
// provider does not report how much it did.
func (b openBound) boundCache() {
	s := b.settlement
	n := s.Usage[llm.CacheWrite]
	if n == 0 || b.timed || s.ProviderCost != nil || !mayStoreLong(b.Quote) {
		return
	}
	most, price := s.Usage, &b.Attempt.Price
	most[llm.CacheWrite], most[llm.CacheWrite1h] = 0, most[llm.CacheWrite1h]+n
	s.Provenance, s.AtMost = ledger.Estimated, max(s.AtMost, price.CostAtMost(&most, s.Tier),
		price.CostAtMost(&s.Usage, s.Tier))
	s.Unpriced |= price.Unpriced(&most, s.Tier)
}

// asked returns the modes of the request's units, with llm.ShortCache if it stores nothing in a cache for an hour or
// longer.
func (q *Quote) asked() string {
	switch {
	case !q.Price.Rates[llm.CacheWrite1h].Known(), mayStoreLong(q):
		return q.Head.Asked
	case q.Head.Asked == "":
		return llm.ShortCache
	}
	return q.Head.Asked + "," + llm.ShortCache
}

// mayStoreLong reports whether a request may store content in a cache for an hour or longer.
func mayStoreLong(q *Quote) bool {
	return asksHourCache(q.Body) || q.Speaks == q.Dialect && asksLongBreak(q.Body)
}

// asksHourCache reports whether a body may request a cache lifetime of an hour, in Anthropic's wire format and those
// with its cache marks. It may return true for a body with these words elsewhere, but never false for a body that
// requests it.
//
// https://platform.claude.com/docs/en/build-with-claude/prompt-caching and
// https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html.
func asksHourCache(body []byte) bool {
	has := func(text string) bool { return bytes.Contains(body, []byte(text)) }
	return has(`"1h"`) && (has(`"cache_control"`) || has(`"cachePoint"`)) || hasEscapedWord(body)
}

// asksLongBreak reports whether a body requests a lifetime at a breakpoint of OpenAI's prompt cache that the prices of
// cache writes do not cover.
func asksLongBreak(body []byte) bool {
	for rest := body; ; {
		_, after, found := bytes.Cut(rest, []byte(`"`+compose.Breakpoint+`"`))
		if !found {
			return false
		}
		rest = after
		value, is := bytes.CutPrefix(bytes.TrimLeft(after, " \t\r\n"), []byte(":")) // else it is a text
		if is && compose.IsLongCache(value) {
			return true
		}
	}
}

// hasEscapedWord reports whether a letter, a digit or a _ is written as \uXXXX, which no encoder does: a search for a
// name in the body may then miss it.
func hasEscapedWord(body []byte) bool {
	const escape = `\u00`
	for {
		before, rest, found := bytes.Cut(body, []byte(escape))
		if !found || len(rest) < 2 {
			return false
		}
		escaped := bytes.HasSuffix(before, []byte(`\`)) // the backslash is escaped, and no name here contains one
		if n, err := strconv.ParseUint(string(rest[:2]), 16, 8); err == nil && !escaped && isWord(byte(n)) {
			return true
		}
		body = rest
	}
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}
