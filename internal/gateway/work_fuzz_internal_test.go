package gateway

import (
	"encoding/json"
	"testing"

	"weir/internal/worktest"
)

// FuzzExtensions holds that whatever stands in the fields of the service's own is taken or
// refused, and that what remains is JSON.
func FuzzExtensions(f *testing.F) {
	for _, body := range []string{
		`{"model":"a","fallbacks":["b","c"],"rescue":"off","x":[1]}`, `{"fall\u0062acks":["b"]}`, `{"fallbacks":"a"}`,
		`{"rescue":"on","Rescue":"off"}`, `{"fallbacks":[{"a":1}],"fallbacks":null}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if !json.Valid(body) {
			return
		}
		worktest.Check(t, body, func(body []byte) {
			if mayExtend(body) {
				_, _ = (&call{body: body}).takeExtensions()
			}
		})
		if cut, err := (&call{body: body}).takeExtensions(); err == nil && cut != nil && !json.Valid(cut) {
			t.Errorf("%q becomes %q", body, cut)
		}
	})
}

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
