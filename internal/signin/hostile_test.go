package signin_test

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/people"
	"weir/internal/signin"
	"weir/internal/signin/oidctest"
)

// TestResetOutlivesNoOperator checks that links for a new password that an operator created in advance do not let them
// in again as another person.
func TestResetOutlivesNoOperator(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.setUp("ada@example.com")
	mallory := h.join(ada.Actor(home), "mallory@example.com", people.Viewer)
	must.Do(t, h.SetOperator(h.ctx, ada.Actor(home), mallory.User().ID, true))
	link, err := h.resetLink(mallory.Actor(stranger), ada.User().ID)
	must.Do(t, err)
	must.Do(t, h.SetOperator(h.ctx, ada.Actor(home), mallory.User().ID, false))
	_, err = h.signIn.Links.Reset(h.ctx, link.Reveal(), secret("another few words in a row"), stranger)
	wantCode(t, "a link that an operator made who is none any more", err, llm.CodeNotFound)
	if _, err := h.signIn.Passwords.SignIn(h.ctx, "ada@example.com", secret(goodPassword), home); err != nil {
		t.Errorf("the old password: got %v, want it good", err)
	}
}

// TestOIDCLooksAlike checks that an address that equals another one only in lower case does not count as that one.
func TestOIDCLooksAlike(t *testing.T) {
	t.Parallel()
	h, idp := newSSO(t, func(o *signin.OIDCOptions) { o.SignUp = true })
	h.setUp("kim@example.com")
	for _, email := range []string{"\u212Aim@example.com", "k\u0130m@example.com"} { // the Kelvin sign, a capital I with a dot
		idp.Put(oidctest.Person{Subject: email, Email: email, Verified: true})
		session, _, err := h.come(idp, email)
		if err == nil && h.visitor(session).Operator() {
			t.Errorf("%q: got admitted as kim@example.com", email)
		}
	}
}

// TestOIDCTwoAddresses checks that the user info's verification of an address does not count for another one in the
// token, nor the reverse.
func TestOIDCTwoAddresses(t *testing.T) {
	t.Parallel()
	for name, token := range map[string]map[string]any{
		"unverified in the token":      {"email": "ada@example.com"},
		"verified without the address": {"email_verified": true},
	} {
		h, idp := newSSO(t, func(o *signin.OIDCOptions) {
			o.SignUp, o.Operators = true, []string{"nobody"} // the token has no groups: the user info is requested
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
			t.Errorf("%s: got admitted as ada@example.com", name)
		}
	}
}

// TestSquatterIsNoOperator has an owner invite a foreign address and use the link themselves. If an operator then
// promotes that address, the squatter does not become an operator, only the person who uses a link from the operator.
func TestSquatterIsNoOperator(t *testing.T) {
	t.Parallel()
	const squatted, chosen = "cfo@example.com", "words of the true one"
	for name, test := range map[string]struct {
		link func(h *fixture, by audit.Actor, userID string) (llm.Secret, error)
		use  func(h *fixture, token string) (llm.Secret, error)
		made bool // an operator by the link itself
	}{
		"a link for a new password": {
			func(h *fixture, by audit.Actor, userID string) (llm.Secret, error) {
				return h.resetLink(by, userID)
			},
			func(h *fixture, token string) (llm.Secret, error) {
				return h.signIn.Links.Reset(h.ctx, token, secret(chosen), home)
			},
			false,
		},
		"an operator's invitation to operate": {
			func(h *fixture, by audit.Actor, _ string) (llm.Secret, error) {
				token, _, err := h.newInvitation(by, people.Invitation{Email: squatted, Operator: true})
				return token, err
			},
			acceptAs(chosen), true,
		},
		"an operator's invitation to an account": {
			func(h *fixture, by audit.Actor, _ string) (llm.Secret, error) {
				token, _, err := h.newInvitation(by, people.Invitation{Email: squatted, AccountID: h.newAccount("other").ID, Role: people.Viewer})
				return token, err
			},
			acceptAs(chosen), false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newFixture(t)
			ada := h.setUp("ada@example.com")
			by := ada.Actor(home)
			mallory := h.join(by, "mallory@example.com", people.Owner)
			squatter := h.join(mallory.Actor(stranger), squatted, people.Owner)
			session := must.Get(h.signIn.Passwords.SignIn(h.ctx, squatted, secret(goodPassword), stranger))(t)
			id := squatter.User().ID
			if squatter.User().Proven || !mallory.User().Proven || !ada.User().Proven {
				t.Errorf("proven: got %v of the squatter, %v of who was invited by an operator, %v of who set up; want the last two",
					squatter.User().Proven, mallory.User().Proven, ada.User().Proven)
			}
			wantCode(t, "make the squatter an operator", h.SetOperator(h.ctx, by, id, true), llm.CodeInvalidRequest)
			if h.visitor(session).Operator() {
				t.Fatal("the squatter is an operator")
			}
			// An owner's invitation proves nothing, and needs the password.
			again, _, err := h.newInvitation(mallory.Actor(stranger), people.Invitation{Email: squatted, AccountID: h.account.ID, Role: people.Viewer})
			if err == nil {
				_, err = h.signIn.Links.Accept(h.ctx, again.Reveal(), person(""), stranger)
			}
			wantCode(t, "an owner invites a member", err, llm.CodeInvalidRequest)

			link := must.Get(test.link(h, by, id))(t)
			fresh, err := test.use(h, link.Reveal())
			if err != nil {
				t.Fatalf("the true one: %v", err)
			}
			h.gone(session, "the true one came")
			_, err = h.signIn.Passwords.SignIn(h.ctx, squatted, secret(goodPassword), stranger)
			wantCode(t, "the squatter's password", err, llm.CodeAuthentication)
			v := h.visitor(fresh)
			if !v.User().Proven || v.User().ID != id || v.Operator() != test.made {
				t.Errorf("the true one: got %+v, want the same user, proven, operator %v", v.User(), test.made)
			}
			if err := h.SetOperator(h.ctx, by, id, true); err != nil || !h.visitor(fresh).Operator() {
				t.Errorf("make the true one an operator: got %v", err)
			}
			if got, want := h.actions(), "user.changed "+squatted+" by "+squatted; !strings.Contains(got, want) {
				t.Errorf("audit log: got no %q in\n%s", want, got)
			}
		})
	}
}

