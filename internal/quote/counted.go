package quote

import (
	"weir/internal/dialect"
	"weir/internal/llm"
)

const (
	// The margin on a provider's count: a number of tokens, and a fiftieth of the count. Anthropic's is an estimate,
	// from which the real number "may differ by a small amount"
	// (https://platform.claude.com/docs/en/build-with-claude/token-counting, undated copy); in Google's own example
	// the prompt has one token more than the count (https://ai.google.dev/api/tokens, undated copy).
	countMargin, countShare = 64, 50
	// leastCounted is the divisor of the fine bound, without the vendor's own tokens, that gives the minimum hold
	// whatever a provider counts.
	leastCounted = 8
)

// MayCount reports whether a provider's count can lower the hold of the input: the body shows the size of all
// content, and the provider runs no tools that read more.
func (q *Quote) MayCount(r *Inputs) bool {
	return q.Op.Op == llm.OpChat && !r.hidden && r.calls == 0 && r.reads <= 1 && q.Behind == 0
}

// TakeCount records the provider's count of a request's tokens.
func (r *Inputs) TakeCount(tokens int64, by *dialect.Counter) {
	const most = 1 << 40 // more than any request has
	tokens = min(max(tokens, 0), most)
	r.counted = tokens + tokens/countShare + countMargin
	if !by.Media {
		r.counted += r.images + r.written + r.recordings.tokens
	}
}
