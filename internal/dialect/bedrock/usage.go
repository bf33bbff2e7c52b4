package bedrock

import (
	"weir/internal/dialect/parse"
	"weir/internal/dialect/stamp"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// rawUsage is a usage object as its provider wrote it. Absent counts are zero.
type rawUsage struct {
	parse.Counter
	input, output, total  int64
	cached, written, hour int64
	detailed              int64 // of written, for how long it is told
	hasInput, hasOutput   bool
}

// decodeUsage reads a TokenUsage into the classes. What stands under
// inputTokens is what no cache had to do with:
// https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html; but OpenAI's
// models have all input there, which shows in their total
// (https://github.com/anomalyco/opencode/issues/47296).
// It reports false for no object, one without counts, or one with a count that
// no request can have.
// Timed is as in llm.Reply.
func decodeUsage(v []byte) (u llm.Usage, timed, ok bool) {
	if rawjson.KindOf(v) != rawjson.Object {
		return u, false, false
	}
	var r rawUsage
	for m := range rawjson.Members(v) {
		r.read(m)
	}
	if r.Wild || !r.hasInput && !r.hasOutput {
		return u, false, false
	}
	r.written = max(r.written, r.hour)
	if cache := r.cached + r.written; cache <= r.input && r.total == r.input+r.output {
		r.input -= cache
	}
	u[llm.Input], u[llm.Output] = r.input, r.output
	u[llm.CacheRead] = r.cached
	u[llm.CacheWrite], u[llm.CacheWrite1h] = r.written-r.hour, r.hour
	return u, r.written <= r.detailed, u.Plausible()
}

// read reads one member. The names that end in Count are of the time before the
// others and still stand beside them.
func (r *rawUsage) read(m rawjson.Member) {
	switch string(m.Key()) {
	case "inputTokens":
		r.hasInput = r.count(&r.input, m.Value)
	case "outputTokens":
		r.hasOutput = r.count(&r.output, m.Value)
	case "totalTokens":
		r.count(&r.total, m.Value)
	case "cacheReadInputTokens", "cacheReadInputTokenCount":
		r.count(&r.cached, m.Value)
	case "cacheWriteInputTokens", "cacheWriteInputTokenCount":
		r.count(&r.written, m.Value)
	case "cacheDetails":
		for _, d := range rawjson.Elements(m.Value) {
			r.readDetail(d)
		}
	}
}

// readDetail adds up what was written to the cache for an hour. The rest of
// what was written is for five minutes.
func (r *rawUsage) readDetail(v []byte) {
	var n int64
	if !r.count(&n, rawjson.Get(v, "inputTokens")) {
		return
	}
	r.detailed = min(r.detailed+n, parse.MaxCount)
	if rawjson.Text(rawjson.Get(v, "ttl")) == hourTTL {
		r.hour = min(r.hour+n, parse.MaxCount)
	}
}

// count reads the larger of two counts of the same thing into n, and reports
// whether there was one.
func (r *rawUsage) count(n *int64, v []byte) bool {
	var c int64
	told := r.Count(&c, v)
	*n = max(*n, c)
	return told
}

// isGuarded reports whether a member of an answer tells of a guardrail, whose checks are
// charged for by the text and by what they look for: https://aws.amazon.com/bedrock/pricing/.
// They are counted as one call of a tool without a price.
func isGuarded(m rawjson.Member) bool {
	return m.Is("trace") && rawjson.Present(rawjson.Get(m.Value, "guardrail")) ||
		m.Is("stopReason") && rawjson.Text(m.Value) == guardrailIntervened
}

// appendUsage writes a TokenUsage, with the cost in US dollars where there is
// one.
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
	if cost != nil {
		dst = cost.AppendText(append(dst, `,"cost":`...))
	}
	return append(dst, '}')
}

// Stamp appends to dst a reply, or the data of one stream event, with the cost
// in its usage object and, after more than one attempt, what was tried. Without
// a usage object the bytes stay as they are.
func Stamp(dst, data []byte, f *llm.Final) []byte { return stamp.Reply(dst, data, "usage", f) }

// HasUsage reports whether there is a usage object that Stamp completes.
func HasUsage(data []byte) bool { return stamp.Has(data, "usage") }
