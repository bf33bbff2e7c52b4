package people_test

import (
	"maps"
	"testing"

	"weir/internal/llm"
	"weir/internal/people"
	"weir/internal/people/oidctest"
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

// TestOIDCLooksAlike is that an address whose letters only become others' in lower
// case is not theirs.
func TestOIDCLooksAlike(t *testing.T) {
	t.Parallel()
	h, idp := newSSO(t, func(o *people.OIDCOptions) { o.SignUp = true })
	h.setUp("kim@example.com")
	for _, email := range []string{"\u212Aim@example.com", "k\u0130m@example.com"} { // the Kelvin sign, a capital I with a dot
		idp.Put(oidctest.Person{Subject: email, Email: email, Verified: true})
		session, _, err := h.come(idp, email)
		if err == nil && h.visitor(session).Operator() {
			t.Errorf("%q: got let in as kim@example.com", email)
		}
	}
}

// TestOIDCTwoAddresses is that what the user info says of an address does not count
// for another one in the token, nor the other way round.
func TestOIDCTwoAddresses(t *testing.T) {
	t.Parallel()
	for name, token := range map[string]map[string]any{
		"unverified in the token":      {"email": "ada@example.com"},
		"verified without the address": {"email_verified": true},
	} {
		h, idp := newSSO(t, func(o *people.OIDCOptions) {
			o.SignUp, o.Operators = true, []string{"nobody"} // the token has no groups: the user info is asked
		})
		h.setUp("ada@example.com")
		p := oidctest.Person{Subject: "s-eve", Email: "eve@example.com", Verified: true, Thin: true}
		if token["email"] == nil {
			p.Email, p.Verified = "ada@example.com", nil
		}
		idp.Put(p)
		idp.Spoil = func(c map[string]any) { maps.Copy(c, token) }
		session, _, err := h.come(idp, "s-eve")
		if err == nil && h.visitor(session).User().Email == "ada@example.com" {
			t.Errorf("%s: got let in as ada@example.com", name)
		}
	}
}
