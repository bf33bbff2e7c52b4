package dashboard_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"weir/internal/audit"
	"weir/internal/must"
)

// TestSecondFactor sets a second factor up, signs in with it, and has an operator remove it.
func TestSecondFactor(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	s.setUp(t)
	s.see(t, "/me", `href="/me/second-factor"`)
	text := s.see(t, "/me/second-factor", "QR code")
	app := between(text, `name="secret" value="`, `"`)
	code := func(after time.Duration) string {
		return must.Get(totp.GenerateCode(app, now.Add(after)))(t)
	}
	form := url.Values{"secret": {app}, "code": {"000000"}, "password": {password}}
	if text := s.refused(t, "/me/second-factor", form, "code"); !strings.Contains(text, app) {
		t.Error("after a wrong code: got another secret, want the one that the app has")
	}
	form.Set("code", code(0))
	got := s.send(t, "POST", "/me/second-factor", form, nil)
	codes := strings.Fields(between(got.text, `<code id="codes">`, `</code>`))
	if len(codes) != 10 {
		t.Fatalf("recovery codes: got %q, want ten", codes)
	}
	s.see(t, "/me", "Remove the second factor")

	s.do(t, "/sign-out", url.Values{}, "/sign-in?done=signed-out")
	signIn := url.Values{"email": {"ada@example.com"}, "password": {password}, "next": {"/me"}}
	s.do(t, "/sign-in", signIn, "/me")
	if to := s.send(t, "GET", "/me", nil, nil).header.Get("Location"); to != "/sign-in?next=%2Fme" {
		t.Fatalf("with the password alone: got to %q, want sign-in", to)
	}
	s.see(t, "/sign-in?next=%2Fme", `action="/sign-in/code"`, `value="/me"`)
	s.refused(t, "/sign-in/code", url.Values{"code": {code(0)}, "next": {"/me"}}, "code") // it was used
	s.do(t, "/sign-in/code", url.Values{"code": {code(30 * time.Second)}, "next": {"/me"}}, "/me")
	s.see(t, "/me", "Remove the second factor")

	s.do(t, "/sign-out", url.Values{}, "/sign-in?done=signed-out")
	s.do(t, "/sign-in", signIn, "/me")
	s.do(t, "/sign-in/code", url.Values{"code": {strings.ToLower(codes[0])}}, "/")
	s.refused(t, "/me/second-factor/remove", url.Values{"confirm": {"wrong"}}, "confirm")
	me := s.user(t, "ada@example.com")
	s.see(t, "/operator/people/"+me.ID, "Password and second factor", "Remove second factor")
	s.do(t, "/operator/people/"+me.ID+"/second-factor/remove", url.Values{}, "/operator/people/"+me.ID+"?done=user-factor-removed")
	if to := s.send(t, "GET", "/me", nil, nil).header.Get("Location"); !strings.HasPrefix(to, "/sign-in") {
		t.Errorf("the session after that: got to %q, want sign-in", to)
	}
	s.do(t, "/sign-in", signIn, "/me")
	s.see(t, "/me", `href="/me/second-factor"`)
}

// TestDisabledUser disables a person, enables them again, and removes them.
func TestDisabledUser(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	s.setUp(t)
	ada := s.cookie
	text := s.send(t, "POST", "/accounts/acme/members/invite", url.Values{"email": {"grace@example.com"}, "role": {"member"}}, nil).text
	link := strings.TrimPrefix(between(text, `<code id="link">`, `</code>`), "https://weir.example.com")
	s.cookie = ""
	s.do(t, link, url.Values{"name": {"Grace"}, "password": {password}}, "/")
	page := "/operator/people/" + s.user(t, "grace@example.com").ID
	s.cookie = ada
	s.refused(t, "/operator/people/"+s.user(t, "ada@example.com").ID+"/disable", url.Values{}, "")
	s.do(t, page+"/disable", url.Values{}, page+"?done=user-disabled")
	s.see(t, page, "Disabled", "Enable", "Remove")
	s.cookie = ""
	s.refused(t, "/sign-in", url.Values{"email": {"grace@example.com"}, "password": {password}}, "")
	s.cookie = ada
	s.do(t, page+"/enable", url.Values{}, page+"?done=user-enabled")
	s.do(t, page+"/remove", url.Values{}, "/operator/people?done=user-removed")
	if text := s.see(t, "/operator/people"); strings.Contains(text, "grace@example.com") {
		t.Error("got a user who was removed")
	}
}

// setUp makes Ada the first operator, and signs her in.
func (s *site) setUp(t *testing.T) {
	t.Helper()
	token := must.Get(s.accounts.CreateSetupToken(t.Context(), audit.Gateway()))(t)
	s.do(t, "/setup/"+token.Reveal(), url.Values{"email": {"ada@example.com"}, "name": {"Ada"}, "password": {password}}, "/")
}
