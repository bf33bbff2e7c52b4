package openai

import (
	"weir/internal/dialect/parse"
	"weir/internal/dialect/stamp"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// rawUsage holds the counts of a usage object as the provider wrote it. Absent ones are zero; hasPrompt and
// hasCompletion report their presence.
type rawUsage struct {
	parse.Counter
	prompt, completion, total            int64
	cached, cacheWrite, audioIn, imageIn int64
	cacheWriteLong                       int64 // in addition to cacheWrite
	created, created5m, created1h        int64 // LiteLLM's cacheWrite, and its parts by storage time
	cachedAudio                          int64
	reasoning, audioOut, imageOut        int64
	found                                int64 // tokens of tool results, in addition to the totals
	heard                                int64 // milliseconds of audio, which Mistral charges in addition to the tokens
	sources                              int64
	tools                                tools
	also                                 claims
	hasPrompt, hasCompletion, hasCached  bool
	hasWrite, hasCreated                 bool
	hasCachedAudio                       bool // the number of cached audio tokens is reported
	plainCached                          bool // cached is next to the totals, under a name that takes precedence
	plainReasoning                       bool // reasoning is next to the totals, not among details
	searched                             bool // the provider counts searches and cited tokens
}

// usageObject is a usage object with its counts, the cost and the modes, read in one pass.
type usageObject struct {
	rawUsage
	cost       reportedCost
	tier, size []byte // the service tier, and the search's context
}

// DecodeUsage reads a usage object of Chat Completions, or of Responses, into the classes, which add up to the
// provider's own totals. It reports false if the value is no object, has no counts, or has a count that no request can
// have. It returns the upper bound if the counts contradict one another or cannot all be read, as in llm.Reply.
//
// https://platform.openai.com/docs/api-reference/chat/object,
// https://platform.openai.com/docs/api-reference/responses/object, and additions of others: prompt_cache_hit_tokens
// (DeepSeek), citation_tokens and num_search_queries (https://docs.perplexity.ai/api-reference/chat-completions-post),
// num_sources_used and server_side_tool_usage_details (https://docs.x.ai/developers/pricing), cache_write_tokens
// (OpenRouter), cache_creation_input_tokens (https://www.alibabacloud.com/help/zh/model-studio/context-cache),
// connectors (https://docs.mistral.ai/inference/pricing). LiteLLM has cache_read_input_tokens and
// cache_creation_input_tokens next to the prompt, which contains both, and cache_creation_tokens and
// cache_creation_token_details in it (https://github.com/BerriAI/litellm/blob/main/litellm/types/utils.py,
// https://docs.litellm.ai/docs/completion/prompt_caching). Mistral has prompt_audio_seconds
// (https://docs.mistral.ai/api/endpoint/chat, undated copy).
func DecodeUsage(v []byte, q *llm.Quirks) (u llm.Usage, most *llm.Usage, ok bool) {
	if rawjson.KindOf(v) != rawjson.Object {
		return u, nil, false
	}
	return decodeUsage(v, q)
}

// decodeUsage is not inlined, so that streams without usage yet need no stack for it (TestHeldStreamNeedsLittleMemory).
//
//go:noinline
func decodeUsage(v []byte, q *llm.Quirks) (llm.Usage, *llm.Usage, bool) {
	var r usageObject
	return r.decode(v, q)
}

// decode is DecodeUsage. It also reads the cost and the modes.
func (r *usageObject) decode(v []byte, q *llm.Quirks) (u llm.Usage, most *llm.Usage, ok bool) {
	if rawjson.KindOf(v) != rawjson.Object {
		return u, nil, false
	}
	for m := range rawjson.Members(v) {
		switch key := m.Key(); {
		case r.cost.read(m):
		case r.tier == nil && string(key) == "service_tier":
			r.tier = m.Value
		case r.size == nil && string(key) == "search_context_size":
			r.size = m.Value
		default:
			r.read(m, q)
		}
	}
	if !r.hasPrompt && !r.hasCompletion {
		prompt, completion := r.prompt, r.completion // for totals that are missing or no counts
		for m := range rawjson.Members(v) {
			r.readResponses(m)
		}
		r.prompt, r.completion = max(r.prompt, prompt), max(r.completion, completion)
	}
	r.settleWrites()
	if r.Wild || !r.hasPrompt && !r.hasCompletion {
		return u, parse.Told(r.separate(q, r.unknown(q))), false
	}
	u = r.classes(q)
	return u, r.most(q), u.Plausible()
}

func (r *rawUsage) read(m rawjson.Member, q *llm.Quirks) {
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
		if m.Is("prompt_cache_hit_tokens") {
			r.also.hasHit = r.Count(&r.also.hit, m.Value)
		}
		if !r.hasCached {
			r.plainCached = r.Count(&r.cached, m.Value) || r.plainCached
		}
	case "prompt_cache_miss_tokens":
		r.also.hasMiss = r.Count(&r.also.miss, m.Value)
	case "cache_read_input_tokens":
		if !r.hasCached && !r.plainCached {
			r.Count(&r.cached, m.Value)
		}
	case "cache_creation_input_tokens":
		r.hasCreated = r.Count(&r.created, m.Value) || r.hasCreated
	case "reasoning_tokens":
		r.plainReasoning = r.Count(&r.reasoning, m.Value)
	default:
		r.readTool(m, q)
	}
}

