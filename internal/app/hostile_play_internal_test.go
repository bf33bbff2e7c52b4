package app

import (
	"net/http"
	"testing"
)

// TestPlaygroundAnswersArePrivate is that an answer of the playground, which a model
// wrote, is nothing that a browser shows as a page of this site or keeps.
func TestPlaygroundAnswersArePrivate(t *testing.T) {
	t.Parallel()
	s := newStaff(t)
	w := s.visit("owner", http.MethodPost, "/accounts/acme/playground", `{"model":"x/y","messages":[]}`)
	for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Cross-Origin-Resource-Policy": "same-origin"} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
