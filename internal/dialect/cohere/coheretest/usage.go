package coheretest

import (
	"weir/internal/dialect/stamp"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// appendUsage writes a usage object, all of it billed, and the cost in US dollars if it is known.
func appendUsage(dst []byte, u *llm.Usage, cost *llm.Money) []byte {
	dst = rawjson.AppendCount(dst, `{"billed_units":{"input_tokens":`, u.InputTokens())
	dst = rawjson.AppendCount(dst, `,"output_tokens":`, u.OutputTokens())
	if n := u[llm.Searches]; n > 0 {
		dst = rawjson.AppendCount(dst, `,"search_units":`, n)
	}
	dst = rawjson.AppendCount(dst, `},"tokens":{"input_tokens":`, u.InputTokens())
	dst = rawjson.AppendCount(dst, `,"output_tokens":`, u.OutputTokens())
	if n := u[llm.Reasoning]; n > 0 {
		dst = rawjson.AppendCount(dst, `,"reasoning_tokens":`, n)
	}
	dst = rawjson.AppendCount(dst, `},"cached_tokens":`, u[llm.CacheRead]+u[llm.CacheReadAudio])
	return append(stamp.Cost(dst, cost), '}')
}

// Stamp appends to dst a reply, or the data of a stream's message-end, with the cost in its usage object and, after
// more than one attempt, the list of attempts. Without a usage object the bytes stay unchanged.
func Stamp(dst, data []byte, f *llm.Final) []byte {
	usage, last := findUsage(data)
	return stamp.At(dst, data, usage, last, f)
}

// HasUsage reports whether data has a usage object that Stamp can complete.
func HasUsage(data []byte) bool {
	usage, _ := findUsage(data)
	return usage.Value != nil
}

// findUsage returns the usage object, and the end of its object's last member.
func findUsage(data []byte) (usage rawjson.Member, last int) {
	for m := range rawjson.Members(data) {
		switch {
		case m.Is("usage") && rawjson.KindOf(m.Value) == rawjson.Object:
			usage = m
		case m.Is("delta"):
			for inner := range rawjson.Members(m.Value) {
				if inner.Is("usage") && rawjson.KindOf(inner.Value) == rawjson.Object {
					usage = inner
					usage.Start += m.Start
				}
			}
		}
		last = m.Start + len(m.Value)
	}
	return usage, last
}
