package quote

import (
	"bytes"
	"testing"
	"time"

	"weir/internal/quotetest"
)

// TestBodyIsWalkedOnce checks that the bounds of a second target, coarse and fine, use the results of the first one's
// walk of the body: another body of the same length in its place changes nothing.
func TestBodyIsWalkedOnce(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text string
		gains      bool
		want       words
	}{
		{"plain", "words alone", false, words{}},
		{"longer once normalized", "ﷺﷺﷺ", true, words{}},
		{"a resolution", "mediaResolution", false, words{closer: true}},
		{"citations", "citations", false, words{cited: true}},
		{"an escaped letter", `\u0041`, false, words{escaped: true, closer: true, cited: true}},
	} {
		first := newAsked(t, quotetest.Asked{ClientAPI: "openai", Model: "another", Sizes: sized(), Body: `{"max_tokens":9,"messages":[{"role":"user","content":"` + tt.text + `"}]}`})
		coarse, fine := first.demandOf(Coarse), first.demandOf(Fine)
		second := &Quote{}
		Begin(second, first.Request, first.table, first.Target, time.Time{})
		second.Body = bytes.Repeat([]byte{' '}, len(second.Body))
		if got := second.lengthened(); got != first.lengthened() || got > 0 != tt.gains {
			t.Errorf("%s: %d bytes gained, want those of the first walk, more than 0: %t", tt.name, got, tt.gains)
		}
		if got := second.words(); got != tt.want {
			t.Errorf("%s: found %+v, want %+v", tt.name, got, tt.want)
		}
		if coarse.fixed.InputTokens() == 0 || fine.fixed.InputTokens() == 0 {
			t.Errorf("%s: nothing is held", tt.name)
		}
	}
}
