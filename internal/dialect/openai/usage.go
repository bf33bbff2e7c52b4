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
	cacheWriteLong                       int64 // beside cacheWrite
	created, created5m, created1h        int64 // LiteLLM's cacheWrite, and for how long it is kept
	cachedAudio                          int64
	reasoning, audioOut, imageOut        int64
	found                                int64 // tokens of what tools found, beside the totals
	heard                                int64 // milliseconds of sound, which Mistral charges for beside the tokens
	sources                              int64
	tools                                tools
	also                                 claims
	hasPrompt, hasCompletion, hasCached  bool
	hasWrite, hasCreated                 bool
	hasCachedAudio                       bool // it is told how many of the cached tokens are of sound
	plainCached                          bool // cached stands among the totals, by a name that goes first
	plainReasoning                       bool // reasoning stands among the totals, not among details
	searched                             bool // the provider counts what it searched and cited
}

// DecodeUsage reads a usage object of Chat Completions, or else of Responses,
// into the classes, which add up to the provider's own totals. It reports false
// for no object, one without counts, or one with a count that no request can have, and
// the most where the counts contradict one another or cannot all be read, as in llm.Reply.
//
// https://platform.openai.com/docs/api-reference/chat/object,
// https://platform.openai.com/docs/api-reference/responses/object, and what others
// add: prompt_cache_hit_tokens (DeepSeek), citation_tokens and num_search_queries
// (https://docs.perplexity.ai/api-reference/chat-completions-post), num_sources_used and
// server_side_tool_usage_details (https://docs.x.ai/developers/pricing),
// cache_write_tokens (OpenRouter), cache_creation_input_tokens
// (https://www.alibabacloud.com/help/zh/model-studio/context-cache), connectors
// (https://docs.mistral.ai/inference/pricing). LiteLLM has cache_read_input_tokens and
// cache_creation_input_tokens beside the prompt, which holds both, and cache_creation_tokens and
// cache_creation_token_details in it
// (https://github.com/BerriAI/litellm/blob/main/litellm/types/utils.py,
// https://docs.litellm.ai/docs/completion/prompt_caching). Mistral has prompt_audio_seconds
// (https://docs.mistral.ai/api/endpoint/chat, undated copy).
func DecodeUsage(v []byte, q *llm.Quirks) (u llm.Usage, most *llm.Usage, ok bool) {
	if rawjson.KindOf(v) != rawjson.Object {
		return u, nil, false
	}
	var r rawUsage
	for m := range rawjson.Members(v) {
		r.read(m, q)
	}
	if !r.hasPrompt && !r.hasCompletion {
		prompt, completion := r.prompt, r.completion // where they are no counts
		for m := range rawjson.Members(v) {
			r.readResponses(m)
		}
		r.prompt, r.completion = max(r.prompt, prompt), max(r.completion, completion)
	}
	r.settleWrites()
	if r.Wild || !r.hasPrompt && !r.hasCompletion {
		return u, parse.Told(r.apart(q, r.unknown(q))), false
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

// readTool reads what counts tools that the provider ran, and what they found.
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

// readSeconds reads how long the sound of a prompt is. Some say an empty object where there is none.
func (r *rawUsage) readSeconds(v []byte) {
	heard, ok := millisOf(v)
	if r.heard = heard; !ok && rawjson.Present(v) && rawjson.KindOf(v) != rawjson.Object {
		r.Wild = true
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

// settleWrites finds what was written to a cache for however long, by the name that goes first.
func (r *rawUsage) settleWrites() {
	switch {
	case r.hasWrite:
	case r.hasCreated:
		r.cacheWrite = r.created
	default:
		r.cacheWrite = r.created5m + r.created1h
	}
}

// classes parts the totals. A detail larger than what is left of its total is
// cut to it, so that the sum always holds.
func (r *rawUsage) classes(q *llm.Quirks) llm.Usage {
	u := r.tools.made
	u.Raise(&r.tools.again)
	if !r.tools.told { // xAI's old search charged for each source, not for a search
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
	if r.beside(q) {
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

// cachedSound is how many of the cached tokens are of sound, at least and at most: the same
// where the provider tells.
func (r *rawUsage) cachedSound() (least, most int64) {
	if r.hasCachedAudio {
		told := min(r.cachedAudio, r.cached)
		return told, told
	}
	return parse.CachedSound(r.cached, r.audioIn, r.prompt)
}

// beside reports whether reasoning is counted beside the completion: by the
// provider's quirk, because only so the provider's own total comes out, or because it
// stands beside searches and citations, as Perplexity's does, which is in no total
// (https://docs.perplexity.ai/getting-started/pricing).
func (r *rawUsage) beside(q *llm.Quirks) bool {
	return q != nil && q.ReasoningBesideOutput || r.plainReasoning && r.searched ||
		r.reasoning > 0 && r.total == r.prompt+r.completion+r.reasoning
}

// modesOf are the modes in which an answer was served: its service tier, or that of its
// usage, where Mistral has it (https://docs.mistral.ai/inference/priority-tier), and how
// much of the web Perplexity read, which its fee for a request goes by
// (https://docs.perplexity.ai/getting-started/pricing).
func modesOf(tier string, usage []byte) string {
	if tier == "" {
		tier = rawjson.Text(rawjson.Get(usage, "service_tier"))
	}
	size := rawjson.Text(rawjson.Get(usage, "search_context_size"))
	switch {
	case size == "":
		return tier
	case tier == "":
		return "search_context:" + size
	}
	return tier + ",search_context:" + size
}

// appendUsage writes a usage object with OpenAI's details and the cost in US
// dollars where there is one.
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
