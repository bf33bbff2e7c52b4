package openai

import "weir/internal/llm"

// claims are counts of what other counts have in them, by which these can be checked.
type claims struct {
	hit, miss          int64 // DeepSeek's, of the prompt
	textIn, textOut    int64
	accepted, rejected int64 // of a prediction, all in the completion
	hasHit, hasMiss    bool
}

// cacheAgrees reports whether what was found in a cache and what was not add up to the prompt, and
// are what is cached: https://api-docs.deepseek.com/guides/kv_cache (undated copy).
func (c *claims) cacheAgrees(prompt, cached int64) bool {
	if c.hasHit && c.hit != cached {
		return false
	}
	return !c.hasMiss || c.miss+cached == prompt
}

// most is what the counts come to where they do not agree, or the total is larger than all its
// parts, so that nobody knows which of them the provider charges for: each by itself, as if none
// were part of another. Where it is not told how many of the cached tokens are of sound, it is
// what the classes say. It is nil where all is known.
func (r *rawUsage) most(q *llm.Quirks) *llm.Usage {
	unknown := r.unknown(q)
	if unknown <= 0 && r.inputAgrees() && r.outputAgrees(q) {
		if least, most := r.cachedSound(); least < most {
			u := r.classes(q)
			return &u
		}
		return nil
	}
	u := r.apart(q, unknown)
	return &u
}

// unknown is how many tokens the total has beyond all its parts.
func (r *rawUsage) unknown(q *llm.Quirks) int64 {
	unknown := r.total - r.prompt - r.completion - r.found
	if r.beside(q) {
		unknown -= r.reasoning
	}
	return unknown
}

// outputAgrees reports whether all parts of the output can be true.
func (r *rawUsage) outputAgrees(q *llm.Quirks) bool {
	within := r.audioOut + r.imageOut + r.also.textOut
	if !r.beside(q) {
		within += r.reasoning
	}
	return max(within, r.also.accepted+r.also.rejected) <= r.completion
}

// apart are the counts each by itself, and so many tokens of which nobody knows what they are.
func (r *rawUsage) apart(q *llm.Quirks, unknown int64) llm.Usage {
	u := r.classes(q)
	u[llm.Input] = max(r.prompt, r.also.textIn, r.also.miss)
	u[llm.CacheRead], u[llm.CacheReadAudio] = max(r.cached, r.also.hit), r.cachedAudio
	u[llm.CacheWrite], u[llm.CacheWrite1h] = max(r.cacheWrite, r.created), r.cacheWriteLong+r.created1h
	u[llm.AudioIn], u[llm.ImageIn] = r.audioIn, r.imageIn
	u[llm.Output] = max(r.completion, r.also.textOut) + max(0, unknown)
	if predicted := r.also.accepted + r.also.rejected; predicted > r.completion {
		u[llm.Output] += predicted
	}
	u[llm.Reasoning], u[llm.AudioOut], u[llm.ImageOut] = r.reasoning, r.audioOut, r.imageOut
	return u
}

// inputAgrees reports whether all parts of the input can be true. What a cache had and got has
// no token twice, nor have sound and images, but what is cached may be of either. Sound has the
// cached sound in it, and nothing of what is cached otherwise.
func (r *rawUsage) inputAgrees() bool {
	heard := r.audioIn
	if r.hasCachedAudio {
		if r.cachedAudio > r.cached || r.audioIn > 0 && r.cachedAudio > r.audioIn {
			return false
		}
		heard += r.cached - r.cachedAudio
	}
	return max(r.cached+r.cacheWrite+r.cacheWriteLong, heard, r.audioIn+r.imageIn+r.also.textIn) <= r.prompt &&
		r.also.cacheAgrees(r.prompt, r.cached) && max(r.created, r.created5m+r.created1h) <= r.cacheWrite
}
