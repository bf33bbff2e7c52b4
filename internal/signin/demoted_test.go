package signin_test

import (
	"log/slog"
	"testing"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/people"
	"weir/internal/signin"
	"weir/internal/signin/oidctest"
)

// ssoOf builds single sign-on at a provider for the test.
func ssoOf(t *testing.T, change ...func(*signin.OIDCOptions)) (*signin.OIDC, *oidctest.Server) {
	t.Helper()
	idp := must.Get(oidctest.Start(bobby, eve))(t)
	t.Cleanup(idp.Close)
	o := signin.OIDCOptions{Issuer: idp.URL, ClientID: oidctest.ClientID, ClientSecret: secret(oidctest.ClientSecret), Name: "Example ID"}
	for _, c := range change {
		c(&o)
	}
	sso := must.Get(signin.NewOIDC(o))(t)
	t.Cleanup(sso.Close)
	return sso, idp
}

// TestDemotionEndsKeys checks that a recently used key ends when its maker loses the operator role: by another
// operator, and by single sign-on without the group.
func TestDemotionEndsKeys(t *testing.T) {
	t.Parallel()
	sso, idp := ssoOf(t, func(o *signin.OIDCOptions) {
		o.SignUp, o.GroupsClaim, o.Operators = true, "groups", []string{"admins"}
	})
	var keys *account.Service
	h := newFixture(t, func(d *people.Options, o *signin.Options) {
		forget := func() { keys.ForgetAdmins() }
		d.Demoted, o.OIDC, o.Demoted = forget, sso, forget
	})
	keys = account.NewService(h.store.Accounts.Stores(), h.clock, slog.New(slog.DiscardHandler))
	ada := h.setUp("ada@example.com")
	in, out := bobby, bobby
	in.Groups = []string{"admins"}
	come := func(p oidctest.Person) *people.Visitor {
		idp.Put(p)
		session, _, err := h.come(idp, "s-bob")
		must.Do(t, err)
		return h.visitor(session)
	}
	for way, demote := range map[string]func(id string){
		"by an operator":    func(id string) { must.Do(t, h.SetOperator(h.ctx, ada.Actor(home), id, false)) },
		"by single sign-on": func(string) { come(out) },
	} {
		bob := come(in).User()
		_, token, err := keys.CreateKey(h.ctx, audit.Gateway(), account.KeyOptions{
			Account: h.account.ID, Label: way, Permissions: []account.Permission{account.Admin}, Creator: bob.ID,
		})
		must.Do(t, err)
		must.Get(keys.Authenticate(h.ctx, token.Reveal()))(t)
		demote(bob.ID)
		_, err = keys.Authenticate(h.ctx, token.Reveal())
		wantCode(t, "the key of somebody demoted "+way, err, llm.CodeAuthentication)
	}
}

// TestDemotedWhileActing checks that a former operator, with the rights of a request that was authorized before the
// demotion, can neither promote themselves or another person, nor demote one, invite, or create a link or a key.
func TestDemotedWhileActing(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.setUp("ada@example.com")
	bob := h.join(ada.Actor(home), "bob@example.com", people.Owner)
	mallory := h.join(ada.Actor(home), "mallory@example.com", people.Owner)
	must.Do(t, h.SetOperator(h.ctx, ada.Actor(home), mallory.User().ID, true))
	keys := account.NewService(h.store.Accounts.Stores(), h.clock, slog.New(slog.DiscardHandler))
	key, _, err := keys.CreateKey(h.ctx, audit.Gateway(), account.KeyOptions{
		Account: h.account.ID, Label: "x", Permissions: []account.Permission{account.Admin}, Creator: mallory.User().ID,
	})
	must.Do(t, err)
	must.Do(t, h.SetOperator(h.ctx, ada.Actor(home), mallory.User().ID, false))
	eve := people.Invitation{Email: "eve@example.com"}
	for who, by := range map[string]audit.Actor{"mallory": mallory.Actor(stranger), "the key": people.KeyHolder(&key).Actor(stranger)} {
		for what, err := range map[string]error{
			"mallory again":    h.SetOperator(h.ctx, by, mallory.User().ID, true),
			"somebody else":    h.SetOperator(h.ctx, by, bob.User().ID, true),
			"another removed":  h.SetOperator(h.ctx, by, ada.User().ID, false),
			"invite to it all": second(h.inviteBy(by, eve, true)),
			"ada's password":   second(h.resetLink(by, ada.User().ID)),
			"another key":      createAdmin(h, keys, by),
		} {
			wantCode(t, what+" by "+who, err, llm.CodeForbidden)
		}
	}
	wantCode(t, "invite to an account by the key", second(h.inviteBy(people.KeyHolder(&key).Actor(stranger), eve, false)), llm.CodeForbidden)
	if _, err := h.inviteBy(mallory.Actor(stranger), eve, false); err != nil {
		t.Errorf("invite to an account that she owns: %v", err)
	}
}

// createAdmin creates a key that administers the installation.
func createAdmin(h *fixture, keys *account.Service, by audit.Actor) error {
	_, _, err := keys.CreateKey(h.ctx, by, account.KeyOptions{
		Account: h.account.ID, Label: "another", Permissions: []account.Permission{account.Admin},
	})
	return err
}

// inviteBy invites an operator, or a member of the account.
func (h *fixture) inviteBy(by audit.Actor, i people.Invitation, operator bool) (llm.Secret, error) {
	i.AccountID, i.Role, i.Operator = h.account.ID, people.Member, operator
	token, _, err := h.newInvitation(by, i)
	return token, err
}
