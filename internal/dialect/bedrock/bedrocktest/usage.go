package bedrocktest

import (
	"weir/internal/dialect/stamp"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// appendUsage writes a TokenUsage, and the cost in US dollars if it is known.
func appendUsage(dst []byte, u *llm.Usage, cost *llm.Money) []byte {
	written, read := u[llm.CacheWrite]+u[llm.CacheWrite1h], u[llm.CacheRead]+u[llm.CacheReadAudio]
	dst = rawjson.AppendCount(dst, `{"inputTokens":`, u.InputTokens()-read-written)
	dst = rawjson.AppendCount(dst, `,"outputTokens":`, u.OutputTokens())
	dst = rawjson.AppendCount(dst, `,"totalTokens":`, u.TotalTokens())
	dst = rawjson.AppendCount(dst, `,"cacheReadInputTokens":`, read)
	dst = rawjson.AppendCount(dst, `,"cacheWriteInputTokens":`, written)
	if written > 0 {
		dst = append(dst, `,"cacheDetails":[`...)
		if n := u[llm.CacheWrite1h]; n > 0 {
			dst = append(rawjson.AppendCount(dst, `{"ttl":"1h","inputTokens":`, n), '}')
		}
		if n := u[llm.CacheWrite]; n > 0 {
			if u[llm.CacheWrite1h] > 0 {
				dst = append(dst, ',')
			}
			dst = append(rawjson.AppendCount(dst, `{"ttl":"5m","inputTokens":`, n), '}')
		}
		dst = append(dst, ']')
	}
	return append(stamp.Cost(dst, cost), '}')
}

// Stamp appends to dst a reply, or the data of one stream event, with the cost in its usage object and, after more than
// one attempt, the list of attempts. Without a usage object the bytes stay unchanged.
func Stamp(dst, data []byte, f *llm.Final) []byte { return stamp.Reply(dst, data, "usage", f) }

// HasUsage reports whether data has a usage object that Stamp can complete.
func HasUsage(data []byte) bool { return stamp.Has(data, "usage") }
