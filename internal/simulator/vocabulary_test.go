package simulator

import (
	"slices"
	"strings"
	"testing"

	"github.com/tiktoken-go/tokenizer"

	"weir/internal/must"
)

// TestPiecesAreTokens checks that OpenAI's own tokenizer splits a text as the simulator does, because its output tokens
// are pieces.
func TestPiecesAreTokens(t *testing.T) {
	t.Parallel()
	enc, err := tokenizer.Get(tokenizer.O200kBase)
	must.Do(t, err)
	texts := map[string][]string{
		"greeting": slices.Concat(greeting, plainWords, []string{"."}),
		"telling":  slices.Concat(telling, plainWords, []string{"."}),
		"musing":   slices.Concat(musing, plainWords),
		"foreign":  slices.Concat(greeting, foreignWords, []string{"."}),
		"reversed": reversed(foreignWords),
	}
	for name, pieces := range texts {
		_, got, err := enc.Encode(strings.Join(pieces, ""))
		must.Do(t, err)
		must.Equal(t, pieces, got, "%s: pieces (-) are not the tokens (+):", name)
	}
}

func reversed(words []string) []string {
	words = slices.Clone(words)
	slices.Reverse(words)
	return words
}

func TestSplittingKeepsSpaces(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"":               nil,
		"one":            {"one"},
		"one two\nthree": {"one", " two", "\nthree"},
		" one  two ":     {" one", "  two", " "},
	} {
		must.Equal(t, splitWords(text), want, "splitWords(%q)", text)
	}
	for _, text := range []string{"", `{"a":"b"}`, `{"ä":"öüß水河"}`} {
		pieces := splitJSON(text)
		if got := strings.Join(pieces, ""); got != text {
			t.Errorf("splitJSON(%q) joined = %q", text, got)
		}
		for _, p := range pieces {
			if strings.ToValidUTF8(p, "?") != p {
				t.Errorf("splitJSON(%q) cuts inside a character: %q", text, p)
			}
		}
	}
}
