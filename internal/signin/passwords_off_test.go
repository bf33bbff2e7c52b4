package signin_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"weir/internal/audit"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/people"
	"weir/internal/signin"
	"weir/internal/signin/oidctest"
)

// TestPasswordsOff checks that disabled passwords are not accepted nor set, that sessions that began with one end, and
// that single sign-on and links work.
func TestPasswordsOff(t *testing.T) {
	t.Parallel()
	h, idp := newSSO(t)
	ada := h.setUp("ada@example.com")
	bob := h.join(ada.Actor(home), "bob@example.com", people.Member)
	password := must.Get(h.signIn.Passwords.SignIn(h.ctx, "ada@example.com", secret(goodPassword), home))(t)
	reset := must.Get(h.resetLink(ada.Actor(home), bob.User().ID))(t)
	invited := h.invite(ada.Actor(home), people.Invitation{Email: "cy@example.com", AccountID: h.account.ID, Role: people.Member})

	sso, err := signin.NewOIDC(signin.OIDCOptions{Issuer: idp.URL, ClientID: oidctest.ClientID, ClientSecret: secret(oidctest.ClientSecret)})
	must.Do(t, err)
	t.Cleanup(sso.Close)
	h.open(slog.New(slog.DiscardHandler), func(d *people.Options, o *signin.Options) { d.PasswordsOff, o.OIDC = true, sso })
	if h.Passwords() {
		t.Error("passwords: got them on")
	}
	h.gone(password, "passwords were switched off")
	for doing, try := range map[string]func() error{
		"sign in": func() error {
			return second(h.signIn.Passwords.SignIn(h.ctx, "ada@example.com", secret(goodPassword), home))
		},
		"forgot": func() error { return h.signIn.Passwords.Forgot(h.ctx, "ada@example.com", home) },
		"a link for a new password": func() error {
			return second(h.resetLink(ada.Actor(home), bob.User().ID))
		},
		"one from before": func() error {
			return second(h.signIn.Links.Reset(h.ctx, reset.Reveal(), secret("another few words"), home))
		},
		"an invitation": func() error { return second(h.signIn.Links.Accept(h.ctx, invited, person(""), home)) },
		"another password": func() error {
			return second(h.signIn.Passwords.Change(h.ctx, ada, secret(goodPassword), secret("another few words"), home))
		},
	} {
		wantCode(t, doing, try(), llm.CodeForbidden)
	}
	session, _, err := h.come(idp, "s-bob")
	if err != nil {
		t.Fatalf("single sign-on: %v", err)
	}
	h.visitor(session)
	link, err := h.signInLink(audit.Gateway(), ada.User().ID)
	must.Do(t, err)
	if session, err = h.signIn.Links.Follow(h.ctx, link.Reveal(), home); err != nil || !h.visitor(session).Operator() {
		t.Errorf("a link to sign in: got %v, want an operator", err)
	}
}

// TestSetUpWithoutPasswords checks that the first operator needs no password if they are disabled.
func TestSetUpWithoutPasswords(t *testing.T) {
	t.Parallel()
	h := newFixture(t, func(o *people.Options, _ *signin.Options) { o.PasswordsOff = true })
	session := must.Get(h.signIn.Links.SetUp(h.ctx, h.setupLink(), signin.Person{Email: "ada@example.com"}, home))(t)
	if v := h.visitor(session); !v.Operator() || v.User().Password {
		t.Errorf("got %+v, want an operator without a password", v.User())
	}
}

// TestSignInLink checks that a link to sign in is only for operators, valid once, for an hour, in the audit log, and
// only as long as the operator has the role; and that its session has the roles of groups.
func TestSignInLink(t *testing.T) {
	t.Parallel()
	h, _ := newSSO(t, func(o *signin.OIDCOptions) { o.Operators = []string{"admins"} })
	ada := h.setUp("ada@example.com")
	bob := h.join(ada.Actor(home), "bob@example.com", people.Member)
	root := audit.Actor{Kind: audit.Command, Name: "root"}
	wantCode(t, "a member's", second(h.signInLink(root, bob.User().ID)), llm.CodeInvalidRequest)
	wantCode(t, "nobody's", second(h.signInLink(root, "nobody")), llm.CodeNotFound)
	link := func(of *people.Visitor) string {
		t.Helper()
		token := must.Get(h.signInLink(root, of.User().ID))(t)
		return token.Reveal()
	}
	first := link(ada)
	wantCode(t, "a new password by it", second(h.signIn.Links.Reset(h.ctx, first, secret("another few words"), home)), llm.CodeNotFound)
	session := must.Get(h.signIn.Links.Follow(h.ctx, first, home))(t)
	if v := h.visitor(session); !v.Operator() || v.Confined() {
		t.Errorf("got operator %v, want one", v.Operator())
	}
	if got := h.actions(); !strings.HasSuffix(got, "sign_in_link.created ada@example.com by root\nsession.started - by ada@example.com") {
		t.Errorf("audit log: got\n%s\nwant that the link was made, and used", got)
	}
	wantCode(t, "again", second(h.signIn.Links.Follow(h.ctx, first, home)), llm.CodeNotFound)
	late := link(ada)
	h.advance(time.Hour)
	wantCode(t, "after an hour", second(h.signIn.Links.Follow(h.ctx, late, home)), llm.CodeNotFound)
	must.Do(t, h.SetOperator(h.ctx, root, bob.User().ID, true))
	former := link(bob)
	must.Do(t, h.SetOperator(h.ctx, root, bob.User().ID, false))
	wantCode(t, "a former operator's", second(h.signIn.Links.Follow(h.ctx, former, home)), llm.CodeNotFound)
	if got := people.HidePath("/link/" + former); strings.Contains(got, former) {
		t.Errorf("the path in a log: got %q, want it without the secret", got)
	}
}

func second[T any](_ T, err error) error { return err }
