package quote

import (
	"testing"

	"weir/internal/worktest"
)

// FuzzTokensAtMost holds that any text is counted, as no more tokens than it has bytes.
func FuzzTokensAtMost(f *testing.F) {
	for _, text := range []string{"many words ", "a", "  \n\t", "123,456", "é漢字🙂", "\\u00e9\\n", "aA1 ", " \n", "\xff\xfe", "----", "<|endoftext|>", "A's", "ǅʰ漢"} {
		f.Add([]byte(text), true)
	}
	f.Fuzz(func(t *testing.T, text []byte, same bool) {
		worktest.Check(t, text, func(text []byte) { tokensAtMost(text, same) })
		if got := tokensAtMost(text, same); got < 0 || got > int64(len(text)) {
			t.Errorf("%q: got %d tokens of %d bytes", text, got, len(text))
		}
	})
}