// readTool reads the counts of tools that the provider ran, and of their results.
func (r *rawUsage) readTool(m rawjson.Member, q *llm.Quirks) {
	switch string(m.Key()) {
	case "num_search_queries":
		r.searched = r.Count(&r.tools.made[llm.Searches], m.Value) || r.searched
	case "citation_tokens":
		r.searched = r.Count(&r.found, m.Value) || r.searched
	case "connector_tokens":
		r.Count(&r.found, m.Value)
	case "connectors":
		each(m.Value, r.tools.add)
	case "num_sources_used":
		r.Count(&r.sources, m.Value)
	case "server_side_tool_usage_details":
		r.tools.readServerSide(m.Value)
	case "server_tool_use":
		r.tools.readServerToolUse(m.Value, q)
	case "server_tool_use_details": // OpenRouter's of 2026
		var same tools
		same.readServerToolUse(m.Value, q)
		r.tools.again = same.made
	case "tool_calls_details":
		r.tools.readInvocations(m.Value)
	case "prompt_audio_seconds":
		r.readSeconds(m.Value)
	}
}

// readSeconds reads the length of the prompt's audio. Some providers send an empty object if there is none.
func (r *rawUsage) readSeconds(v []byte) {
	heard, ok := millisOf(v)
	if r.heard = heard; !ok && rawjson.Present(v) && rawjson.KindOf(v) != rawjson.Object {
		r.Wild = true
	}
}

// readResponses reads members that Responses names otherwise. Some providers of Chat Completions have them, too, and
// leave them at zero.
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
	case "cached_tokens", "cache_read_input_tokens":
		r.hasCached = r.Count(&r.cached, m.Value)
	case "cached_tokens_details":
		r.hasCachedAudio = r.Count(&r.cachedAudio, rawjson.Get(m.Value, "audio_tokens"))
	case "cache_write_tokens":
		r.hasWrite = r.Count(&r.cacheWrite, m.Value) || r.hasWrite
	case "cache_creation_input_tokens", "cache_creation_tokens":
		r.hasCreated = r.Count(&r.created, m.Value) || r.hasCreated
	case "cache_creation_token_details":
		r.Count(&r.created5m, rawjson.Get(m.Value, "ephemeral_5m_input_tokens"))
		r.Count(&r.created1h, rawjson.Get(m.Value, "ephemeral_1h_input_tokens"))
	case "cache_write_12h_tokens":
		r.Count(&r.cacheWriteLong, m.Value)
	case "audio_tokens":
		r.Count(&r.audioIn, m.Value)
	case "image_tokens":
		r.Count(&r.imageIn, m.Value)
	case "text_tokens":
		r.Count(&r.also.textIn, m.Value)
	}
}

func (r *rawUsage) readCompletionDetail(m rawjson.Member) {
	switch string(m.Key()) {
	case "reasoning_tokens":
		r.Count(&r.reasoning, m.Value)
	case "audio_tokens":
		r.Count(&r.audioOut, m.Value)
	case "image_tokens":
		r.Count(&r.imageOut, m.Value)
	case "text_tokens":
		r.Count(&r.also.textOut, m.Value)
	case "accepted_prediction_tokens":
		r.Count(&r.also.accepted, m.Value)
	case "rejected_prediction_tokens":
		r.Count(&r.also.rejected, m.Value)
	}
}

// settleWrites decides the number of cache writes of any storage time, by the name that takes precedence.
func (r *rawUsage) settleWrites() {
	switch {
	case r.hasWrite:
	case r.hasCreated:
		r.cacheWrite = r.created
	default:
		r.cacheWrite = r.created5m + r.created1h
	}
}

