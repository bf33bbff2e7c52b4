package people

import (
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/llm"
)

// TestHashWaitIsBounded is that nobody waits for ever where many sign in, and
// nobody hashes out of turn.
func TestHashWaitIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHasher(false)
		for range cap(h.slots) {
			h.slots <- struct{}{}
		}
		began := time.Now()
		_, err := h.hash(t.Context(), llm.NewSecret("a weir measures a river"))
		if e := llm.AsError(err); err == nil || e.Code != llm.CodeOverloaded || e.RetryAfter == 0 || time.Since(began) != hashWait {
			t.Errorf("while all slots are taken: got %v after %s, want OVERLOADED after %s", err, time.Since(began), hashWait)
		}
	})
}
