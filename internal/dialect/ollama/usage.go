package ollama

import (
	"weir/internal/dialect/parse"
	"weir/internal/dialect/stamp"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// usage holds the counts of an answer, which are next to its message (https://docs.ollama.com/api/usage).
type usage struct {
	parse.Counter
	prompt, cached, output int64
	told                   bool // the prompt count is present
	found                  bool // some count is present
}

// read reads a member of the answer and reports whether it is a count.
func (u *usage) read(m rawjson.Member) bool {
	switch string(m.Key()) {
	case "prompt_eval_count":
		u.told = u.Count(&u.prompt, m.Value)
	case "prompt_eval_cached_count":
		u.Count(&u.cached, m.Value)
	case "eval_count":
		u.Count(&u.output, m.Value)
	default:
		return false
	}
	u.found = true
	return true
}

// classes returns the counts by class. They count as reported only with the prompt count: servers of 2024 omitted it if
// the prompt was in their cache (https://github.com/ollama/ollama/pull/5371), and an omitted count is not zero. Without
// eval_count, in contrast, nothing was generated, because servers omit a zero. Tokens that newer servers read from
// their cache (prompt_eval_cached_count) are a part of prompt_eval_count. Thinking is a part of eval_count, and its
// amount is not reported.
func (u *usage) classes() (all llm.Usage, most *llm.Usage, ok bool) {
	if !u.told || u.Wild {
		separate := llm.Usage{llm.Input: u.prompt, llm.CacheRead: u.cached, llm.Output: u.output}
		return all, parse.Told(separate), false
	}
	cached := min(u.cached, u.prompt)
	return llm.Usage{llm.Input: u.prompt - cached, llm.CacheRead: cached, llm.Output: u.output}, nil, true
}

// appendUsage writes the counts as further members of an answer, and the cost in US dollars if it is known.
func appendUsage(dst []byte, u *llm.Usage, cost *llm.Money) []byte {
	dst = rawjson.AppendCount(dst, `,"prompt_eval_count":`, u.InputTokens())
	if n := u[llm.CacheRead] + u[llm.CacheReadAudio]; n > 0 {
		dst = rawjson.AppendCount(dst, `,"prompt_eval_cached_count":`, n)
	}
	dst = rawjson.AppendCount(dst, `,"eval_count":`, u.OutputTokens())
	return stamp.Cost(dst, cost)
}

// HasUsage reports whether data has counts that Stamp can add the cost to.
func HasUsage(data []byte) bool {
	var u usage
	for m := range rawjson.Members(data) {
		if u.read(m) {
			return true
		}
	}
	return false
}

// Stamp appends to dst an answer, or the last object of a stream, with the cost and, after more than one attempt, the
// list of attempts, after its last member. Without counts the bytes stay unchanged.
func Stamp(dst, data []byte, f *llm.Final) []byte {
	var u usage
	var last int // end of the last member
	counts := false
	ownCost := false // the provider has a cost of its own
	for m := range rawjson.Members(data) {
		counts = u.read(m) || counts
		last = m.Start + len(m.Value)
		ownCost = ownCost || f.Cost != nil && m.Is("cost")
	}
	if !counts {
		return append(dst, data...)
	}
	var text []byte
	if f.Cost != nil && !ownCost {
		text = f.Cost.AppendText(append(text, `,"cost":`...))
	}
	text = stamp.AttemptsAndCost(text, f, ownCost)
	return rawjson.Splice(dst, data, rawjson.Edit{Start: last, End: last, Text: text})
}
