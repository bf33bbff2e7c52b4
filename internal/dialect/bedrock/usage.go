package bedrock

import (
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// rawUsage holds the counts of a usage object as the provider wrote it. Absent ones are zero.
type rawUsage struct {
	parse.Counter
	input, output, total  int64
	cached, written, hour int64
	detailed              int64 // the part of written with a known storage time
	hasInput, hasOutput   bool
	hasWritten            bool
}

// decodeUsage reads a TokenUsage into the classes. inputTokens excludes cached tokens:
// https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html; but with OpenAI's models it is all input,
// as their total shows (https://github.com/anomalyco/opencode/issues/47296). It reports false if the value is no
// object, has no counts, has a count that no request can have, or has cache counts without input and total. Timed is as
// in llm.Reply; so is most, if the counts contradict one another.
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
		u = r.separate(unknown)
		return llm.Usage{}, parse.Told(u), false, false
	}
	if cache <= r.input && r.total == r.input+r.output {
		r.input -= cache
	}
	most = r.most(unknown)
	switch { // the rest of the total belongs to the missing counts
	case !r.hasInput:
		r.input += unknown
	case !r.hasOutput:
		r.output += unknown
	}
	u = r.classes()
	return u, most, r.written <= r.detailed, u.Plausible()
}

// classes splits the cache writes by storage time.
func (r *rawUsage) classes() (u llm.Usage) {
	u[llm.Input], u[llm.Output] = r.input, r.output
	u[llm.CacheRead] = r.cached
	u[llm.CacheWrite], u[llm.CacheWrite1h] = r.written-r.hour, r.hour
	return u
}

// most returns an upper bound if the total exceeds the sum of its parts by unknown tokens, or if the cache writes by
// storage time exceed all cache writes; otherwise nil.
func (r *rawUsage) most(unknown int64) *llm.Usage {
	if unknown == 0 && r.detailed <= r.written {
		return nil
	}
	u := r.separate(unknown)
	return &u
}

// separate returns each count separately, with tokens of unknown kind as output.
func (r *rawUsage) separate(unknown int64) llm.Usage {
	u := r.classes()
	u[llm.Output] += unknown
	u[llm.CacheWrite] = max(r.written, r.detailed) - r.hour
	return u
}

// read reads one member. The names that end in Count are older and still sent.
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

// readDetail adds up the cache writes for an hour. Others are for five minutes.
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

// count reads the larger of two counts of the same amount into n, and reports whether there was one.
func (r *rawUsage) count(n *int64, v []byte) bool {
	var c int64
	told := r.Count(&c, v)
	*n = max(*n, c)
	return told
}

// isGuarded reports whether a member of an answer shows a guardrail, whose checks are charged by text length and kind:
// https://aws.amazon.com/bedrock/pricing/. They count as one call of a tool without a price.
func isGuarded(m rawjson.Member) bool {
	return m.Is("trace") && rawjson.Present(rawjson.Get(m.Value, "guardrail")) ||
		m.Is("stopReason") && rawjson.Text(m.Value) == guardrailIntervened
}

// modesOf returns the modes of an answer: its service tier and its latency, because optimized latency has a price of
// its own (https://docs.aws.amazon.com/bedrock/latest/userguide/latency-optimized-inference.html, undated copy).
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

// countGuard adds a guardrail to the usage, and to its upper bound if there is one.
func countGuard(u, most *llm.Usage) {
	u[llm.OtherTools] = 1
	if most != nil {
		most[llm.OtherTools] = 1
	}
}
