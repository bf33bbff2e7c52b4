package dashboard_test

import (
	"net/url"
	"path"
	"strings"
	"testing"

	"weir/internal/audit"
	"weir/internal/must"
	"weir/internal/people"
	"weir/internal/signin"
)

// TestMappedRoles checks that a person whose roles come from single sign-on, and who signed in with a password, sees a
// notice on their page, and invites as an owner and not as an operator.
func TestMappedRoles(t *testing.T) {
	t.Parallel()
	sso, err := signin.NewOIDC(signin.OIDCOptions{Issuer: "https://id.example.com", Name: "Example ID", Operators: []string{"admins"}})
	must.Do(t, err)
	t.Cleanup(sso.Close)
	s := founded(t, func(_ *people.Options, o *signin.Options) { o.OIDC = sso })
	const note = "Some of your roles come from Example ID"
	if text := s.see(t, "/me", "Operator of this installation"); strings.Contains(text, note) {
		t.Error("the session of the set-up link: got a note on missing roles")
	}
	s.cookie = ""
	s.do(t, "/sign-in", url.Values{"email": {"ada@example.com"}, "password": {password}}, "/")
	s.see(t, "/me", note, "Owner of default")
	invited := s.send(t, "POST", "/accounts/default/members/invite", url.Values{"email": {"bob@example.com"}, "role": {"member"}}, nil)
	link := strings.TrimPrefix(between(invited.text, `<code id="link">`, `</code>`), "https://weir.example.com")
	s.do(t, link, url.Values{"name": {"Bob"}, "password": {password}}, "/")
	if s.user(t, "bob@example.com").Proven {
		t.Error("whom a confined operator invited: got the address proven")
	}
}

// TestPasswordsOff uses a site without passwords: it requests none, and accepts links of the machine and, for invited
// people, single sign-on.
func TestPasswordsOff(t *testing.T) {
	t.Parallel()
	sso := must.Get(signin.NewOIDC(signin.OIDCOptions{Issuer: "https://id.example.com", Name: "Example ID"}))(t)
	t.Cleanup(sso.Close)
	s := newSite(t, true, func(d *people.Options, o *signin.Options) { d.PasswordsOff, o.OIDC = true, sso })
	noPassword := func(path string, words ...string) {
		t.Helper()
		if text := s.see(t, path, words...); strings.Contains(text, `type="password"`) {
			t.Errorf("%s: got a field for a password", path)
		}
	}
	setup := must.Get(s.accounts.CreateSetupToken(t.Context(), audit.Gateway()))(t)
	noPassword("/setup/"+setup.Reveal(), "Set up Weir")
	s.do(t, "/setup/"+setup.Reveal(), url.Values{"email": {"ada@example.com"}, "name": {"Ada"}}, "/")
	noPassword("/me", "by the set-up link")
	s.cookie = ""
	noPassword("/sign-in", "Continue with Example ID")
	s.refused(t, "/sign-in", url.Values{"email": {"ada@example.com"}, "password": {password}}, "")
	if got := s.send(t, "GET", "/forgot", nil, nil).header.Get("Location"); got != "/sign-in" {
		t.Errorf("a forgotten password: got sent to %q, want to sign in", got)
	}
	invited, err := s.people.Invite(t.Context(), audit.Gateway(), people.Invitation{Email: "bob@example.com", Operator: true}, "")
	must.Do(t, err)
	noPassword("/invite/"+path.Base(invited.Link.Reveal()), "bob@example.com", "Continue with Example ID")
	link := must.Get(s.people.SignInLink(t.Context(), audit.Gateway(), s.user(t, "ada@example.com").ID))(t)
	noPassword("/link/"+path.Base(link.Reveal()), "ada@example.com")
	s.do(t, "/link/"+path.Base(link.Reveal()), url.Values{}, "/")
	s.see(t, "/me", "Operator of this installation", "by a link from the command line")
}
