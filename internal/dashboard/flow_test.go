package dashboard_test

import (
	"net/http"
	"net/url"
	"path"
	"strings"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/dashboard"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/people"
	"weir/internal/signin"
	"weir/internal/signin/oidctest"
)

const password = "four quiet rivers meet"

// see loads a page, which must exist and be complete.
func (s *site) see(t *testing.T, path string, words ...string) string {
	t.Helper()
	got := s.send(t, "GET", path, nil, nil)
	if got.status != http.StatusOK {
		t.Fatalf("%s: got %d to %q, want 200", path, got.status, got.header.Get("Location"))
	}
	for _, fault := range dashboard.Check(got.text) {
		t.Errorf("%s: got a page that %s", path, fault)
	}
	for _, word := range words {
		if !strings.Contains(got.text, word) {
			t.Errorf("%s: got no %q in it", path, word)
		}
	}
	return got.text
}

// do sends a form, which must lead to that page.
func (s *site) do(t *testing.T, path string, form url.Values, to string) {
	t.Helper()
	got := s.send(t, "POST", path, form, nil)
	if got.status != http.StatusSeeOther || got.header.Get("Location") != to {
		t.Fatalf("%s: got %d to %q, want 303 to %q: %s", path, got.status, got.header.Get("Location"), to, between(got.text, "<main", "</main>"))
	}
}

// refused sends a form that is returned with an error at a field, or above all of them if field is empty.
func (s *site) refused(t *testing.T, path string, form url.Values, field string) string {
	t.Helper()
	got := s.send(t, "POST", path, form, nil)
	mark := `role="alert"`
	if field != "" {
		mark = `id="f-` + field + `-error"`
	}
	if got.status != http.StatusUnprocessableEntity || !strings.Contains(got.text, mark) {
		t.Errorf("%s: got %d, want 422 with an error at %q", path, got.status, field)
	}
	for _, fault := range dashboard.Check(got.text) {
		t.Errorf("%s, refused: got a page that %s", path, fault)
	}
	return got.text
}

// founded returns a site that ada has set up, and is signed in to.
func founded(t *testing.T, change ...func(*people.Options, *signin.Options)) *site {
	t.Helper()
	s := newSite(t, true, change...)
	must.Get(s.accounts.CreateAccount(t.Context(), audit.Gateway(), account.DefaultName))(t)
	token := must.Get(s.accounts.CreateSetupToken(t.Context(), audit.Gateway()))(t)
	s.see(t, "/", "This installation is not set up yet.")
	path := "/setup/" + token.Reveal()
	s.see(t, path, "Set up Weir")
	form := url.Values{"email": {"ada@example.com"}, "name": {"Ada"}, "password": {password}}
	s.refused(t, path, url.Values{"email": {"ada"}, "password": {password}}, "email")
	s.refused(t, path, url.Values{"email": {"ada@example.com"}, "password": {"short"}}, "password")
	s.do(t, path, form, "/")
	got := s.send(t, "GET", path, nil, nil)
	if got.status != http.StatusNotFound || !strings.Contains(got.text, "weir operators add EMAIL") {
		t.Errorf("the link again: got %d %s, want 404 with the next step", got.status, got.text)
	}
	return s
}

// TestFirstDayFromSetUpToInvitation goes from the set-up link to a key, and to an invited person.
func TestFirstDayFromSetUpToInvitation(t *testing.T) {
	t.Parallel()
	s := founded(t)
	if got := s.send(t, "GET", "/", nil, nil).header.Get("Location"); got != "/accounts/default" {
		t.Errorf("the start: got %q, want the account default", got)
	}
	s.see(t, "/accounts/default", "Generate New Key", `aria-current="page"`)
	s.see(t, "/accounts/default/keys", "No API keys")
	s.see(t, "/accounts/default/keys/new", "Admin")
	made := s.send(t, "POST", "/accounts/default/keys/new", newKey(nil), nil)
	token := between(made.text, `<code id="key">`, `</code>`)
	if list := s.see(t, "/accounts/default/keys", "nightly", "by Ada"); len(token) < 40 || strings.Contains(list, token) {
		t.Errorf("the key %q: got it on the list again, or never", token)
	}
	s.see(t, "/me", "This session", "owner of default", "Ada")
	s.see(t, "/design")
	s.do(t, "/me/name/change", url.Values{"name": {"Ada Lovelace"}}, "/me?done=name-changed")
	s.see(t, "/me?done=name-changed", "Your name was changed.", `value="Ada Lovelace"`)
	if text := s.see(t, "/me?done=%3Cb%3Eodd"); strings.Contains(text, "odd") {
		t.Error("an unknown word: got it on the page")
	}
	s.refused(t, "/accounts/default/members/invite", url.Values{"email": {"bob"}, "role": {"member"}}, "email")
	invited := s.send(t, "POST", "/accounts/default/members/invite", url.Values{"email": {"bob@example.com"}, "role": {"member"}}, nil)
	link := strings.TrimPrefix(between(invited.text, `<code id="link">`, `</code>`), "https://weir.example.com")
	s.see(t, "/accounts/default/members", "bob@example.com", "Pending invitations")
	old := s.cookie
	s.do(t, "/sign-out", url.Values{}, "/sign-in?done=signed-out")
	if got := s.send(t, "GET", "/me", nil, http.Header{"Cookie": {old}}); got.status != http.StatusSeeOther {
		t.Errorf("the session after signing out: got %d, want 303 to sign in", got.status)
	}
	s.see(t, link, "Join default", "bob@example.com")
	s.do(t, link, url.Values{"name": {"Bob"}, "password": {password}}, "/")
	if text := s.see(t, "/accounts/default/members", "Bob"); strings.Contains(text, "Invite a member") {
		t.Error("a member: got the form of owners")
	}
	if got := s.send(t, "POST", "/accounts/default/members/invite", url.Values{"email": {"eve@example.com"}, "role": {"owner"}}, nil); got.status != http.StatusForbidden {
		t.Errorf("a member invites: got %d, want 403", got.status)
	}
}

