package llm_test

import (
	"regexp"
	"strings"
	"testing"
	"testing/quick"

	"weir/internal/llm"
)

func TestMatchesPatterns(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		pattern, name string
		want          bool
	}{
		{"openai/gpt-5", "openai/gpt-5", true},
		{"openai/gpt-5", "openai/gpt-5-mini", false},
		{"openai/*", "openai/gpt-5", true},
		{"openai/*", "openrouter/openai/gpt-5", false},
		{"openai/*", "openai", false},
		{"openrouter/*", "openrouter/meta/llama", true},
		{"*", "", true},
		{"*", "anything/at/all", true},
		{"*/gpt*mini", "openai/gpt-5-mini", true},
		{"*/gpt*mini", "openai/gpt-5-mini-2", false},
		{"a*a", "a", false},
		{"a*a", "aa", true},
		{"*ab*ab", "ab", false},
		{"*ab*ab", "abab", true},
		{"**", "x", true},
		{"fast", "Fast", false},
		{"", "", true},
	} {
		if got := llm.Matches(test.pattern, test.name); got != test.want {
			t.Errorf("Matches(%q, %q): got %v, want %v", test.pattern, test.name, got, test.want)
		}
	}
}

// TestMatchesLikeRegexp compares with patterns that regexp understands.
func TestMatchesLikeRegexp(t *testing.T) {
	t.Parallel()
	letters := func(b []byte) string {
		s := []byte{}
		for _, c := range b {
			s = append(s, "ab/*"[c%4])
		}
		return string(s[:min(len(s), 8)])
	}
	same := func(p, n []byte) bool {
		pattern, name := letters(p), strings.ReplaceAll(letters(n), "*", "c")
		re := regexp.MustCompile("^" + strings.ReplaceAll(pattern, "*", ".*") + "$")
		return llm.Matches(pattern, name) == re.MatchString(name)
	}
	if err := quick.Check(same, &quick.Config{MaxCount: 20000}); err != nil {
		t.Error(err)
	}
}
