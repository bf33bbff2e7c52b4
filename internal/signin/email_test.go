package signin_test

import (
	"testing"

	"weir/internal/llm"
	"weir/internal/people"
)

// TestAddressesThatLookAlike invites addresses that look like another one's.
func TestAddressesThatLookAlike(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	boss := h.setUp("ada@example.com")
	for email, taken := range map[string]bool{
		"a\u200bda@example.com": false, "ada@exam\u00adple.com": false, "ada@example.com\u200d": false,
		"\u202eada@example.com": false, "ad\u0430@example.com": false, "\u03bfscar@example.com": false,
		"ada@ex\u0430mple.com": false, "\ufeffada@example.com": false,
		"иван@example.com": true, "jürgen@bücher.example": true, "ivan.иванов@example.com": true,
		"太郎taro@example.com": true, "o'neil+x_y@example.com": true,
	} {
		_, _, err := h.newInvitation(boss.Actor(home), people.Invitation{Email: email, AccountID: h.account.ID, Role: people.Viewer})
		if taken && err != nil {
			t.Errorf("invite %q: got %v, want it accepted", email, err)
		}
		if !taken {
			wantCode(t, "invite "+email, err, llm.CodeInvalidRequest)
		}
	}
}
