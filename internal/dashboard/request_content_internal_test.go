package dashboard

import (
	"strings"
	"testing"
)

// checks that the arguments of a tool, which a model writes, do not grow with their depth times their length.
func TestDeepContentIsNotIndented(t *testing.T) {
	t.Parallel()
	const depth, elements = 5000, 1000
	text := strings.Repeat("[", depth) + strings.Repeat("1,", elements) + "1" + strings.Repeat("]", depth)
	if got := indented([]byte(text)); got != text {
		t.Errorf("%d bytes nested %d deep: got %d bytes, want them as they are", len(text), depth, len(got))
	}
	if got, want := indented([]byte(`{"a":[1]}`)), "{\n  \"a\": [\n    1\n  ]\n}"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
