package anthropic

import (
	"strings"

	"weir/internal/dialect/parse"
	"weir/internal/dialect/stamp"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// counts holds the counts of the usage objects so far. A stream reports its usage in several objects, and later ones
// override the members that they have: counts are cumulative for the whole answer.
//
// https://platform.claude.com/docs/en/build-with-claude/streaming and
// https://platform.claude.com/docs/en/build-with-claude/prompt-caching.
type counts struct {
	parse.Counter
	billsFetches                         bool // the provider charges for pages that it fetches
	input, output, cacheRead, cacheWrite int64
	cacheWrite5m, cacheWrite1h           int64
	thinking, searches, fetches          int64
	outside                              llm.Usage // of iterations outside the totals
	executor                             llm.Usage // of the model's own iterations, if another model advised it
	hasInput, hasOutput, hasWrite        bool
	untimed                              bool // an iteration is untimed
	timesWrites                          bool // the details of cache writes are present
	tier, geo, speed                     string
}

// add reads a usage object, and reports whether it has an output count. A count that no request can have invalidates
// all of them.
func (c *counts) add(v []byte) (told bool) {
	before := c.hasOutput
	c.hasOutput = false
	for m := range rawjson.Members(v) {
		c.read(m)
	}
	told = c.hasOutput
	c.hasOutput = c.hasOutput || before
	return told
}

func (c *counts) read(m rawjson.Member) {
	switch string(m.Key()) {
	case "input_tokens":
		c.hasInput = c.Count(&c.input, m.Value) || c.hasInput
	case "output_tokens":
		c.hasOutput = c.Count(&c.output, m.Value)
	case "cache_read_input_tokens":
		c.Count(&c.cacheRead, m.Value)
	case "cache_creation_input_tokens":
		c.hasWrite = c.Count(&c.cacheWrite, m.Value) || c.hasWrite
	case "cache_creation":
		c.timesWrites = rawjson.KindOf(m.Value) == rawjson.Object
		c.Count(&c.cacheWrite5m, rawjson.Get(m.Value, "ephemeral_5m_input_tokens"))
		c.Count(&c.cacheWrite1h, rawjson.Get(m.Value, "ephemeral_1h_input_tokens"))
	case "output_tokens_details":
		c.Count(&c.thinking, rawjson.Get(m.Value, "thinking_tokens"))
	case "server_tool_use":
		c.Count(&c.searches, rawjson.Get(m.Value, "web_search_requests"))
		c.Count(&c.fetches, rawjson.Get(m.Value, "web_fetch_requests"))
	case "iterations":
		c.readIterations(m.Value)
	default:
		c.readMode(m)
	}
}

// readMode reads the service tier, region and speed of the request.
//
// https://platform.claude.com/docs/en/build-with-claude/fast-mode and
// https://platform.claude.com/docs/en/about-claude/pricing.
func (c *counts) readMode(m rawjson.Member) {
	switch string(m.Key()) {
	case "service_tier":
		c.tier = rawjson.Text(m.Value)
	case "inference_geo":
		c.geo = rawjson.Text(m.Value)
	case "speed":
		c.speed = rawjson.Text(m.Value)
	}
}

// modes returns the service tier and other modes that change the price; also the standard speed if reported, because
// the request may have asked for another.
func (c *counts) modes() string {
	modes := c.tier
	for _, name := range []string{"geo:" + c.geo, "speed:" + c.speed} {
		switch {
		case strings.HasSuffix(name, ":") || llm.ModeName(name) == "" && name != "speed:standard":
		case modes == "":
			modes = name
		default:
			modes += "," + name
		}
	}
	return modes
}

// readIterations adds the usage of context compactions
// (https://platform.claude.com/docs/en/build-with-claude/compaction). The usage of an advisor is in no total and has
// the price of another model (https://platform.claude.com/docs/en/agents-and-tools/tool-use/advisor-tool); that of a
// fallback is in the totals, also with the price of another model
// (https://platform.claude.com/docs/en/build-with-claude/refusals-and-fallback). The usage of other kinds is unknown.
func (c *counts) readIterations(v []byte) {
	c.outside, c.executor = llm.Usage{}, llm.Usage{}
	advised := false
	for _, e := range rawjson.Elements(v) {
		switch kind := rawjson.Text(rawjson.Get(e, "type")); {
		case kind == "compaction":
			c.addIteration(&c.outside, e)
		case kind == "message":
			c.addIteration(&c.executor, e)
		case strings.HasPrefix(kind, "advisor"):
			advised = true
			c.outside[llm.OtherTools]++
		default: // a fallback, or a kind that may be in no total
			c.outside[llm.OtherTools]++
		}
	}
	if !advised {
		c.executor = llm.Usage{}
	}
}

// addIteration adds the counts of one iteration.
func (c *counts) addIteration(to *llm.Usage, v []byte) {
	var one counts
	for m := range rawjson.Members(v) {
		if !m.Is("iterations") { // iterations do not nest
			one.read(m)
		}
	}
	c.Wild = c.Wild || one.Wild
	c.untimed = c.untimed || !one.timed()
	u := one.classes()
	to.Add(&u)
}

// usage returns the counts by class, and reports whether they are present and plausible.
func (c *counts) usage() (llm.Usage, bool) {
	if c.Wild || !c.hasInput || !c.hasOutput {
		return llm.Usage{}, false
	}
	u := c.classes()
	return u, u.Plausible()
}

// readable returns the readable part of incomplete counts; nil for none.
func (c *counts) readable() *llm.Usage {
	u := c.classes()
	if most := c.most(u); most != nil {
		u = *most
	}
	return parse.Told(u)
}

// classes splits the totals. A detail that exceeds its total is cut to it. Input tokens exclude cache reads and writes.
// With an advisor, input tokens count only the first iteration, and output tokens count all.
func (c *counts) classes() llm.Usage {
	written := c.cacheWrite
	if !c.hasWrite {
		written = c.cacheWrite5m + c.cacheWrite1h
	}
	hour := min(c.cacheWrite1h, written)
	thinking := min(c.thinking, c.output)
	u := llm.Usage{
		llm.Input: c.input, llm.CacheRead: c.cacheRead, llm.CacheWrite: written - hour, llm.CacheWrite1h: hour,
		llm.Output: c.output - thinking, llm.Reasoning: thinking, llm.Searches: c.searches,
	}
	if c.billsFetches {
		u[llm.OtherTools] = c.fetches
	}
	for class := llm.Input; class.IsInput(); class++ {
		u[class] = max(u[class], c.executor[class])
	}
	u.Add(&c.outside)
	return u
}

// most returns an upper bound if the counts contradict one another: each count separately; otherwise nil.
func (c *counts) most(u llm.Usage) *llm.Usage {
	untold := c.cacheWrite - c.cacheWrite5m - c.cacheWrite1h // missing from the details of cache writes
	writes := c.hasWrite && (untold < 0 || untold > 0 && c.timesWrites)
	if !writes && c.thinking <= c.output {
		return nil
	}
	u[llm.CacheWrite], u[llm.CacheWrite1h] = max(u[llm.CacheWrite], c.cacheWrite5m),
		max(u[llm.CacheWrite1h], c.cacheWrite1h)
	if writes && untold > 0 { // at the more expensive storage time
		u[llm.CacheWrite], u[llm.CacheWrite1h] = u[llm.CacheWrite]-untold, u[llm.CacheWrite1h]+untold
	}
	u[llm.Output], u[llm.Reasoning] = max(u[llm.Output], c.output), max(u[llm.Reasoning], c.thinking)
	return &u
}

// timed reports whether the storage time of all cache writes is known.
func (c *counts) timed() bool { return !c.untimed && c.cacheWrite <= c.cacheWrite5m+c.cacheWrite1h }

// newCounts returns the counts of a provider with these quirks.
func newCounts(q *llm.Quirks) counts { return counts{billsFetches: q != nil && q.BillsFetches} }

// toolUse holds the use of the vendor's own tools that the blocks of an answer show.
type toolUse struct {
	code, web bool
	searches  int64 // without failed ones, which are free
	found     int64 // results of searches; their calls may not be shown
}

// add counts a block.
func (t *toolUse) add(block []byte) {
	switch rawjson.Text(rawjson.Get(block, "type")) {
	case "server_tool_use":
	case "web_search_tool_result":
		if rawjson.Text(rawjson.Get(block, "content", "type")) == "web_search_tool_result_error" {
			t.searches--
		} else {
			t.found++
		}
		return
	default:
		return
	}
	switch rawjson.Text(rawjson.Get(block, "name")) {
	case "code_execution", "bash_code_execution", "text_editor_code_execution":
		t.code = true
	case "web_search":
		t.searches++
		t.web = true
	case "web_fetch":
		t.web = true
	}
}

// addTo adds searches that the usage omits, also to the upper bound (nil while no counts contradict one another), and
// the container that ran code. A container is free in a request with web_search_20260209 or web_fetch_20260209, which
// the answer shows by their use (https://platform.claude.com/docs/en/about-claude/pricing).
func (t *toolUse) addTo(u, most *llm.Usage, c *counts) *llm.Usage {
	if t.code && !t.web && c.searches == 0 && c.fetches == 0 {
		u[llm.CodeSessions] = 1
	}
	searches := max(t.searches, t.found)
	if searches <= u[llm.Searches] {
		return most
	}
	u[llm.Searches] = searches
	if most == nil {
		all := *u
		most = &all
	}
	most[llm.Searches] = searches
	return most
}

// refused returns the charged usage of a refusal before any output: none, except in some categories. If the category is
// missing or unknown, so is the charge, and most is the counted usage
// (https://platform.claude.com/docs/en/build-with-claude/refusals-and-fallback, 2026-09-26).
func refused(details []byte, counted llm.Usage) (u llm.Usage, most *llm.Usage) {
	category := rawjson.Get(details, "category")
	switch rawjson.Text(category) {
	case "bio", "frontier_llm", "reasoning_extraction":
		return counted, nil
	case "cyber", "general_harms":
		return llm.Usage{}, nil
	}
	if rawjson.KindOf(category) == rawjson.Null {
		return llm.Usage{}, nil
	}
	return llm.Usage{}, &counted
}

const stopRefused = "refusal"

// appendUsage writes a usage object, and the cost in US dollars if it is known. Counts that other formats report
// separately are part of its totals.
func appendUsage(dst []byte, u *llm.Usage, tier string, cost *llm.Money) []byte {
	written := rawjson.AppendCount(make([]byte, 0, 128), `,"cache_creation":{"ephemeral_5m_input_tokens":`,
		u[llm.CacheWrite])
	written = rawjson.AppendCount(written, `,"ephemeral_1h_input_tokens":`, u[llm.CacheWrite1h])
	dst = appendCounts(dst, u, append(written, '}'))
	if tier != "" {
		dst = rawjson.AppendString(append(dst, `,"service_tier":`...), tier)
	}
	return appendCost(dst, cost)
}

// appendDeltaUsage writes the usage of a message_delta, which has fewer members.
func appendDeltaUsage(dst []byte, u *llm.Usage, cost *llm.Money) []byte {
	return appendCost(appendCounts(dst, u, nil), cost)
}

// appendCounts writes the members of all usage objects, and the given members about the cache.
func appendCounts(dst []byte, u *llm.Usage, cache []byte) []byte {
	written, read := u[llm.CacheWrite]+u[llm.CacheWrite1h], u[llm.CacheRead]+u[llm.CacheReadAudio]
	dst = rawjson.AppendCount(dst, `{"input_tokens":`, u.InputTokens()-written-read)
	dst = rawjson.AppendCount(dst, `,"cache_creation_input_tokens":`, written)
	dst = rawjson.AppendCount(dst, `,"cache_read_input_tokens":`, read)
	dst = rawjson.AppendCount(append(dst, cache...), `,"output_tokens":`, u.OutputTokens())
	dst = rawjson.AppendCount(dst, `,"output_tokens_details":{"thinking_tokens":`, u[llm.Reasoning])
	dst = append(dst, '}')
	if n := u[llm.Searches]; n > 0 {
		dst = append(rawjson.AppendCount(dst, `,"server_tool_use":{"web_search_requests":`, n), '}')
	}
	return dst
}

func appendCost(dst []byte, cost *llm.Money) []byte {
	return append(stamp.Cost(dst, cost), '}')
}

// Stamp appends to dst a reply, or the data of one stream event, with the cost in its usage object and, after more than
// one attempt, the list of attempts. Without a usage object the bytes stay unchanged.
func Stamp(dst, data []byte, f *llm.Final) []byte { return stamp.Reply(dst, data, "usage", f) }

// HasUsage reports whether data has a usage object that Stamp can complete.
func HasUsage(data []byte) bool { return stamp.Has(data, "usage") }
