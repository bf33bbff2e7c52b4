package app

import (
	"net/http"
	"net/url"
	"testing"

	"weir/internal/must"
)

// TestKeyOfFormerOperator removes an operator whose key has just been used: the answer to the removal arrives after the
// key is invalid. No process follows the feed of changes here, which would end the key later.
func TestKeyOfFormerOperator(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(s *staff, id string){
		"by a call": func(s *staff, id string) { s.want(http.StatusNoContent, "operator", "DELETE /operators/"+id, "") },
		"by a page": func(s *staff, id string) { s.demotePage(id) },
		"by a page with the address": func(s *staff, _ string) {
			s.demotePage(url.PathEscape("former@example.com"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStaff(t)
			s.join("former", s.acme.ID, "viewer")
			s.want(http.StatusCreated, "operator", "POST /operators", `{"email":"former@example.com"}`)
			made := s.want(http.StatusCreated, "former", "POST /accounts/acme/keys", `{"label":"x","permissions":["admin"]}`)
			key, _ := made["key"].(string)
			auth := []string{"Authorization", "Bearer " + key}
			s.want(http.StatusOK, "nobody", "GET /me", "", auth...)
			remove(s, must.Get(s.admin.People.User(t.Context(), "former@example.com"))(t).ID)
			s.want(http.StatusUnauthorized, "nobody", "POST /operators", `{"email":"former@example.com"}`, auth...)
			if u := must.Get(s.admin.People.User(t.Context(), "former@example.com"))(t); u.Operator {
				t.Error("the former operator: got an operator again, by the key")
			}
		})
	}
}

// demotePage removes an operator on the page.
func (s *staff) demotePage(user string) {
	s.t.Helper()
	if w := s.visit("operator", http.MethodPost, "/operator/people/"+user+"/demote", ""); w.Code != http.StatusSeeOther {
		s.t.Errorf("remove %s on the page: got %d %s, want %d", user, w.Code, w.Body, http.StatusSeeOther)
	}
}
