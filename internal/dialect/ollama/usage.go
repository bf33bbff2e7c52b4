package ollama

import (
	"weir/internal/dialect/parse"
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
