package anthropic

import (
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
	input, output, cacheRead, cacheWrite int64
	cacheWrite5m, cacheWrite1h           int64
	thinking, searches                   int64
	beside                               llm.Usage // of compactions, which the totals leave out
	hasInput, hasOutput, hasWrite        bool
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
		c.Count(&c.cacheWrite5m, rawjson.Get(m.Value, "ephemeral_5m_input_tokens"))
		c.Count(&c.cacheWrite1h, rawjson.Get(m.Value, "ephemeral_1h_input_tokens"))
	case "output_tokens_details":
		c.Count(&c.thinking, rawjson.Get(m.Value, "thinking_tokens"))
	case "server_tool_use":
		c.Count(&c.searches, rawjson.Get(m.Value, "web_search_requests"))
	case "iterations":
		c.readIterations(m.Value)
	}
}

// readIterations adds what compactions of the context took:
// https://platform.claude.com/docs/en/build-with-claude/compaction.
func (c *counts) readIterations(v []byte) {
	c.beside = llm.Usage{}
	for _, e := range rawjson.Elements(v) {
		if rawjson.Text(rawjson.Get(e, "type")) != "compaction" {
			continue
		}
		var one counts
		for m := range rawjson.Members(e) {
			if !m.Is("iterations") { // there are none within one
				one.read(m)
			}
		}
		c.Wild = c.Wild || one.Wild
		u := one.classes()
		c.beside.Add(&u)
	}
}

// usage is the counts by class, and whether they are there and can be true.
func (c *counts) usage() (llm.Usage, bool) {
	if c.Wild || !c.hasInput || !c.hasOutput {
		return llm.Usage{}, false
	}
	u := c.classes()
	return u, u.Plausible()
}

// classes parts the totals. A detail larger than its total is cut to it. Input
// tokens leave out what a cache had or got.
func (c *counts) classes() llm.Usage {
	written := c.cacheWrite
	if !c.hasWrite {
		written = c.cacheWrite5m + c.cacheWrite1h
	}
	u := c.beside
	hour := min(c.cacheWrite1h, written)
	thinking := min(c.thinking, c.output)
	u.Add(&llm.Usage{
		llm.Input: c.input, llm.CacheRead: c.cacheRead, llm.CacheWrite: written - hour, llm.CacheWrite1h: hour,
		llm.Output: c.output - thinking, llm.Reasoning: thinking, llm.Searches: c.searches,
	})
	return u
}

// appendUsage writes a usage object, with the cost in US dollars where there is
// one. What other formats count apart is part of its total here.
func appendUsage(dst []byte, u *llm.Usage, tier string, cost *llm.Money) []byte {
	dst = rawjson.AppendCount(dst, `{"input_tokens":`, u[llm.Input]+u[llm.AudioIn]+u[llm.ImageIn])
	dst = rawjson.AppendCount(dst, `,"cache_creation_input_tokens":`, u[llm.CacheWrite]+u[llm.CacheWrite1h])
	dst = rawjson.AppendCount(dst, `,"cache_read_input_tokens":`, u[llm.CacheRead])
	dst = rawjson.AppendCount(dst, `,"cache_creation":{"ephemeral_5m_input_tokens":`, u[llm.CacheWrite])
	dst = rawjson.AppendCount(dst, `,"ephemeral_1h_input_tokens":`, u[llm.CacheWrite1h])
	dst = rawjson.AppendCount(dst, `},"output_tokens":`, u.OutputTokens())
	dst = rawjson.AppendCount(dst, `,"output_tokens_details":{"thinking_tokens":`, u[llm.Reasoning])
	dst = append(dst, '}')
	if n := u[llm.Searches]; n > 0 {
		dst = append(rawjson.AppendCount(dst, `,"server_tool_use":{"web_search_requests":`, n), '}')
	}
	if tier != "" {
		dst = rawjson.AppendString(append(dst, `,"service_tier":`...), tier)
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
