package httpserver

import (
	"errors"
	"net/http"
	"strings"
	"testing"
)

// TestCookiesAreLines checks that a cookie's lines over HTTP/2, which net/http joins, count among those of the head.
func TestCookiesAreLines(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]error{maxLines + 1: errLines, 5000: errLines} {
		fields := http.Header{"Cookie": {strings.TrimSuffix(strings.Repeat("a=b; ", n), "; ")}}
		if _, err := (&Server{}).countFields(fields); !errors.Is(err, want) {
			t.Errorf("%d cookies: got %v, want %v", n, err, want)
		}
	}
}
