package quote

import (
	"cmp"
	"encoding/base64"
	"strings"

	"weir/internal/llm"
	"weir/internal/recording"
)

const (
	// millisPerToken is more sound than a token of the context window holds. Voxtral takes 40 minutes in 32k tokens
	// (https://mistral.ai/news/voxtral, 2025-07-15), which is 73 milliseconds each.
	millisPerToken = 80
	// moreHeard is what a provider that charges by the second may add to each recording: it rounds up, and decoders add
	// silence.
	moreHeard = 2000
	// samplesPerMilli is how many bytes a millisecond of raw samples of 16 bits has at least, at 8 kHz.
	samplesPerMilli = 16
)

// heard is how long the recordings of a request are.
type heard struct {
	millis int64 // of those whose length shows, at most
	tokens int64 // of those whose bytes bound their length, at most
	hidden bool  // there is one whose length does not show
}

// hearsBySecond says whether the target's provider charges for the sound in a chat by the second, beside its tokens.
func (q *Quote) hearsBySecond() bool {
	return q.Quirks.SoundApart && q.Price.Rates[llm.Milliseconds].Known()
}

// mostHeard is how long the recordings of a chat are at most, in milliseconds, where that is charged for: no longer than
// the window.
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

// hear takes note of a recording, and reports whether it has at least so many bytes a second that they bound its length,
// however a decoder reads it. Raw samples of 16 bits do; of others it is what their container and their frames show. One
// that decoders may read as longer, or that may be silence in few bytes, is not.
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

// boundHeard adds the most that an answer can have cost whose provider charges for sound by the second, and does not say
// how long it heard that of the request.
func (a Answer) boundHeard(most *llm.Usage) {
	if a.hearsBySecond() && most[llm.Milliseconds] == 0 && a.mayHave(llm.AudioIn) {
		most[llm.Milliseconds] = a.mostUsed()[llm.Milliseconds]
	}
}
