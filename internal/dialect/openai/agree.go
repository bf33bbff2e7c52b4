package openai

import "weir/internal/llm"

// claims holds counts that contain other counts, to check these against them.
type claims struct {
	hit, miss          int64 // DeepSeek's, of the prompt
	textIn, textOut    int64
	accepted, rejected int64 // of a prediction, both within the completion
	hasHit, hasMiss    bool
}

// cacheAgrees reports whether cache hits and misses add up to the prompt, and whether the hits equal the cached tokens:
// https://api-docs.deepseek.com/guides/kv_cache (undated copy).
func (c *claims) cacheAgrees(prompt, cached int64) bool {
	if c.hasHit && c.hit != cached {
		return false
	}
	return !c.hasMiss || c.miss+cached == prompt
}

// most returns an upper bound of the usage if the counts contradict one another, or if the total exceeds the sum of its
// parts: it then adds up all counts as if none contained another, because the charged ones are unknown. If the number
// of cached audio tokens is unknown, the bound is the classes with the most of them. It returns nil if the usage is
// certain.
func (r *rawUsage) most(q *llm.Quirks) *llm.Usage {
	unknown := r.unknown(q)
	if unknown <= 0 && r.inputAgrees() && r.outputAgrees(q) {
		if least, most := r.cachedSound(); least < most {
			u := r.classes(q)
			return &u
		}
		return nil
	}
	u := r.separate(q, unknown)
	return &u
}

// unknown returns the tokens of the total beyond all its parts.
func (r *rawUsage) unknown(q *llm.Quirks) int64 {
	unknown := r.total - r.prompt - r.completion - r.found
	if r.addsReasoning(q) {
		unknown -= r.reasoning
	}
	return unknown
}

// outputAgrees reports whether the parts of the output fit into it.
func (r *rawUsage) outputAgrees(q *llm.Quirks) bool {
	within := r.audioOut + r.imageOut + r.also.textOut
	if !r.addsReasoning(q) {
		within += r.reasoning
	}
	return max(within, r.also.accepted+r.also.rejected) <= r.completion
}

// separate returns each count separately, plus the tokens of unknown kind.
func (r *rawUsage) separate(q *llm.Quirks, unknown int64) llm.Usage {
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

// inputAgrees reports whether the parts of the input fit into it. Tokens read from a cache and written to it do not
// overlap, nor do audio and images, but cached tokens may be either. Audio contains the cached audio, and no other
// cached tokens.
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
