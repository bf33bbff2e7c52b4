package provider

import (
	"strings"
	"testing"
)

func TestLogSafe(t *testing.T) {
	t.Parallel()
	const key = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
	for in, want := range map[string]string{
		"no EC2 IMDS role found, operation error":    "no EC2 IMDS role found, operation error",
		"two\nlines\tand \x1b[31m red":               "two lines and [31m red",
		"open /home/u/.aws/credentials: denied":      "open /home/u/.aws/credentials: denied",
		`{"SecretAccessKey":"` + key + `"}`:          `{"SecretAccessKey":"[redacted]"}`,
		"token=eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9": "[redacted]",
		"0123456789abcdef0123456789abcdef":           "[redacted]",
		strings.Repeat("word ", 1000):                strings.Repeat("word ", maxLogSafe/5) + "…",
		"":                                           "",
	} {
		if got := logSafe(in); got != want {
			t.Errorf("logSafe(%q): got %q, want %q", in, got, want)
		}
	}
}
