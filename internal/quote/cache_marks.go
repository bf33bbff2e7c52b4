package quote

import (
	"slices"

	"weir/internal/dialect/compose"
	"weir/internal/dialect/rules"
	"weir/internal/llm"
	"weir/internal/promptcache"
	"weir/internal/rawjson"
)

// addsKey reports whether a key for its prompt cache is added to a request without one.
func addsKey(q *Quote) bool {
	return q.CacheKey != "" && q.Quirks.CacheKey && q.Target.AddsCacheMarks() && !q.Head.Conversation.CacheKey.Present()
}

// WithCacheKey returns the body of a request in the target's wire format with the key for its prompt cache, if one is
// added.
func WithCacheKey(q *Quote, body []byte) []byte {
	if !addsKey(q) {
		return body
	}
	return rawjson.Splice(nil, body, rawjson.Set(body, compose.CacheKey, rawjson.AppendString(nil, q.CacheKey)))
}

// leastPrompt returns the shortest prompt, in tokens, that the target stores up to a mark that is added; 0 if none is
// added, the target needs no marks, or the number is unknown, or the price of storing, which no hold would then cover.
// In Chat Completions only some routers accept marks.
func leastPrompt(q *Quote) int64 {
	unpriced := q.Price.Known() && !q.Price.Rates[llm.CacheWrite].Known()
	if q.Op.Op != llm.OpChat || unpriced || !q.Target.AddsCacheMarks() ||
		!q.Speaks.CacheMarks && !slices.Contains(q.Quirks.Takes, compose.CacheMark) {
		return 0
	}
	return promptcache.LeastOfClaude(q.Speaks.Name, q.Target.Model)
}

// marked returns a chat with the marks that the target's prompt cache needs; r itself if it needs none. A mark adds no
// tokens, and budgets hold the price of cache writes for all input in any case.
func marked(q *Quote, r *llm.Request) *llm.Request {
	if least := leastPrompt(q); least > 0 {
		return rules.Marked(r, least)
	}
	return r
}

// keyed returns a chat with the key that the target's prompt cache needs; r itself if it needs none.
func keyed(q *Quote, r *llm.Request) *llm.Request {
	if !addsKey(q) {
		return r
	}
	in := *r
	in.CacheKey = q.CacheKey
	return &in
}
