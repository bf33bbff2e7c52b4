package anthropic

import (
	"strings"

	"weir/internal/dialect/parse"
	"weir/internal/dialect/stamp"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// counts are what usage objects said so far, by place. A stream tells its usage
// in several objects, of which a later one overrides what it names: its counts
// are of the whole answer, never of what was new.
//
// https://platform.claude.com/docs/en/build-with-claude/streaming and
// https://platform.claude.com/docs/en/build-with-claude/prompt-caching.
type counts struct {
	parse.Counter
	billsFetches                         bool // the provider charges for pages that it fetches
	input, output, cacheRead, cacheWrite int64
	cacheWrite5m, cacheWrite1h           int64
	thinking, searches, fetches          int64
	beside                               llm.Usage // of iterations, which the totals leave out
	executor                             llm.Usage // of the model's own iterations, where another advised it
	hasInput, hasOutput, hasWrite        bool
	untimed                              bool // some iteration is
	timesWrites                          bool // the details of writes to the cache are there
	tier, geo, speed                     string
}

// add reads a usage object. A count that no request can have makes all of them
// unbelievable. It reports whether the object tells how much came out.
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

// readMode reads how the request was served: its tier, its region and its speed.
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

// modes are the service tier, and what else changes what the request costs; and the usual speed where it is told, since
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

// readIterations adds what compactions of the context took
// (https://platform.claude.com/docs/en/build-with-claude/compaction). What an advisor
// took is in no total and has the price of another model
// (https://platform.claude.com/docs/en/agents-and-tools/tool-use/advisor-tool); what a
// fallback took is in the totals, and has the price of another model, too
// (https://platform.claude.com/docs/en/build-with-claude/refusals-and-fallback). What one of another kind took, nobody
// knows.
func (c *counts) readIterations(v []byte) {
	c.beside, c.executor = llm.Usage{}, llm.Usage{}
	advised := false
	for _, e := range rawjson.Elements(v) {
		switch kind := rawjson.Text(rawjson.Get(e, "type")); {
		case kind == "compaction":
			c.addIteration(&c.beside, e)
		case kind == "message":
			c.addIteration(&c.executor, e)
		case strings.HasPrefix(kind, "advisor"):
			advised = true
			c.beside[llm.OtherTools]++
		default: // a fallback, or of a kind that may be in no total, either
			c.beside[llm.OtherTools]++
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
		if !m.Is("iterations") { // there are none within one
			one.read(m)
		}
	}
	c.Wild = c.Wild || one.Wild
	c.untimed = c.untimed || !one.timed()
	u := one.classes()
	to.Add(&u)
}

// usage is the counts by class, and whether they are there and can be true.
func (c *counts) usage() (llm.Usage, bool) {
	if c.Wild || !c.hasInput || !c.hasOutput {
		return llm.Usage{}, false
	}
	u := c.classes()
	return u, u.Plausible()
}

// readable is what could be read of counts that are not all there; nil for nothing.
func (c *counts) readable() *llm.Usage {
	u := c.classes()
	if most := c.most(u); most != nil {
		u = *most
	}
	return parse.Told(u)
}

// classes parts the totals. A detail larger than its total is cut to it. Input
// tokens leave out what a cache had or got. Beside an advisor they are those of the
// first iteration alone, and output tokens those of all.
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
	u.Add(&c.beside)
	return u
}

// most is what the counts come to where they contradict one another, each by itself; nil where they do not.
func (c *counts) most(u llm.Usage) *llm.Usage {
	untold := c.cacheWrite - c.cacheWrite5m - c.cacheWrite1h // by the details, of the writes to the cache
	writes := c.hasWrite && (untold < 0 || untold > 0 && c.timesWrites)
	if !writes && c.thinking <= c.output {
		return nil
	}
	u[llm.CacheWrite], u[llm.CacheWrite1h] = max(u[llm.CacheWrite], c.cacheWrite5m), max(u[llm.CacheWrite1h], c.cacheWrite1h)
	if writes && untold > 0 { // for the dearer time
		u[llm.CacheWrite], u[llm.CacheWrite1h] = u[llm.CacheWrite]-untold, u[llm.CacheWrite1h]+untold
	}
	u[llm.Output], u[llm.Reasoning] = max(u[llm.Output], c.output), max(u[llm.Reasoning], c.thinking)
	return &u
}

// timed reports whether it is told for how long all that was written to the cache is kept.
func (c *counts) timed() bool { return !c.untimed && c.cacheWrite <= c.cacheWrite5m+c.cacheWrite1h }

// newCounts are counts of a provider with these quirks.
func newCounts(q *llm.Quirks) counts { return counts{billsFetches: q != nil && q.BillsFetches} }

// toolUse is what the blocks of an answer show of the vendor's own tools.
type toolUse struct {
	code, web bool
	searches  int64 // but for those that failed, which are free
	found     int64 // results of searches, whose calls may not show
}

// add takes note of a block.
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

// addTo counts the searches that usage leaves out and, with them, what the counts come to at most,
// which is nil while nothing contradicts another; and the container in which code ran. That is free
// in a request with web_search_20260209 or web_fetch_20260209, which the answer shows by their use
// (https://platform.claude.com/docs/en/about-claude/pricing).
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

// refused is what a refusal before any output is charged for, though its tokens are counted:
// nothing, but in some categories, and nobody knows in one that is not told or not known, for
// which most is what was counted (https://platform.claude.com/docs/en/build-with-claude/refusals-and-fallback,
// 2026-09-26).
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

// appendUsage writes a usage object, with the cost in US dollars where there is
// one. What other formats count apart is part of its total here.
func appendUsage(dst []byte, u *llm.Usage, tier string, cost *llm.Money) []byte {
	written := rawjson.AppendCount(make([]byte, 0, 128), `,"cache_creation":{"ephemeral_5m_input_tokens":`, u[llm.CacheWrite])
	written = rawjson.AppendCount(written, `,"ephemeral_1h_input_tokens":`, u[llm.CacheWrite1h])
	dst = appendCounts(dst, u, append(written, '}'))
	if tier != "" {
		dst = rawjson.AppendString(append(dst, `,"service_tier":`...), tier)
	}
	return appendCost(dst, cost)
}

// appendDeltaUsage writes the usage of a message_delta, whose type has fewer members.
func appendDeltaUsage(dst []byte, u *llm.Usage, cost *llm.Money) []byte {
	return appendCost(appendCounts(dst, u, nil), cost)
}

// appendCounts writes what all usage objects have, with the members about the cache in its place.
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
