package quote

import (
	"bytes"

	"weir/internal/ledger"
	"weir/internal/llm"
)

// boundMedia raises the bound of an answer whose request has sound or images that the provider does not count
// separately: all input may be in the more expensive class. Files named by an id or an address, and cached input,
// count as the provider reports.
func (b openBound) boundMedia() {
	s := b.settlement
	price := &b.Attempt.Price
	if s.ProviderCost != nil || s.Usage[llm.Input]+s.Usage[llm.CacheRead] == 0 {
		return
	}
	own := price.Cost(&s.Usage, s.Tier)
	most := own
	if b.dearer(llm.AudioIn) && s.Usage[llm.AudioIn]+s.Usage[llm.CacheReadAudio] == 0 &&
		b.mayHave(llm.AudioIn) {
		bound := s.Usage
		bound[llm.AudioIn], bound[llm.Input] = bound[llm.Input], 0
		bound[llm.CacheReadAudio], bound[llm.CacheRead] = bound[llm.CacheRead], 0
		most = max(most, price.Cost(&bound, s.Tier))
	}
	if b.dearer(llm.ImageIn) && s.Usage[llm.ImageIn] == 0 && b.mayHave(llm.ImageIn) {
		seen := s.Usage
		seen[llm.ImageIn], seen[llm.Input] = seen[llm.Input], 0
		most = max(most, price.Cost(&seen, s.Tier))
	}
	bound := s.Usage
	b.boundRecordings(&bound)
	if most = max(most, price.Cost(&bound, s.Tier)); most > own {
		s.Provenance, s.AtMost = ledger.Estimated, max(s.AtMost, price.Dearest(most))
	}
}

// dearer reports whether tokens of that class may cost more than those of text.
func (b openBound) dearer(class llm.Class) bool {
	rates := &b.Attempt.Price.Rates
	return rates[class].Known() && rates[class] != rates[llm.Input]
}

// mayHave reports whether the request may have sound, or images. It may return true for a body with these words
// elsewhere, but never false for a body with such media.
func (b openBound) mayHave(class llm.Class) bool {
	switch b.Op.Op {
	case llm.OpTranscription, llm.OpTranslation:
		return class == llm.AudioIn
	case llm.OpImageEdit:
		return class == llm.ImageIn
	case llm.OpChat:
	default:
		return false
	}
	words := []string{`"input_audio"`, `"audio_url"`, `"audio/`, `data:audio`}
	if class == llm.ImageIn {
		words = []string{`"image_url"`, `"input_image"`, `"image"`, `"image/`, `data:image`}
	}
	for _, word := range words {
		if bytes.Contains(b.Body, []byte(word)) {
			return true
		}
	}
	return hasEscapedWord(b.Body)
}