// TestPasswordsAreChangedAndReset changes, forgets and resets one.
func TestPasswordsAreChangedAndReset(t *testing.T) {
	t.Parallel()
	s := founded(t)
	first := s.cookie
	s.refused(t, "/me/password/change", url.Values{"current": {"not it at all"}, "password": {"another quiet river"}}, "current")
	s.refused(t, "/me/password/change", url.Values{"current": {password}, "password": {"short"}}, "password")
	s.do(t, "/me/password/change", url.Values{"current": {password}, "password": {"another quiet river"}}, "/me?done=password-changed")
	if got := s.send(t, "GET", "/me", nil, http.Header{"Cookie": {first}}); got.status != http.StatusSeeOther || s.cookie == first {
		t.Errorf("the session from before: got %d, want 303 to sign in", got.status)
	}
	s.do(t, "/sign-out", url.Values{}, "/sign-in?done=signed-out")
	s.see(t, "/sign-in?done=signed-out", "You are signed out.")
	s.see(t, "/forgot", "This installation sends no e-mail", "weir operators link")
	known := s.send(t, "POST", "/forgot", url.Values{"email": {"ada@example.com"}}, nil)
	unknown := s.send(t, "POST", "/forgot", url.Values{"email": {"eve@example.com"}}, nil)
	if known.status != http.StatusOK || known.text != unknown.text {
		t.Errorf("forgotten: got %d and %d, want the same page for both", known.status, unknown.status)
	}
	users, err := s.people.Users(t.Context())
	if err != nil || len(users) != 1 {
		t.Fatalf("users: got %v, %v, want 1", users, err)
	}
	reset := "/reset/" + path.Base(must.Get(s.people.ResetLink(t.Context(), audit.Gateway(), users[0].ID, ""))(t).Reveal())
	s.see(t, reset, "ada@example.com")
	s.refused(t, reset, url.Values{"password": {"short"}}, "password")
	s.do(t, reset, url.Values{"password": {"a third quiet river"}}, "/")
	s.see(t, "/me", "This session")
}

// TestSignIn leads to the requested page, and nowhere else.
func TestSignIn(t *testing.T) {
	t.Parallel()
	s := founded(t)
	s.do(t, "/sign-out", url.Values{}, "/sign-in?done=signed-out")
	text := s.refused(t, "/sign-in", url.Values{"email": {"ada@example.com"}, "password": {"canary-of-a-password"}, "next": {"/me"}}, "")
	if !strings.Contains(text, `value="ada@example.com"`) || !strings.Contains(text, `name="next" value="/me"`) || strings.Contains(text, "canary") {
		t.Error("the form again: want the typed values except for the password")
	}
	for next, to := range map[string]string{"/me": "/me", "": "/", "//x.example": "/", `/\x.example`: "/", "https://x.example": "/", "/accounts/default/keys?show=past": "/accounts/default/keys?show=past"} {
		s.cookie = ""
		s.do(t, "/sign-in", url.Values{"email": {"ada@example.com"}, "password": {password}, "next": {next}}, to)
		if got := s.send(t, "GET", "/sign-in?next="+url.QueryEscape(next), nil, nil).header.Get("Location"); got != to {
			t.Errorf("signed in already, next %q: got %q, want %q", next, got, to)
		}
	}
	s.see(t, "/me", "Sign out all other sessions")
	s.do(t, "/me/sessions/end", url.Values{}, "/me?done=sessions-ended")
	s.cookie = ""
	for range 30 {
		got := s.send(t, "POST", "/sign-in", url.Values{"email": {"ada@example.com"}, "password": {"wrong"}}, nil)
		if got.status == http.StatusTooManyRequests && got.header.Get("Retry-After") != "" {
			return
		}
	}
	t.Error("30 wrong passwords: got no 429 with Retry-After")
}

