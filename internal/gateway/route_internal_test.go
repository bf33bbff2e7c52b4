package gateway

import (
	"strings"
	"testing"
)

// TestCheckModel checks which names of models are accepted.
func TestCheckModel(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"a/b:free": true, "house/Qwen/Qwen3-32B": true, "models/日本": true, strings.Repeat("a", maxModel): true,
		strings.Repeat("a", maxModel+1): false, "a/b c": false, "a/\x00": false, "a/..": false, "./a": false, "a/\xff": false,
		"a/\u202emoc": false, "a/\u2066b": false, "a/b\u200b": false, "\ufeffa/b": false,
		"a/\u3164": false, "a/\u115f": false, "a/\u034f": false, "a\ufe0f": false, "a/\u2800": false,
	} {
		if got := checkModel(name) == nil; got != want {
			t.Errorf("%q: accepted %t, want %t", name, got, want)
		}
	}
}
