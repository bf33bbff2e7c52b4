package openai

import (
	"weir/internal/dialect/parse"
	"weir/internal/dialect/stamp"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// rawUsage is a usage object as its provider wrote it, its counts by place.
// Absent ones are zero; prompt and completion say whether they stood there.
type rawUsage struct {
	parse.Counter
	prompt, completion, total            int64
	cached, cacheWrite, audioIn, imageIn int64
	reasoning, audioOut, searches        int64
	hasPrompt, hasCompletion, hasCached  bool
}

// DecodeUsage reads a usage object of Chat Completions, or else of Responses,
// into the classes, which add up to the provider's own totals. It reports false
// for no object, one without counts, or one with a count that no request can have.
//
// https://platform.openai.com/docs/api-reference/chat/object,
// https://platform.openai.com/docs/api-reference/responses/object, and what others
// add: prompt_cache_hit_tokens (DeepSeek), num_search_queries (Perplexity),
// num_sources_used (xAI), cache_write_tokens (OpenRouter).
func DecodeUsage(v []byte, q *llm.Quirks) (llm.Usage, bool) {
	if rawjson.KindOf(v) != rawjson.Object {
		return llm.Usage{}, false
	}
	var r rawUsage
	for m := range rawjson.Members(v) {
		r.read(m)
	}
	if !r.hasPrompt && !r.hasCompletion {
		for m := range rawjson.Members(v) {
			r.readResponses(m)
		}
	}
	if r.Wild || !r.hasPrompt && !r.hasCompletion {
		return llm.Usage{}, false
	}
	u := r.classes(q)
	return u, u.Plausible()
}

func (r *rawUsage) read(m rawjson.Member) {
	switch string(m.Key()) {
	case "prompt_tokens":
		r.hasPrompt = r.Count(&r.prompt, m.Value)
	case "completion_tokens":
		r.hasCompletion = r.Count(&r.completion, m.Value)
	case "total_tokens":
		r.Count(&r.total, m.Value)
	case "prompt_tokens_details":
		for d := range rawjson.Members(m.Value) {
			r.readPromptDetail(d)
		}
	case "completion_tokens_details":
		for d := range rawjson.Members(m.Value) {
			r.readCompletionDetail(d)
		}
	case "prompt_cache_hit_tokens", "cached_tokens":
		if !r.hasCached {
			r.Count(&r.cached, m.Value)
		}
	case "reasoning_tokens":
		r.Count(&r.reasoning, m.Value)
	case "num_search_queries", "num_sources_used":
		r.Count(&r.searches, m.Value)
	}
}

// readResponses reads what Responses calls otherwise. Some providers of Chat
// Completions have these members, too, and leave them at zero.
func (r *rawUsage) readResponses(m rawjson.Member) {
	switch string(m.Key()) {
	case "input_tokens":
		r.hasPrompt = r.Count(&r.prompt, m.Value)
	case "output_tokens":
		r.hasCompletion = r.Count(&r.completion, m.Value)
	case "input_tokens_details":
		for d := range rawjson.Members(m.Value) {
			r.readPromptDetail(d)
		}
	case "output_tokens_details":
		for d := range rawjson.Members(m.Value) {
			r.readCompletionDetail(d)
		}
	}
}

func (r *rawUsage) readPromptDetail(m rawjson.Member) {
	switch string(m.Key()) {
	case "cached_tokens":
		r.hasCached = r.Count(&r.cached, m.Value)
	case "cache_write_tokens":
		r.Count(&r.cacheWrite, m.Value)
	case "audio_tokens":
		r.Count(&r.audioIn, m.Value)
	case "image_tokens":
		r.Count(&r.imageIn, m.Value)
	}
}

func (r *rawUsage) readCompletionDetail(m rawjson.Member) {
	switch string(m.Key()) {
	case "reasoning_tokens":
		r.Count(&r.reasoning, m.Value)
	case "audio_tokens":
		r.Count(&r.audioOut, m.Value)
	}
}

// classes parts the totals. A detail larger than what is left of its total is
// cut to it, so that the sum always holds.
func (r *rawUsage) classes(q *llm.Quirks) llm.Usage {
	var u llm.Usage
	left := r.prompt
	for _, d := range []struct {
		class llm.Class
		n     int64
	}{{llm.CacheRead, r.cached}, {llm.CacheWrite, r.cacheWrite}, {llm.AudioIn, r.audioIn}, {llm.ImageIn, r.imageIn}} {
		u[d.class] = min(d.n, left)
		left -= u[d.class]
	}
	u[llm.Input] = left

	left = r.completion
	if r.beside(q) {
		u[llm.Reasoning] = r.reasoning
	} else {
		u[llm.Reasoning] = min(r.reasoning, left)
		left -= u[llm.Reasoning]
	}
	u[llm.AudioOut] = min(r.audioOut, left)
	u[llm.Output] = left - u[llm.AudioOut]
	u[llm.Searches] = r.searches
	return u
}

// beside reports whether reasoning is counted beside the completion: by the
// provider's quirk, or because only so the provider's own total comes out.
func (r *rawUsage) beside(q *llm.Quirks) bool {
	return q != nil && q.ReasoningBesideOutput ||
		r.reasoning > 0 && r.total == r.prompt+r.completion+r.reasoning
}

// appendUsage writes a usage object with OpenAI's details and the cost in US
// dollars where there is one.
func appendUsage(dst []byte, u *llm.Usage, cost *llm.Money) []byte {
	dst = rawjson.AppendCount(dst, `{"prompt_tokens":`, u.InputTokens())
	dst = rawjson.AppendCount(dst, `,"completion_tokens":`, u.OutputTokens())
	dst = rawjson.AppendCount(dst, `,"total_tokens":`, u.TotalTokens())
	dst = rawjson.AppendCount(dst, `,"prompt_tokens_details":{"cached_tokens":`, u[llm.CacheRead])
	dst = rawjson.AppendCount(dst, `,"audio_tokens":`, u[llm.AudioIn])
	if n := u[llm.CacheWrite] + u[llm.CacheWrite1h]; n > 0 {
		dst = rawjson.AppendCount(dst, `,"cache_write_tokens":`, n)
	}
	if n := u[llm.ImageIn]; n > 0 {
		dst = rawjson.AppendCount(dst, `,"image_tokens":`, n)
	}
	dst = rawjson.AppendCount(dst, `},"completion_tokens_details":{"reasoning_tokens":`, u[llm.Reasoning])
	dst = rawjson.AppendCount(dst, `,"audio_tokens":`, u[llm.AudioOut])
	dst = append(dst, `,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}`...)
	if cost != nil {
		dst = cost.AppendText(append(dst, `,"cost":`...))
	}
	return append(dst, '}')
}

// Stamp appends to dst a reply, or the data of one stream event, with the cost
// in its usage object and, after more than one attempt, what was tried. Without
// a usage object the bytes stay as they are.
func Stamp(dst, data []byte, f *llm.Final) []byte { return stamp.Reply(dst, data, "usage", f) }
