package quote

import (
	"testing"

	"weir/internal/dialect/registry/registrytest"
	"weir/internal/worktest"
)

// FuzzTokensAtMost checks that any text is counted, as no more tokens than it has bytes.
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

// FuzzUnreportedTools checks that the tools of any request are read in linear time.
func FuzzUnreportedTools(f *testing.F) {
	for _, body := range []string{
		`{"tools":[{"type":"function"},{"type":"shell","environment":{"type":"local"}},{"type":"namespace","tools":[{"type":"x"}]}]}`,
		`{"tools":[{"custom":1,"customs":2,"x":3,"tools":[{"y":4}]}]}`,
		`{"a_tools":1,"b_tools":2,"type":"mcp_list_tools"}`,
		`{"messages":[{"content":[{"content":[{"content":[{"tools":[{}]}]}]}]}],"enable_search":true,"prompt":false}`,
		`{"a":[{"a":[{"a":[{"a":[{"a":[]}]}]}]}]}`,
	} {
		f.Add([]byte(body), uint8(0))
	}
	all := registrytest.All()
	f.Fuzz(func(t *testing.T, body []byte, wire uint8) {
		in := &all[int(wire)%len(all)].Inputs
		worktest.Check(t, body, func(body []byte) { new(Inputs).unreportedIn(body, in) })
	})
}
