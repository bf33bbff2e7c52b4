package dashboard_test

import (
	"net/url"
	"path"
	"strings"
	"testing"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/people"
	"weir/internal/signin"
)

// TestInvitationsDoNotRevealUsers has an owner open the links of their own invitations, for a user of the
// installation and for an unknown address, and try everything that is refused for both: the pages are equal.
func TestInvitationsDoNotRevealUsers(t *testing.T) {
	t.Parallel()
	s := founded(t)
	a := s.account(t, account.DefaultName)
	accept := func(by audit.Actor, email, accountID string, role people.Role) {
		one, err := s.people.Invite(t.Context(), by, people.Invitation{Email: email, AccountID: accountID, Role: role}, "")
		must.Do(t, err)
		must.Get(s.signIn.Links.Accept(t.Context(), path.Base(one.Link.Reveal()), signin.Person{Name: "X", Password: llm.NewSecret(password)}, people.Origin{}))(t)
	}
	accept(audit.Gateway(), "owner@example.com", a.ID, people.Owner)
	accept(audit.Gateway(), "user@example.com", s.acme.ID, people.Viewer)
	owner := audit.Actor{Kind: audit.User, ID: s.user(t, "owner@example.com").ID, Name: "owner@example.com"}
	s.cookie = ""
	pages := map[string][]string{}
	for _, email := range []string{"user@example.com", "none@example.com"} {
		one, err := s.people.Invite(t.Context(), owner, people.Invitation{Email: email, AccountID: a.ID, Role: people.Viewer}, "")
		must.Do(t, err)
		token := path.Base(one.Link.Reveal())
		invite := "/invite/" + token
		clean := strings.NewReplacer(email, "EMAIL", token, "TOKEN").Replace
		pages[email] = append(pages[email], clean(s.send(t, "GET", invite, nil, nil).text))
		for _, wrong := range []string{"short", "password123", ""} {
			pages[email] = append(pages[email], clean(s.send(t, "POST", invite, url.Values{"name": {"X"}, "password": {wrong}}, nil).text))
		}
	}
	for i, page := range pages["user@example.com"] {
		if other := pages["none@example.com"][i]; page != other {
			t.Errorf("page %d differs for a user and for an unknown address:\n%s\n%s", i, page, other)
		}
	}
}