// classes splits the totals. A detail that exceeds the rest of its total is cut to it, so that the sum always equals
// the total.
func (r *rawUsage) classes(q *llm.Quirks) llm.Usage {
	u := r.tools.made
	u.Raise(&r.tools.again)
	if !r.tools.told { // xAI's old search charged per source, not per search
		u[llm.OtherTools] += r.sources
	}
	cachedAudio, _ := r.cachedSound()
	hour := min(r.created1h, r.cacheWrite)
	left := r.prompt
	for _, d := range []struct {
		class llm.Class
		n     int64
	}{
		{llm.CacheReadAudio, cachedAudio},
		{llm.CacheRead, r.cached - cachedAudio},
		{llm.CacheWrite1h, r.cacheWriteLong + hour},
		{llm.CacheWrite, r.cacheWrite - hour},
		{llm.AudioIn, max(0, r.audioIn-cachedAudio)},
		{llm.ImageIn, r.imageIn},
	} {
		u[d.class] = min(d.n, left)
		left -= u[d.class]
	}
	u[llm.Input] = left
	u[llm.Citation], u[llm.Milliseconds] = r.found, r.heard

	left = r.completion
	if r.addsReasoning(q) {
		u[llm.Reasoning] = r.reasoning
	} else {
		u[llm.Reasoning] = min(r.reasoning, left)
		left -= u[llm.Reasoning]
	}
	u[llm.AudioOut] = min(r.audioOut, left)
	left -= u[llm.AudioOut]
	u[llm.ImageOut] = min(r.imageOut, left)
	u[llm.Output] = left - u[llm.ImageOut]
	return u
}

// cachedSound returns the least and the most cached audio tokens: both equal if the provider reports them.
func (r *rawUsage) cachedSound() (least, most int64) {
	if r.hasCachedAudio {
		told := min(r.cachedAudio, r.cached)
		return told, told
	}
	return parse.CachedSound(r.cached, r.audioIn, r.prompt)
}

// addsReasoning reports whether reasoning is counted in addition to the completion: by the provider's quirk, because
// the provider's total is correct only then, or because it is next to searches and citations, as with Perplexity, where
// no total contains it (https://docs.perplexity.ai/getting-started/pricing).
func (r *rawUsage) addsReasoning(q *llm.Quirks) bool {
	return q != nil && q.ReasoningBesideOutput || r.plainReasoning && r.searched ||
		r.reasoning > 0 && r.total == r.prompt+r.completion+r.reasoning
}

// modes returns the modes of an answer: its service tier, or Mistral's in the usage
// (https://docs.mistral.ai/inference/priority-tier), and the size of Perplexity's search context, which decides its fee
// for a request (https://docs.perplexity.ai/getting-started/pricing).
func (r *usageObject) modes(tier string) string {
	if tier == "" {
		tier = rawjson.Text(r.tier)
	}
	size := rawjson.Text(r.size)
	switch {
	case size == "":
		return tier
	case tier == "":
		return "search_context:" + size
	}
	return tier + ",search_context:" + size
}

// appendUsage writes a usage object with OpenAI's details, and the cost in US dollars if it is known.
func appendUsage(dst []byte, u *llm.Usage, cost *llm.Money) []byte {
	dst = rawjson.AppendCount(dst, `{"prompt_tokens":`, u.InputTokens())
	dst = rawjson.AppendCount(dst, `,"completion_tokens":`, u.OutputTokens())
	dst = rawjson.AppendCount(dst, `,"total_tokens":`, u.TotalTokens())
	cached, sound := u[llm.CacheRead]+u[llm.CacheReadAudio], u[llm.AudioIn]+u[llm.CacheReadAudio]
	dst = rawjson.AppendCount(dst, `,"prompt_tokens_details":{"cached_tokens":`, cached)
	dst = rawjson.AppendCount(dst, `,"audio_tokens":`, sound)
	if cached > 0 && sound > 0 {
		dst = append(rawjson.AppendCount(dst, `,"cached_tokens_details":{"audio_tokens":`, u[llm.CacheReadAudio]), '}')
	}
	if n := u[llm.CacheWrite] + u[llm.CacheWrite1h]; n > 0 {
		dst = rawjson.AppendCount(dst, `,"cache_write_tokens":`, n)
	}
	if n := u[llm.ImageIn]; n > 0 {
		dst = rawjson.AppendCount(dst, `,"image_tokens":`, n)
	}
	dst = rawjson.AppendCount(dst, `},"completion_tokens_details":{"reasoning_tokens":`, u[llm.Reasoning])
	dst = rawjson.AppendCount(dst, `,"audio_tokens":`, u[llm.AudioOut])
	if n := u[llm.ImageOut]; n > 0 {
		dst = rawjson.AppendCount(dst, `,"image_tokens":`, n)
	}
	dst = append(dst, `,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}`...)
	return append(stamp.Cost(dst, cost), '}')
}

// Stamp appends to dst a reply, or the data of one stream event, with the cost in its usage object and, after more than
// one attempt, the list of attempts. Without a usage object the bytes stay unchanged.
func Stamp(dst, data []byte, f *llm.Final) []byte { return stamp.Reply(dst, data, "usage", f) }

// HasUsage reports whether data has a usage object that Stamp can complete.
func HasUsage(data []byte) bool { return stamp.Has(data, "usage") }
