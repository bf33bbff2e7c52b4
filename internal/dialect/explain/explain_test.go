package explain_test

import (
	"strings"
	"testing"

	"weir/internal/dialect/explain"
)

func TestClean(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                                      "",
		" two\n\tlines\x00\xff ":                "two lines",
		"The key sk-aaaaaaaaaaaaaaaa is bad":    "The key [redacted] is bad",
		"The key AKIAIOSFODNN7EXAMPLE is bad":   "The key [redacted] is bad",
		"Bearer+sk-aaaaaaaaaaaaaaaa, a bad one": "Bearer+[redacted], a bad one",
		"+gsk_aaaaaaaaaaaaaaaa":                 "+[redacted]",
		`{"key":"xai-aaaaaaaaaaaaaaaa","x":1}`:  `{"key":"[redacted]","x":1}`,
		"?key=AIzaaaaaaaaaaaaaaaaa&x=1":         "?key=[redacted]&x=1",
		"r8_short,hf_aaaaaaaaaaaaaaaa":          "r8_short,[redacted]",
		"é" + "hf_aaaaaaaaaaaaaaaa":             "é[redacted]",
		"a task-oriented-way-out-of-it":         "a task-oriented-way-out-of-it",
		"x-api-key-is-not-what-it-was":          "x-api-key-is-not-what-it-was",
		"sk-short":                              "sk-short",
		"sk-short sk-...":                       "sk-short sk-...",
		strings.Repeat("é", explain.MaxMessage): strings.Repeat("é", 248) + "…",
	} {
		if got := explain.Clean(in); got != want || len(got) > explain.MaxMessage {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestCode(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ code, message, want string }{
		{"", "", ""},
		{"x", "Something else", "x"},
		{"string_above_max_length", "", explain.Context},
		{"ValidationException", "Input is too long for requested model.", explain.Context},
		{"moderation_blocked", "", explain.Policy},
		{"", "blocked by our content filters", explain.Policy},
	} {
		if got := explain.Code(tt.code, tt.message); got != tt.want {
			t.Errorf("%q, %q: got %q, want %q", tt.code, tt.message, got, tt.want)
		}
	}
}