func acceptAs(password string) func(h *fixture, token string) (llm.Secret, error) {
	return func(h *fixture, token string) (llm.Secret, error) {
		return h.signIn.Links.Accept(h.ctx, token, signin.Person{Password: secret(password)}, home)
	}
}

// TestOwnersLinkNeedsThePassword checks that an owner who invites a user to another of their accounts cannot sign in as
// them, proven or not.
func TestOwnersLinkNeedsThePassword(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.setUp("ada@example.com")
	mallory := h.join(ada.Actor(home), "mallory@example.com", people.Owner)
	bob := h.join(mallory.Actor(home), "bob@example.com", people.Viewer)
	must.Do(t, h.RemoveMember(h.ctx, ada.Actor(home), h.account.ID, bob.User().ID))
	token, _, err := h.newInvitation(mallory.Actor(stranger), people.Invitation{Email: "bob@example.com", AccountID: h.account.ID, Role: people.Viewer})
	must.Do(t, err)
	_, err = h.signIn.Links.Accept(h.ctx, token.Reveal(), signin.Person{Password: secret("what mallory chose")}, stranger)
	wantCode(t, "with a password of the owner's choice", err, llm.CodeAuthentication)
	a := h.admission(token, *bob.User()) // without the service
	if err := h.store.Admissions.UseInvitation(h.ctx, a); !errors.Is(err, people.ErrExists) {
		t.Errorf("a new password by an owner's link: got %v, want ErrExists", err)
	}
	if _, err := h.signIn.Links.Accept(h.ctx, token.Reveal(), person(""), home); err != nil {
		t.Errorf("with their own password: got %v", err)
	}
}

