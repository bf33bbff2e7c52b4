package app

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/internal/audit"
	"weir/internal/must"
	"weir/internal/people"
)

// lateBody is a body that arrives after another event.
type lateBody struct {
	io.Reader
	before func()
}

func (b *lateBody) Read(p []byte) (int, error) {
	if b.before != nil {
		b.before()
		b.before = nil
	}
	return b.Reader.Read(p)
}

// TestRightsLostBeforeTheBody sends requests whose bodies arrive after the sender of the head has lost the right, by
// the API and by pages.
func TestRightsLostBeforeTheBody(t *testing.T) {
	t.Parallel()
	viewer := func(s *staff, who string) {
		id := must.Get(s.admin.People.User(s.t.Context(), who+"@example.com"))(s.t).ID
		must.Do(s.t, s.admin.People.SetRole(s.t.Context(), audit.Gateway(), s.acme.ID, id, people.Viewer))
	}
	demoted := func(s *staff, who string) {
		id := must.Get(s.admin.People.User(s.t.Context(), who+"@example.com"))(s.t).ID
		must.Do(s.t, s.admin.People.SetOperator(s.t.Context(), audit.Gateway(), id, false))
	}
	for _, tt := range []struct {
		name, who, what, body string
		loses                 func(s *staff, who string)
	}{
		{"invites", "second", "POST /admin/v1/accounts/acme/invitations", `{"email":"x@example.com","role":"owner"}`, viewer},
		{"makes a key", "member", "POST /admin/v1/accounts/acme/keys", `{"label":"x"}`, viewer},
		{"makes themselves owner", "second", "POST /accounts/acme/members/SELF/role", "role=owner", viewer},
		{"makes an endpoint", "former", "POST /admin/v1/webhooks", `{"url":"https://hooks.example.com/x"}`, demoted},
		{"invites as operator", "former", "POST /accounts/acme/members/invite", "email=x@example.com&role=owner", demoted},
		{"signs out", "second", "POST /me/name/change", "name=x", func(s *staff, who string) {
			v := must.Get(s.admin.SignIn.Sessions.Visitor(s.t.Context(), s.sessions[who], people.Origin{}))(s.t)
			must.Do(s.t, s.admin.SignIn.Sessions.SignOut(s.t.Context(), v, people.Origin{}))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStaff(t)
			s.join("second", s.acme.ID, people.Owner)
			s.join("former", s.acme.ID, people.Viewer)
			s.want(http.StatusCreated, "operator", "POST /operators", `{"email":"former@example.com"}`)
			method, path, _ := strings.Cut(tt.what, " ")
			path = strings.Replace(path, "SELF", must.Get(s.admin.People.User(t.Context(), tt.who+"@example.com"))(t).ID, 1)
			lost := false
			r := httptest.NewRequestWithContext(t.Context(), method, "https://gateway.example"+path, &lateBody{strings.NewReader(tt.body), func() {
				lost = true
				tt.loses(s, tt.who)
			}})
			r.Header.Set("Content-Type", "application/json")
			if tt.body[0] != '{' {
				r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			}
			r.AddCookie(&http.Cookie{Name: "weir", Value: s.sessions[tt.who]})
			w := httptest.NewRecorder()
			s.handler.ServeHTTP(w, r)
			if refused := w.Code == http.StatusForbidden || w.Code == http.StatusUnauthorized || w.Code == http.StatusNotFound || w.Header().Get("Location") == "/sign-in"; !lost || !refused {
				t.Errorf("got %d %.300s, Location %q, rights lost %t; want it refused after they were", w.Code, w.Body, w.Header().Get("Location"), lost)
			}
		})
	}
}