// TestSingleSignOn leads to a provider and back, to the requested page.
func TestSingleSignOn(t *testing.T) {
	t.Parallel()
	provider, err := oidctest.Start(oidctest.Person{Subject: "s-grace", Email: "grace@example.com", Verified: true, Name: "Grace"})
	must.Do(t, err)
	t.Cleanup(provider.Close)
	sso, err := signin.NewOIDC(signin.OIDCOptions{
		Issuer: provider.URL, ClientID: oidctest.ClientID, ClientSecret: llm.NewSecret(oidctest.ClientSecret), Name: "Example ID", SignUp: true,
	})
	must.Do(t, err)
	t.Cleanup(sso.Close)
	s := newSite(t, true, func(_ *people.Options, o *signin.Options) { o.OIDC, o.Now = sso, time.Now })
	s.see(t, "/sign-in?next=%2Fdesign", "Continue with Example ID", `href="/oidc/start?next=%2Fdesign"`)
	start := s.send(t, "GET", "/oidc/start?next=%2Fdesign", nil, nil)
	state, _, _ := strings.Cut(start.header.Get("Set-Cookie"), ";")
	query, err := provider.SignIn(start.header.Get("Location"), "s-grace")
	if err != nil || !strings.HasPrefix(state, "weir-oidc=") {
		t.Fatalf("start: got %d, the cookie %q, %v", start.status, state, err)
	}
	back := "/oidc/callback?" + query.Encode()
	if got := s.send(t, "GET", back, nil, nil); got.status != http.StatusUnprocessableEntity {
		t.Errorf("another browser: got %d, want 422", got.status)
	}
	got := s.send(t, "GET", back, nil, http.Header{"Cookie": {state}})
	if got.status != http.StatusSeeOther || got.header.Get("Location") != "/design" {
		t.Fatalf("callback: got %d to %q, want 303 to /design: %s", got.status, got.header.Get("Location"), between(got.text, "<main", "</main>"))
	}
	for _, set := range got.header.Values("Set-Cookie") {
		if strings.HasPrefix(set, "weir=") {
			s.cookie, _, _ = strings.Cut(set, ";")
		}
	}
	s.see(t, "/me", "grace@example.com", "You have no password. You sign in by single sign-on.")
	signedIn := s.cookie
	for _, step := range []struct {
		token         string
		status, after int
	}{
		{"x.y.z", http.StatusBadRequest, http.StatusOK},
		{must.Get(provider.LogoutToken("s-grace", nil))(t), http.StatusOK, http.StatusSeeOther},
	} {
		s.cookie = "" // the provider's request has no cookie
		got := s.send(t, "POST", "/oidc/logout", url.Values{"logout_token": {step.token}}, nil)
		after := s.send(t, "GET", "/me", nil, http.Header{"Cookie": {signedIn}})
		if got.status != step.status || after.status != step.after {
			t.Errorf("the logout token %.10s: got %d, then %d; want %d, then %d", step.token, got.status, after.status, step.status, step.after)
		}
	}
}

// TestSingleSignOnTooOften begins again and again, until a page says how long to wait.
func TestSingleSignOnTooOften(t *testing.T) {
	t.Parallel()
	provider := must.Get(oidctest.Start())(t)
	t.Cleanup(provider.Close)
	sso, err := signin.NewOIDC(signin.OIDCOptions{Issuer: provider.URL, ClientID: oidctest.ClientID, ClientSecret: llm.NewSecret(oidctest.ClientSecret)})
	must.Do(t, err)
	t.Cleanup(sso.Close)
	s := newSite(t, true, func(_ *people.Options, o *signin.Options) { o.OIDC = sso })
	path := "/oidc/start"
	for range 2 { // the beginning, and the end
		var got answer
		for i := range 101 {
			got = s.send(t, "GET", path, nil, http.Header{"Cookie": {"weir-oidc=forged"}})
			if i < 100 && got.status == http.StatusTooManyRequests {
				t.Fatalf("%s: got 429 at %d, want 100 free", path, i+1)
			}
		}
		if got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") != "1" || !strings.Contains(got.text, "Try again in 1 second.") || len(dashboard.Check(got.text)) > 0 {
			t.Errorf("%s 101 times: got %d, Retry-After %q, want 429 after a second, and a page with the wait", path, got.status, got.header.Get("Retry-After"))
		}
		path = "/oidc/callback?code=x&state=y"
	}
}

// TestSingleSignOnIsNotThere requests its pages on a site without it.
func TestSingleSignOnIsNotThere(t *testing.T) {
	t.Parallel()
	s := founded(t)
	s.cookie = ""
	if got := s.send(t, "GET", "/oidc/start", nil, nil); got.status != http.StatusNotFound {
		t.Errorf("start: got %d, want 404", got.status)
	}
	if got := s.send(t, "GET", "/oidc/callback?code=x&state=y", nil, nil); got.status != http.StatusUnprocessableEntity {
		t.Errorf("callback: got %d, want 422", got.status)
	}
}