// TestInvitationsEndWithTheirKey checks that invitations made with an operator's key are invalid after the key was
// revoked or has expired.
func TestInvitationsEndWithTheirKey(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(h *fixture, keys *account.Service, id string) error{
		"revoked": func(h *fixture, keys *account.Service, id string) error {
			_, err := keys.RevokeKey(h.ctx, audit.Gateway(), id)
			return err
		},
		"its time over": func(h *fixture, _ *account.Service, _ string) error {
			h.advance(48 * time.Hour)
			return nil
		},
		"its time made shorter": func(h *fixture, keys *account.Service, id string) error {
			_, err := keys.UpdateKey(h.ctx, audit.Gateway(), id, account.KeyUpdate{Expires: new(h.clock().Add(time.Hour))})
			h.advance(time.Hour)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newFixture(t)
			ada := h.setUp("ada@example.com")
			keys := account.NewService(h.store.Accounts.Stores(), h.clock, slog.New(slog.DiscardHandler))
			var links []string
			var ids []string
			for _, o := range []account.KeyOptions{
				{Label: "ada@example.com", ExpiresIn: 48 * time.Hour}, // named like another one
				{Label: "another"},
			} {
				o.Account, o.Permissions = h.account.ID, []account.Permission{account.Admin}
				k, _, err := keys.CreateKey(h.ctx, audit.Gateway(), o)
				must.Do(t, err)
				ids = append(ids, k.ID)
				by := people.KeyHolder(&k).Actor(stranger)
				for _, i := range []people.Invitation{{Operator: true}, {AccountID: h.account.ID, Role: people.Owner}} {
					i.Email = fmt.Sprintf("user%d@example.com", len(links))
					links = append(links, h.invite(by, i))
				}
			}
			links = append(links, h.invite(ada.Actor(home), people.Invitation{Email: "grace@example.com", Operator: true}))
			must.Do(t, end(h, keys, ids[0]))
			for i, link := range links {
				_, err := h.signIn.Links.Accept(h.ctx, link, person(""), stranger)
				if i < 2 {
					wantCode(t, fmt.Sprintf("link %d, of the key", i), err, llm.CodeNotFound)
				} else if err != nil {
					t.Errorf("link %d, of another person: %v", i, err)
				}
			}
			if got, want := strings.Count(h.actions(), "invitation.cancelled user"), map[bool]int{true: 2}[name == "revoked"]; got != want {
				t.Errorf("audit log: got %d invitations cancelled, want %d", got, want)
			}
		})
	}
}

// invite creates an invitation and returns its token.
func (h *fixture) invite(by audit.Actor, i people.Invitation) string {
	h.t.Helper()
	token, _, err := h.newInvitation(by, i)
	if err != nil {
		h.t.Fatalf("invite %s: %v", i.Email, err)
	}
	return token.Reveal()
}

// TestDemotedOperatorHasNoKey checks that a former operator has no access by a key that administers the installation,
// nor by its invitations.
func TestDemotedOperatorHasNoKey(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.setUp("ada@example.com")
	mallory := h.join(ada.Actor(home), "mallory@example.com", people.Member)
	must.Do(t, h.SetOperator(h.ctx, ada.Actor(home), mallory.User().ID, true))
	keys := account.NewService(h.store.Accounts.Stores(), h.clock, slog.New(slog.DiscardHandler))
	made := map[string]account.Key{}
	for label, o := range map[string]account.KeyOptions{
		"mallory's, to operate": {Permissions: []account.Permission{account.Chat, account.Admin}, Creator: mallory.User().ID},
		"mallory's, to chat":    {Creator: mallory.User().ID},
		"ada's, to operate":     {Permissions: []account.Permission{account.Admin}, Creator: ada.User().ID},
	} {
		o.Account, o.Label = h.account.ID, label
		k, _, err := keys.CreateKey(h.ctx, audit.Gateway(), o)
		must.Do(t, err)
		made[label] = k
	}
	link := h.invite(people.KeyHolder(new(made["mallory's, to operate"])).Actor(stranger), people.Invitation{Email: "eve@example.com", Operator: true})
	must.Do(t, h.SetOperator(h.ctx, ada.Actor(home), mallory.User().ID, false))
	for label, k := range made {
		now, err := keys.Key(h.ctx, k.ID)
		if want := label == "mallory's, to operate"; err != nil || (now.Revoked != nil) != want {
			t.Errorf("%s: got revoked %v, %v; want %v", label, now.Revoked, err, want)
		}
	}
	_, err := h.signIn.Links.Accept(h.ctx, link, person(""), stranger)
	wantCode(t, "a link that was made with the key", err, llm.CodeNotFound)
	const want = "key.revoked mallory's, to operate by ada@example.com\n" +
		"invitation.cancelled eve@example.com by ada@example.com\noperator.removed mallory@example.com by ada@example.com"
	if got := h.actions(); !strings.HasSuffix(got, want) {
		t.Errorf("audit log: got\n%s\nwant at its end\n%s", got, want)
	}
}
