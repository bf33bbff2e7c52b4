package signin_test

import (
	"fmt"
	"testing"
	"time"

	"weir/internal/audit"
	"weir/internal/llm"
	"weir/internal/people"
)

// TestChangesAreBounded checks that a member makes 200 changes at once and one a minute from then on, and an operator
// any number.
func TestChangesAreBounded(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	operator := h.setUp("ada@example.com")
	member := h.join(audit.Gateway(), "ben@example.com", people.Member)
	made := 0
	for range 300 {
		if err := h.signIn.Changes.Count(operator, "", false); err != nil {
			t.Fatalf("an operator: %v", err)
		}
		if h.signIn.Changes.Count(member, "", false) == nil {
			made++
		}
	}
	if made != 200 {
		t.Errorf("a member at once: got %d changes, want 200", made)
	}
	err := h.signIn.Changes.Count(member, "", false)
	if wantCode(t, "one more", err, llm.CodeRateLimited); llm.AsError(err).RetryAfter != time.Minute {
		t.Errorf("one more: got %v to wait, want a minute", llm.AsError(err).RetryAfter)
	}
	h.advance(time.Minute)
	if err := h.signIn.Changes.Count(member, "", false); err != nil {
		t.Errorf("a minute later: %v", err)
	}
	wantCode(t, "another one", h.signIn.Changes.Count(member, "", false), llm.CodeRateLimited)
	if err := h.signIn.Changes.Count(h.join(audit.Gateway(), "cy@example.com", people.Owner), "", false); err != nil {
		t.Errorf("another person: %v", err)
	}
}

// TestChangesOfAnAccount checks that all people of an account make 400 changes at once, and five a minute from then on,
// that others can continue, and that keys can be revoked when the changes are used up.
func TestChangesOfAnAccount(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.setUp("ada@example.com")
	var members []*people.Visitor
	for i := range 4 {
		members = append(members, h.join(audit.Gateway(), fmt.Sprintf("m%d@example.com", i), people.Member))
	}
	change := func(v *people.Visitor, account string, revoking bool, want int) {
		t.Helper()
		made := 0
		for range want + 10 {
			if h.signIn.Changes.Count(v, account, revoking) == nil {
				made++
			}
		}
		if made != want {
			t.Errorf("got %d changes, want %d", made, want)
		}
	}
	for i, want := range []int{200, 200, 0, 0} {
		change(members[i], "acc", false, want)
	}
	change(members[2], "other", false, 200)
	wantCode(t, "one more", h.signIn.Changes.Count(members[3], "acc", false), llm.CodeRateLimited)
	h.advance(time.Minute)
	change(members[3], "acc", false, 5)
	for i, want := range []int{1000, 1000, 0} {
		change(members[i], "acc", true, want)
	}
}

// TestSignInsAreBounded checks that right passwords do not fill the disk with sessions.
func TestSignInsAreBounded(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.setUp("ada@example.com")
	h.join(audit.Gateway(), "ben@example.com", people.Member)
	for i := range 201 {
		_, err := h.signIn.Passwords.SignIn(h.ctx, "ben@example.com", secret(goodPassword), home)
		if i < 200 && err != nil {
			t.Fatalf("sign-in %d: %v", i, err)
		}
		if i == 200 {
			wantCode(t, fmt.Sprintf("sign-in %d", i), err, llm.CodeRateLimited)
		}
	}
}
