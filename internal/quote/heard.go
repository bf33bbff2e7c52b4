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
	// moreHeard is the time, in milliseconds, that a provider that charges by the second may add to each recording:
	// it rounds up, and decoders add silence.
	moreHeard = 2000
	// samplesPerMilli is the least bytes of a millisecond of raw 16-bit samples, at 8 kHz.
	samplesPerMilli = 16
)

// heard holds the length of a request's recordings.
type heard struct {
	millis int64 // of recordings of known length, at most
	tokens int64 // of recordings whose bytes bound their length, at most
	hidden bool  // there is a recording of unknown length
}

// hearsBySecond reports whether the target's provider charges for sound in a chat by the second, in addition to its
// tokens.
func (q *Quote) hearsBySecond() bool {
	return q.Quirks.SoundApart && q.Price.Rates[llm.Milliseconds].Known()
}

// mostHeard returns an upper bound of the length of a chat's recordings, in milliseconds, if it is charged: at most
// the context window.
func (q *Quote) mostHeard(r *Inputs) int64 {
	if !q.hearsBySecond() || r.heard.millis == 0 && !r.heard.hidden {
		return 0
	}
	most := q.window() * millisPerToken
	if r.heard.hidden {
		return most
	}
	return min(r.heard.millis, most)
}

// hear adds a recording and reports whether it has enough bytes a second for these to bound its length, however a
// decoder reads it. Raw 16-bit samples do; for other formats the container and the frames decide. It reports false
// for a recording that a decoder may read as longer, or that may be silence in few bytes.
func (r *Inputs) hear(m *llm.Media) (measured bool) {
	if m.Data == "" || m.URL != "" || m.FileID != "" {
		r.heard.hidden = true
		return false
	}
	_, subtype, _ := strings.Cut(m.MIME, "/")
	if strings.EqualFold(cmp.Or(m.Format, subtype), "pcm16") {
		r.heard.millis += int64(len(m.Data))/samplesPerMilli + moreHeard
		return true
	}
	sound, err := base64.StdEncoding.DecodeString(m.Data)
	if err != nil {
		r.heard.hidden = true
		return false
	}
	most := recording.Measure(sound).Most
	r.heard.millis += most + moreHeard
	return most <= int64(len(sound))*1000/leastSound
}

// boundHeard raises the bound of an answer whose provider charges for sound by the second and does not report the
// length.
func (a Answer) boundHeard(most *llm.Usage) {
	if a.hearsBySecond() && most[llm.Milliseconds] == 0 && a.mayHave(llm.AudioIn) {
		most[llm.Milliseconds] = a.mostUsed()[llm.Milliseconds]
	}
}
