package ollamatest

import (
	"weir/internal/dialect/stamp"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// counts are the members with usage.
var counts = rawjson.Names{"prompt_eval_count", "prompt_eval_cached_count", "eval_count"}

// appendUsage writes the counts as further members of an answer, and the cost in US dollars if it is known.
func appendUsage(dst []byte, u *llm.Usage, cost *llm.Money) []byte {
	dst = rawjson.AppendCount(dst, `,"prompt_eval_count":`, u.InputTokens())
	if n := u[llm.CacheRead] + u[llm.CacheReadAudio]; n > 0 {
		dst = rawjson.AppendCount(dst, `,"prompt_eval_cached_count":`, n)
	}
	dst = rawjson.AppendCount(dst, `,"eval_count":`, u.OutputTokens())
	return stamp.Cost(dst, cost)
}

// Stamp appends to dst an answer, or the last object of a stream, with the cost and, after more than one attempt, the
// list of attempts, after its last member. Without counts the bytes stay unchanged.
func Stamp(dst, data []byte, f *llm.Final) []byte {
	var last int // end of the last member
	counted := false
	ownCost := false // the provider has a cost of its own
	for m := range rawjson.Members(data) {
		counted = counts.Has(m.Name()) || counted
		last = m.Start + len(m.Value)
		ownCost = ownCost || f.Cost != nil && m.Is("cost")
	}
	if !counted {
		return append(dst, data...)
	}
	var text []byte
	if f.Cost != nil && !ownCost {
		text = f.Cost.AppendText(append(text, `,"cost":`...))
	}
	text = stamp.AttemptsAndCost(text, f, ownCost)
	return rawjson.Splice(dst, data, rawjson.Edit{Start: last, End: last, Text: text})
}

// HasUsage reports whether data has counts that Stamp can add the cost to.
func HasUsage(data []byte) bool {
	for m := range rawjson.Members(data) {
		if counts.Has(m.Name()) {
			return true
		}
	}
	return false
}
