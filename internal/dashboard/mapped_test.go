package dashboard_test

import (
	"net/url"
	"strings"
	"testing"

	"weir/internal/people"
)

// TestMappedRoles is that somebody whose roles single sign-on gives, and who came by
// password, is told so on their page, and invites as an owner and not as an operator.
func TestMappedRoles(t *testing.T) {
	t.Parallel()
	sso, err := people.NewOIDC(people.OIDCOptions{Issuer: "https://id.example.com", Name: "Example ID", Operators: []string{"admins"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sso.Close)
	s := founded(t, func(o *people.Options) { o.OIDC = sso })
	const note = "Some of your roles come from Example ID"
	if text := s.see(t, "/me", "Operator of this installation"); strings.Contains(text, note) {
		t.Error("the session of the set-up link: its page says that roles are missing")
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
