package quote

import (
	"slices"

	"weir/internal/dialect/compose"
	"weir/internal/dialect/rules"
	"weir/internal/llm"
	"weir/internal/promptcache"
)

// addsKey reports whether a key for the prompt cache is added to requests without one.
func addsKey(q *Quote) bool { return q.CacheKey != "" && q.Quirks.CacheKey }

// leastPrompt returns the shortest prompt, in tokens, that a target stores up to a mark; 0 if it needs no marks, or the
// number is unknown. In Chat Completions only some routers accept marks.
func leastPrompt(o *Offer) int64 {
	if !o.Speaks.CacheMarks && !slices.Contains(o.Quirks.Takes, compose.CacheMark) {
		return 0
	}
	return promptcache.LeastOfClaude(o.Speaks.Name, o.Target.Model)
}

// mayMark reports whether chats get marks of their prompt cache at the target, or a key for it, if they have none.
func mayMark(q *Quote) bool {
	return q.Target.AddsCacheMarks() && (addsKey(q) || leastPrompt(&q.Offer) > 0)
}

// marked returns a chat with the marks and the key that the target's prompt cache needs; r itself if it needs none. A
// mark adds no tokens, and budgets hold the price of cache writes for all input in any case.
func marked(q *Quote, r *llm.Request) *llm.Request {
	if q.Op.Op != llm.OpChat || !mayMark(q) {
		return r
	}
	if least := leastPrompt(&q.Offer); least > 0 {
		r = rules.Marked(r, least)
	}
	hasKey := slices.ContainsFunc(r.Extra, func(f llm.Field) bool { return f.Name == compose.CacheKey })
	if !addsKey(q) || hasKey {
		return r
	}
	in := *r
	in.CacheKey = q.CacheKey
	return &in
}
