package quote

import (
	"weir/internal/dialect"
	"weir/internal/llm"
)

const (
	// A provider's count is held with so many tokens and a fiftieth on top. Anthropic's is an estimate, from which the
	// real number "may differ by a small amount"
	// (https://platform.claude.com/docs/en/build-with-claude/token-counting, undated copy); in Google's own example the
	// prompt has a token more than was counted (https://ai.google.dev/api/tokens, undated copy).
	countMargin, countShare = 64, 50
	// leastCounted is the part of the fine bound, without the vendor's own words around it, that is held at least,
	// whatever a provider counts.
	leastCounted = 8
)

// MayCount reports whether a count by the provider can lower what is held of the input: nothing is in it whose size the
// body does not show, and the provider runs no tools that read more.
func (q *Quote) MayCount(r *Inputs) bool {
	return q.Op.Op == llm.OpChat && !r.hidden && r.calls == 0 && r.reads <= 1 && q.Behind == 0
}

// TakeCount takes note of how many tokens the provider counts of a request.
func (r *Inputs) TakeCount(tokens int64, by *dialect.Counter) {
	const most = 1 << 40 // more than any request has
	tokens = min(max(tokens, 0), most)
	r.counted = tokens + tokens/countShare + countMargin
	if !by.Media {
		r.counted += r.images + r.written + r.heard.tokens
	}
}
