package quote

import (
	"strings"
	"testing"

	"weir/internal/llm"
)

// TestTallyCountsChoicesSeparately streams the same words in several alternating choices. Each piece is one token; "!"
// and "!" would be one together.
func TestTallyCountsChoicesSeparately(t *testing.T) {
	t.Parallel()
	pieces := []string{"Hello", "!", " This", " is", " a", " demo", "."}
	for _, choices := range []int{1, 2, 3, 7} {
		got := Tally{Text: MostText}
		for _, piece := range pieces {
			for choice := range choices {
				got.Add(&llm.Event{Kind: llm.EventText, Choice: choice, Text: piece})
			}
		}
		if n, thought := got.countOutput(); n != int64(len(pieces)*choices) || thought != 0 {
			t.Errorf("%d choices of %q: got %d tokens and %d of thinking, want %d", choices, pieces, n, thought, len(pieces)*choices)
		}
	}
}

// TestTallyBound counts text beyond the retained part at its density, or at a common one.
func TestTallyBound(t *testing.T) {
	t.Parallel()
	got := Tally{Text: MostText}
	text := strings.Repeat("word ", MostText/5+1)
	for choice := range 3 {
		got.Add(&llm.Event{Kind: llm.EventText, Choice: choice, Text: text})
	}
	if kept := len(got.said[0].text) + len(got.said[1].text) + len(got.said[2].text); kept != MostText {
		t.Errorf("3 choices of %d bytes: got %d bytes retained, want %d", len(text), kept, MostText)
	}
	words := int64(3 * (MostText/5 + 1))
	if n, _ := got.countOutput(); n < words*9/10 || n > words*14/10 {
		t.Errorf("3 choices of %d words in all: got %d tokens, want about as many", words, n)
	}
	got.Add(&llm.Event{Kind: llm.EventText, Choice: maxChoices + 1, Text: "beyond"})
	if n := len(got.said); n != maxChoices {
		t.Errorf("choice %d: got %d choices, want at most %d", maxChoices+1, n, maxChoices)
	}
}

// TestTallyPartial checks that the counts of a continued answer begin at the provider's last.
func TestTallyPartial(t *testing.T) {
	t.Parallel()
	var got Tally
	got.Add(&llm.Event{Kind: llm.EventUsage, Metered: &llm.Metered{Usage: llm.Usage{llm.Input: 9, llm.Output: 1}, Partial: true}})
	if !got.Reported || !got.Partial || got.Usage[llm.Input] != 9 {
		t.Errorf("after the first counts: %+v", got)
	}
	got.Add(&llm.Event{Kind: llm.EventUsage, Metered: &llm.Metered{Usage: llm.Usage{llm.Input: 9, llm.Output: 7}}})
	if got.Partial || got.Usage[llm.Output] != 7 {
		t.Errorf("after the last: %+v", got)
	}
	got.Add(&llm.Event{Kind: llm.EventText})
	if got.Partial {
		t.Errorf("after no words: %+v", got)
	}
	got.Add(&llm.Event{Kind: llm.EventText, Text: "more"})
	if !got.Partial || got.Usage[llm.Output] != 7 {
		t.Errorf("after words behind the last: %+v", got)
	}
}
