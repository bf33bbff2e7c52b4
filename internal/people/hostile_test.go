package people_test

import (
	"testing"

	"weir/internal/llm"
	"weir/internal/people"
)

// TestResetOutlivesNoOperator is that links for a new password, which an operator
// made beforehand, do not let them in again as somebody else.
func TestResetOutlivesNoOperator(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ada := h.setUp("ada@example.com")
	mallory := h.join(ada.Actor(home), "mallory@example.com", people.Viewer)
	if err := h.SetOperator(h.ctx, ada.Actor(home), mallory.User().ID, true); err != nil {
		t.Fatal(err)
	}
	link, err := h.ResetLink(h.ctx, mallory.Actor(stranger), ada.User().ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.SetOperator(h.ctx, ada.Actor(home), mallory.User().ID, false); err != nil {
		t.Fatal(err)
	}
	_, err = h.Reset(h.ctx, link.Reveal(), secret("another few words in a row"), stranger)
	wantCode(t, "a link that an operator made who is none any more", err, llm.CodeNotFound)
	if _, err := h.SignIn(h.ctx, "ada@example.com", secret(goodPassword), home); err != nil {
		t.Errorf("the old password: got %v, want it good", err)
	}
}
