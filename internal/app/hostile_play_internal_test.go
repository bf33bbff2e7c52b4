package app

import (
	"net/http"
	"testing"
)

// TestPlaygroundAnswersArePrivate checks that an answer of the playground, which a model wrote, is never shown as a
// page of this site nor stored by a browser.
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
