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
		h.known <- struct{}{}
		began := time.Now()
		_, err := h.hash(t.Context(), llm.NewSecret("a weir measures a river"))
		if e := llm.AsError(err); err == nil || e.Code != llm.CodeOverloaded || e.RetryAfter == 0 || time.Since(began) != hashWait {
			t.Errorf("while all slots are taken: got %v after %s, want OVERLOADED after %s", err, time.Since(began), hashWait)
		}
	})
}

// TestKnownDoNotWait is that those who are known hash while strangers have all slots, and strangers never in theirs.
func TestKnownDoNotWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHasher(true)
		stored, err := h.hash(t.Context(), llm.NewSecret("a weir measures a river"))
		if err != nil {
			t.Fatal(err)
		}
		for range cap(h.slots) {
			h.slots <- struct{}{}
		}
		if ok, _, err := h.verify(t.Context(), llm.NewSecret("a weir measures a river"), stored, true); !ok || err != nil {
			t.Errorf("known: got %v, %v, want the right password", ok, err)
		}
		if _, _, err := h.verify(t.Context(), llm.NewSecret("a guess"), stored, false); err == nil || llm.AsError(err).Code != llm.CodeOverloaded {
			t.Errorf("a stranger: got %v, want OVERLOADED", err)
		}
	})
}
