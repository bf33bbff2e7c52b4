package app

import (
	"fmt"
	"net/http"
	"path"
	"strings"
	"testing"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/must"
	"weir/internal/people"
)

// TestIdsOfOthers has the owner of an account use another account's true ids below the path of their own account: they
// are not found, and nothing changes.
func TestIdsOfOthers(t *testing.T) {
	t.Parallel()
	s := newStaff(t)
	ctx := t.Context()
	key, _, err := s.admin.Accounts.CreateKey(ctx, audit.Gateway(), account.KeyOptions{Account: "acme", Label: "theirs"})
	must.Do(t, err)
	invitation, err := s.admin.People.Invite(ctx, audit.Gateway(), people.Invitation{Email: "new@example.com", AccountID: s.acme.ID, Role: people.Owner}, "")
	must.Do(t, err)
	operators, err := s.admin.People.Invite(ctx, audit.Gateway(), people.Invitation{Email: "op@example.com", Operator: true}, "")
	must.Do(t, err)
	member := must.Get(s.admin.People.User(ctx, "member@example.com"))(t)
	session := must.Get(s.admin.SignIn.Sessions.Visitor(ctx, s.sessions["owner"], people.Origin{}))(t)
	for _, call := range []struct{ what, body string }{
		{"GET /accounts/other/keys/" + key.ID, ""},
		{"PATCH /accounts/other/keys/" + key.ID, `{"label":"mine"}`},
		{"DELETE /accounts/other/keys/" + key.ID, ""},
		{"PATCH /accounts/other/members/" + member.ID, `{"role":"viewer"}`},
		{"DELETE /accounts/other/members/" + member.ID, ""},
		{"DELETE /accounts/other/invitations/" + invitation.ID, ""},
		{"GET /accounts/" + s.acme.ID, ""},
		{"GET /accounts/other%2F..%2Facme", ""},
	} {
		s.want(http.StatusNotFound, "stranger", call.what, call.body)
	}
	for path, want := range map[string]int{
		"/accounts/other/keys/" + key.ID + "/revoke":                http.StatusNotFound,
		"/accounts/other/members/" + member.ID + "/role":            http.StatusUnprocessableEntity,
		"/accounts/other/members/" + member.ID + "/remove":          http.StatusUnprocessableEntity,
		"/accounts/other/invitations/" + invitation.ID + "/cancel":  http.StatusUnprocessableEntity,
		"/accounts/" + s.acme.ID + "/keys/" + key.ID + "/revoke":    http.StatusNotFound,
		"/me/sessions/" + session.Session().ID + "/end":             http.StatusNotFound,
		"/operator/people/" + member.ID + "/reset":                  http.StatusForbidden,
		"/operator/people/invitations/" + invitation.ID + "/cancel": http.StatusForbidden,
	} {
		if w := s.visit("stranger", http.MethodPost, path, "role=viewer"); w.Code != want {
			t.Errorf("POST %s: got %d, want %d", path, w.Code, want)
		}
	}
	if k, err := s.admin.Accounts.Key(ctx, key.ID); err != nil || k.Revoked != nil || k.Label != "theirs" {
		t.Errorf("the key: got %+v, %v; want it as it was", k, err)
	}
	list, err := s.admin.People.Members(ctx, s.acme.ID)
	if got := fmt.Sprint(list); err != nil || strings.Count(got, "member@example.com") != 1 || !strings.Contains(got, " member ") {
		t.Errorf("the members: got %s, %v; want them as they were", got, err)
	}
	for _, token := range []string{path.Base(invitation.Link.Reveal()), path.Base(operators.Link.Reveal())} {
		if _, err := s.admin.SignIn.Links.Find(ctx, token, people.InviteLink); err != nil {
			t.Errorf("a link: got %v, want it good", err)
		}
	}
	if v, err := s.admin.SignIn.Sessions.Visitor(ctx, s.sessions["owner"], people.Origin{}); v.User() == nil || err != nil {
		t.Errorf("the owner's session: got %v, %v; want it good", v, err)
	}
}
