package redaction_test

import (
	"strings"
	"testing"

	"weir/internal/redaction"
)

func BenchmarkText(b *testing.B) {
	r, err := redaction.New()
	if err != nil {
		b.Fatal(err)
	}
	text := strings.Repeat("The key to a good API is that an access token is not a secret of its own: every author has to know. ", 640)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		r.Text(text)
	}
}
