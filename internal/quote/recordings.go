package quote

import (
	"cmp"
	"encoding/base64"
	"strings"

	"weir/internal/llm"
	"weir/internal/recording"
)

const (
	// millisPerToken exceeds the sound in a token of the context window. Voxtral accepts 40 minutes in 32k tokens
	// (https://mistral.ai/news/voxtral, 2025-07-15), which is 73 milliseconds each.
	millisPerToken = 80
	// moreRecorded is the time, in milliseconds, that a provider that charges by the second may add to each recording:
	// it rounds up, and decoders add silence.
	moreRecorded = 2000
	// samplesPerMilli is the least bytes of a millisecond of raw 16-bit samples, at 8 kHz.
	samplesPerMilli = 16
)

// recordings holds the length of a request's recordings.
type recordings struct {
	millis int64 // of recordings of known length, at most
	tokens int64 // of recordings whose bytes bound their length, at most
	hidden bool  // there is a recording of unknown length
}

// chargesBySecond reports whether the target's provider charges for sound in a chat by the second, in addition to its
// tokens.
func (o *Offer) chargesBySecond() bool {
	return o.Quirks.SoundApart && o.Price.Rates[llm.Milliseconds].Known()
}

// recorded returns an upper bound of the length of a chat's recordings, in milliseconds, if it is charged: at most
// the context window.
func (b upperBound) recorded() int64 {
	r := b.in
	if !b.chargesBySecond() || r.recordings.millis == 0 && !r.recordings.hidden {
		return 0
	}
	most := b.window() * millisPerToken
	if r.recordings.hidden {
		return most
	}
	return min(r.recordings.millis, most)
}

// add adds a recording and reports whether it has enough bytes a second for these to bound its length, however a
// decoder reads it. Raw 16-bit samples do; for other formats the container and the frames decide. It reports false
// for a recording that a decoder may read as longer, or that may be silence in few bytes.
func (r *recordings) add(m *llm.Media) (measured bool) {
	if m.Data == "" || m.URL != "" || m.FileID != "" {
		r.hidden = true
		return false
	}
	_, subtype, _ := strings.Cut(m.MIME, "/")
	if strings.EqualFold(cmp.Or(m.Format, subtype), "pcm16") {
		r.millis += int64(len(m.Data))/samplesPerMilli + moreRecorded
		return true
	}
	sound, err := base64.StdEncoding.DecodeString(m.Data)
	if err != nil {
		r.hidden = true
		return false
	}
	most := recording.Measure(sound).Most
	r.millis += most + moreRecorded
	return most <= int64(len(sound))*1000/leastSound
}

// boundRecordings raises the bound of an answer whose provider charges for sound by the second and does not report the
// length.
func (b openBound) boundRecordings(most *llm.Usage) {
	if b.chargesBySecond() && most[llm.Milliseconds] == 0 && b.mayHave(llm.AudioIn) {
		most[llm.Milliseconds] = b.mostUsed()[llm.Milliseconds]
	}
}
