package api

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"weir/internal/conversation"
	"weir/internal/must"
)

// TestLargeUsesAreHeld counts a large page of usage among what its account has in memory until it
// is taken, and lets a small one go without, which is answered whatever memory is free.
func TestLargeUsesAreHeld(t *testing.T) {
	t.Parallel()
	var held int64
	h := &Uses{readCapacity: func(_ *http.Request, account string) (conversation.Capacity, func()) {
		if account != "acc_a" {
			t.Errorf("got account %q, want acc_a", account)
		}
		return conversation.Capacity{Reserve: func(n int64) error { held += n; return nil }}, func() { held = 0 }
	}}
	for size, want := range map[int]int64{largeUses - 1: 0, largeUses: largeUses} {
		r := &request{Request: httptest.NewRequest(http.MethodGet, "/v1/uses", http.NoBody)}
		must.Do(t, h.hold(r, "acc_a", size))
		if held != want {
			t.Errorf("%d bytes: %d are held, want %d", size, held, want)
		}
		if r.end(); held != 0 {
			t.Errorf("%d bytes: %d are held at the end, want none", size, held)
		}
	}
}
