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

// TestAddressNotProven checks that a person whom an owner invited becomes an operator by a link from an operator, and
// not before.
func TestAddressNotProven(t *testing.T) {
	t.Parallel()
	s := founded(t)
	ada := s.cookie
	a := s.account(t, account.DefaultName)
	one, err := s.people.Invite(t.Context(), audit.Gateway(), people.Invitation{Email: "mallory@example.com", AccountID: a.ID, Role: people.Owner}, "")
	must.Do(t, err)
	must.Get(s.signIn.Links.Accept(t.Context(), path.Base(one.Link.Reveal()), signin.Person{Email: "mallory@example.com", Name: "Mallory", Password: llm.NewSecret(password)}, people.Origin{}))(t)
	owner := audit.Actor{Kind: audit.User, ID: s.user(t, "mallory@example.com").ID, Name: "mallory@example.com"}
	one, err = s.people.Invite(t.Context(), owner, people.Invitation{Email: "cfo@example.com", AccountID: a.ID, Role: people.Viewer}, "")
	must.Do(t, err)
	s.cookie = ""
	s.do(t, "/invite/"+path.Base(one.Link.Reveal()), url.Values{"name": {"Squatter"}, "password": {password}}, "/")
	s.cookie = ada
	if n := strings.Count(s.see(t, "/operator/people"), "Address not proven"); n != 1 {
		t.Errorf("the page of people: got %d addresses that are not proven, want 1", n)
	}
	cfo := s.user(t, "cfo@example.com")
	if text := s.refused(t, "/operator/people/"+cfo.ID+"/promote", url.Values{}, ""); !strings.Contains(text, "e-mail address is not proven") {
		t.Error("to make them an operator: want the reason of the refusal")
	}
	text := s.send(t, "POST", "/operator/people/invite", url.Values{"email": {"cfo@example.com"}}, nil).text
	link := strings.TrimPrefix(between(text, `<code id="link">`, `</code>`), "https://weir.example.com")
	s.cookie = ""
	s.see(t, link, "Become an operator", "New password", "Another person may have signed in")
	s.refused(t, link, url.Values{"password": {"short"}}, "password")
	s.do(t, link, url.Values{"password": {"another quiet river"}}, "/")
	if text := s.see(t, "/operator/people", "cfo@example.com"); strings.Contains(text, "Address not proven") {
		t.Error("the page of people: got an address that is not proven, want none any more")
	}
}
