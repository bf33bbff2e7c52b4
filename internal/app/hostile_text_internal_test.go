package app

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestNamesThatAreNotTextAreRefused requests names that are not text: they are refused before the database, which would
// fail, is queried.
func TestNamesThatAreNotTextAreRefused(t *testing.T) {
	t.Parallel()
	s := newStaff(t)
	for _, bad := range []string{"%00", "%ff", "a%00b"} {
		for _, what := range []string{
			"GET /accounts/" + bad, "GET /accounts/acme/keys/" + bad, "DELETE /accounts/acme/members/" + bad, "GET /audit?actor=" + bad, "GET /users?" + bad + "=1",
		} {
			s.want(http.StatusBadRequest, "operator", what, "")
		}
		for _, path := range []string{"/accounts/" + bad, "/accounts/acme/requests?model=" + bad, "/operator/audit?actor=" + bad, "/invite/" + bad} {
			if w := s.visit("operator", http.MethodGet, path, ""); w.Code != http.StatusBadRequest {
				t.Errorf("GET %s: got %d, want 400", path, w.Code)
			}
		}
		if w := s.visit("operator", http.MethodPost, "/accounts/acme/members/invite", "role=owner&"+bad+"=y"); w.Code != http.StatusBadRequest {
			t.Errorf("a form with the field %s: got %d, want 400", bad, w.Code)
		}
		if w := s.visit("nobody", http.MethodPost, "/sign-in", "password=x&email="+bad); w.Code != http.StatusBadRequest {
			t.Errorf("sign in as %s: got %d, want 400", bad, w.Code)
		}
	}
	s.want(http.StatusBadRequest, "operator", "POST /operators", `{"email":"\u0000"}`)
}

// visit requests a page as a signed-in person, or sends a form.
func (s *staff) visit(who, method, path, form string) *httptest.ResponseRecorder {
	s.t.Helper()
	r := httptest.NewRequestWithContext(s.t.Context(), method, "https://gateway.example"+path, strings.NewReader(form))
	r.Header.Set("Accept", "text/html")
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if secret := s.sessions[who]; secret != "" {
		r.AddCookie(&http.Cookie{Name: "weir", Value: secret})
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return w
}
