package realtime

import (
	"math"
	"strconv"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// counts holds the usage that a provider reports for one response or transcript.
type counts struct {
	usage llm.Usage
	// most is an upper bound in the classes that the report leaves open; it equals usage if there are none.
	most llm.Usage
}

// certain reports whether the report leaves nothing open.
func (c *counts) certain() bool { return c.usage == c.most }

// tokens returns the number of tokens.
func (c *counts) tokens() int64 { return c.usage.TotalTokens() }

// maxTokens bounds a provider's count that is believed.
const maxTokens = 1 << 32

// responseUsage reads the member usage of a response (RealtimeResponseUsage in openai-openapi 2.3.0). It reports false
// if there is none, or if it is not valid. A class that is not reported counts as text, and at most as sound.
func responseUsage(v []byte) (c counts, ok bool) {
	input, in := count(v, "input_tokens")
	output, out := count(v, "output_tokens")
	if !in || !out {
		return counts{}, false
	}
	details, made := rawjson.Get(v, "input_token_details"), rawjson.Get(v, "output_token_details")
	saved := rawjson.Get(details, "cached_tokens_details")
	text, sound, image := part(details, "text_tokens"), part(details, "audio_tokens"), part(details, "image_tokens")
	cached, ct := part(details, "cached_tokens"), part(saved, "text_tokens")
	cs, ci := part(saved, "audio_tokens"), part(saved, "image_tokens")
	if sound+image == 0 {
		ct = max(ct, cached)
	}
	u := &c.usage
	u[llm.CacheRead] = min(ct, text)
	u[llm.CacheReadAudio] = min(cs, sound)
	u[llm.Input], u[llm.AudioIn] = text-u[llm.CacheRead], sound-u[llm.CacheReadAudio]
	u[llm.CacheRead] += min(ci, image) // there is no class of its own for cached images
	u[llm.ImageIn] = image - min(ci, image)
	spoken := part(made, "audio_tokens")
	u[llm.AudioOut], u[llm.Output] = spoken, part(made, "text_tokens")
	c.most = *u
	c.most[llm.ImageIn] += min(ci, image)
	c.most[llm.CacheRead] -= min(ci, image)
	c.addUnsplit(input-text-sound-image, output-u[llm.AudioOut]-u[llm.Output], max(0, cached-ct-cs-ci))
	return c, true
}

// addUnsplit adds tokens that the report has in its sums and in no class. Tokens read from a cache without a class may
// have been read at the full rate.
func (c *counts) addUnsplit(input, output, cached int64) {
	if input > 0 {
		c.usage[llm.Input] += input
		c.most[llm.AudioIn] += input
	}
	if output > 0 {
		c.usage[llm.Output] += output
		c.most[llm.AudioOut] += output
	}
	if moved := min(cached, c.usage[llm.Input]); moved > 0 {
		c.usage[llm.Input] -= moved
		c.usage[llm.CacheRead] += moved
	}
}

// transcriptUsage reads the member usage of a transcript: tokens or a duration. It reports false if there is none, or
// if it is not valid.
func transcriptUsage(v []byte) (c counts, ok bool) {
	if rawjson.Text(rawjson.Get(v, "type")) == "duration" {
		millis, ok := seconds(rawjson.Get(v, "seconds"))
		c.usage[llm.Milliseconds] = millis
		c.most = c.usage
		return c, ok
	}
	input, in := count(v, "input_tokens")
	output, out := count(v, "output_tokens")
	if !in || !out {
		return counts{}, false
	}
	details := rawjson.Get(v, "input_token_details")
	text, sound := part(details, "text_tokens"), part(details, "audio_tokens")
	c.usage[llm.Input], c.usage[llm.AudioIn], c.usage[llm.Output] = text, sound, output
	c.most = c.usage
	if rest := input - text - sound; rest > 0 { // a transcript reads sound
		c.usage[llm.AudioIn] += rest
		c.most[llm.AudioIn] += rest
	}
	return c, true
}

// count reads a required number of tokens.
func count(v []byte, name string) (n int64, ok bool) {
	n, ok = rawjson.AsInt(rawjson.Get(v, name))
	return n, ok && n >= 0 && n <= maxTokens
}

// part reads a number of tokens that may be missing; 0 if it is not valid.
func part(v []byte, name string) int64 {
	n, ok := count(v, name)
	if !ok {
		return 0
	}
	return n
}

// seconds reads a number of seconds and returns it in milliseconds, rounded up.
func seconds(v []byte) (millis int64, ok bool) {
	if rawjson.KindOf(v) != rawjson.Number {
		return 0, false
	}
	s, err := strconv.ParseFloat(string(v), 64)
	if err != nil || s < 0 || s > maxTokens {
		return 0, false
	}
	return int64(math.Ceil(s * 1000)), true
}
