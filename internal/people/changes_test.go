package people_test

import (
	"fmt"
	"testing"
	"time"

	"weir/internal/audit"
	"weir/internal/llm"
	"weir/internal/people"
)

// TestChangesAreBounded is that a member changes 200 things at once and one a minute from then on, and an operator
// as many as they like.
func TestChangesAreBounded(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	operator := h.setUp("ada@example.com")
	member := h.join(audit.Gateway(), "ben@example.com", people.Member)
	made := 0
	for range 300 {
		if err := h.CountChange(operator); err != nil {
			t.Fatalf("an operator: %v", err)
		}
		if h.CountChange(member) == nil {
			made++
		}
	}
	if made != 200 {
		t.Errorf("a member at once: got %d changes, want 200", made)
	}
	err := h.CountChange(member)
	if wantCode(t, "one more", err, llm.CodeRateLimited); llm.AsError(err).RetryAfter != time.Minute {
		t.Errorf("one more: got %v to wait, want a minute", llm.AsError(err).RetryAfter)
	}
	h.advance(time.Minute)
	if err := h.CountChange(member); err != nil {
		t.Errorf("a minute later: %v", err)
	}
	wantCode(t, "another one", h.CountChange(member), llm.CodeRateLimited)
	if err := h.CountChange(h.join(audit.Gateway(), "cy@example.com", people.Owner)); err != nil {
		t.Errorf("somebody else: %v", err)
	}
}

// TestSignInsAreBounded is that right passwords do not fill the disk with sessions.
func TestSignInsAreBounded(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.setUp("ada@example.com")
	h.join(audit.Gateway(), "ben@example.com", people.Member)
	for i := range 201 {
		_, err := h.SignIn(h.ctx, "ben@example.com", secret(goodPassword), home)
		if i < 200 && err != nil {
			t.Fatalf("sign-in %d: %v", i, err)
		}
		if i == 200 {
			wantCode(t, fmt.Sprintf("sign-in %d", i), err, llm.CodeRateLimited)
		}
	}
}
