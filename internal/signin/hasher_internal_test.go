package signin

import (
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/llm"
)

// TestHashWaitIsBounded checks that no sign-in waits for ever among many, and that none hashes without a slot.
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
			t.Errorf("while all slots are in use: got %v after %s, want OVERLOADED after %s", err, time.Since(began), hashWait)
		}
	})
}

// TestKnownDoNotWait checks that known people hash while strangers have all their slots, and that strangers never use
// the others.
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
