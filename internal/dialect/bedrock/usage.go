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
	hasWritten            bool
}

// decodeUsage reads a TokenUsage into the classes. What stands under
// inputTokens is what no cache had to do with:
// https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html; but OpenAI's
// models have all input there, which shows in their total
// (https://github.com/anomalyco/opencode/issues/47296).
// It reports false for no object, one without counts, one with a count that no request can have,
// and one that tells of a cache and neither of the input nor of a total.
// Timed is as in llm.Reply; so is most, where the counts contradict one another.
func decodeUsage(v []byte) (u llm.Usage, most *llm.Usage, timed, ok bool) {
	if rawjson.KindOf(v) != rawjson.Object {
		return u, nil, false, false
	}
	var r rawUsage
	for m := range rawjson.Members(v) {
		r.read(m)
	}
	if !r.hasWritten {
		r.written = r.detailed
	}
	r.written = max(r.written, r.hour)
	cache := r.cached + r.written
	unknown := max(0, r.total-r.input-r.output-cache)
	if r.Wild || !r.hasInput && !r.hasOutput || !r.hasInput && r.total == 0 && cache > 0 {
		u = r.apart(unknown)
		return llm.Usage{}, parse.Told(u), false, false
	}
	if cache <= r.input && r.total == r.input+r.output {
		r.input -= cache
	}
	most = r.most(unknown)
	switch { // what the total has more belongs to what is not told
	case !r.hasInput:
		r.input += unknown
	case !r.hasOutput:
		r.output += unknown
	}
	u = r.classes()
	return u, most, r.written <= r.detailed, u.Plausible()
}

// classes parts what was written to a cache.
func (r *rawUsage) classes() (u llm.Usage) {
	u[llm.Input], u[llm.Output] = r.input, r.output
	u[llm.CacheRead] = r.cached
	u[llm.CacheWrite], u[llm.CacheWrite1h] = r.written-r.hour, r.hour
	return u
}

// most is what the counts come to where the total is larger than all its parts, by so many tokens,
// of which nobody knows what they were, or where more was written to a cache for some time than
// at all. It is nil where the counts agree.
func (r *rawUsage) most(unknown int64) *llm.Usage {
	if unknown == 0 && r.detailed <= r.written {
		return nil
	}
	u := r.apart(unknown)
	return &u
}

// apart are the counts each by itself, with so many tokens of which nobody knows what they were as output.
func (r *rawUsage) apart(unknown int64) llm.Usage {
	u := r.classes()
	u[llm.Output] += unknown
	u[llm.CacheWrite] = max(r.written, r.detailed) - r.hour
	return u
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
		r.hasWritten = r.count(&r.written, m.Value) || r.hasWritten
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

// modesOf are the modes in which an answer was served: its service tier and its latency, which may
// be optimized at a price of its own
// (https://docs.aws.amazon.com/bedrock/latest/userguide/latency-optimized-inference.html, undated copy).
func modesOf(tier, latency []byte) string {
	modes, how := rawjson.Text(tier), rawjson.Text(latency)
	switch {
	case how == "":
		return modes
	case modes == "":
		return "latency:" + how
	}
	return modes + ",latency:" + how
}

// countGuard adds a guardrail to what was used, and to the most of it where there is one.
func countGuard(u, most *llm.Usage) {
	u[llm.OtherTools] = 1
	if most != nil {
		most[llm.OtherTools] = 1
	}
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
