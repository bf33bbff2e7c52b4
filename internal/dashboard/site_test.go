package dashboard_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"weir/internal/llm"
	"weir/internal/people"
)

func TestWhoIsNotSignedInIsSentToSignIn(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	for path, want := range map[string]string{
		"/accounts/acme/keys?show=past": "/sign-in?next=%2Faccounts%2Facme%2Fkeys%3Fshow%3Dpast",
		"/me":                           "/sign-in?next=%2Fme",
	} {
		got := s.send(t, "GET", path, nil, nil)
		if got.status != http.StatusSeeOther || got.header.Get("Location") != want {
			t.Errorf("%s: got %d to %q, want 303 to %q", path, got.status, got.header.Get("Location"), want)
		}
	}
	if got := s.send(t, "POST", "/me/name/change", url.Values{}, nil); got.header.Get("Location") != "/sign-in" {
		t.Errorf("a form: got %q, want /sign-in", got.header.Get("Location"))
	}
}

// TestHeadersOfPagesAndAssets checks the headers of pages and of assets.
func TestHeadersOfPagesAndAssets(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	s.come("ada", people.Member)
	page := s.send(t, "GET", "/design", nil, nil)
	for key, want := range map[string]string{
		"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin",
		"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
		"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
	} {
		if got := page.header.Get(key); page.status != http.StatusOK || got != want {
			t.Errorf("page: got %d with %s %q, want %q", page.status, key, got, want)
		}
	}
	s.visitor = nil
	for _, m := range regexp.MustCompile(`"(/assets/([0-9a-f]{16})/([a-z.]+))"`).FindAllStringSubmatch(page.text, -1) {
		got := s.send(t, "GET", m[1], nil, nil)
		if want := "public, max-age=31536000, immutable"; got.status != http.StatusOK || got.header.Get("Cache-Control") != want || got.text == "" {
			t.Errorf("%s: got %d with %q, want 200 with %q", m[1], got.status, got.header.Get("Cache-Control"), want)
		}
		old := s.send(t, "GET", "/assets/0000000000000000/"+m[3], nil, nil)
		if old.text != got.text || old.header.Get("Cache-Control") != "no-cache" {
			t.Errorf("%s of another version: got %q, want the current one, uncached", m[3], old.header.Get("Cache-Control"))
		}
	}
	if got := s.send(t, "GET", "/assets/0000000000000000/none.css", nil, nil); got.status != http.StatusNotFound {
		t.Errorf("an asset that is not there: got %d, want 404", got.status)
	}
}

func TestThemeIsStoredInCookie(t *testing.T) {
	t.Parallel()
	for _, insecure := range []bool{false, true} {
		s := newSite(t, insecure)
		s.come("ada", people.Member)
		name := map[bool]string{false: "__Host-weir-theme", true: "weir-theme"}[insecure]
		got := s.send(t, "POST", "/theme", url.Values{"theme": {"dark"}, "back": {"/design"}}, nil)
		cookie := got.header.Get("Set-Cookie")
		if got.header.Get("Location") != "/design" || !strings.HasPrefix(cookie, name+"=dark; Path=/; ") || strings.Contains(cookie, "Secure") == insecure || !strings.Contains(cookie, "HttpOnly; ") || !strings.Contains(cookie, "SameSite=Lax") {
			t.Errorf("insecure %v: got %q to %q", insecure, cookie, got.header.Get("Location"))
		}
		for value, want := range map[string]bool{"dark": true, `"><script>`: false} {
			page := s.send(t, "GET", "/design", nil, http.Header{"Cookie": {name + "=" + value}})
			if strings.Contains(page.text, `<html lang="en" data-theme="dark">`) != want {
				t.Errorf("with the cookie %s: got dark %v, want %v", value, !want, want)
			}
		}
		if got := s.send(t, "POST", "/theme", url.Values{"theme": {"pink"}}, nil); got.status != http.StatusBadRequest {
			t.Errorf("pink: got %d, want 400", got.status)
		}
	}
}

// TestRefusalPagesHideDetails checks the page of each error, and that it hides details.
func TestRefusalPagesHideDetails(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	s.come("ada", people.Member)
	for _, c := range []struct {
		err    error
		status int
		text   string
	}{
		{&llm.Error{Code: llm.CodeNotFound, Message: "There is no such page."}, http.StatusNotFound, "There is no such page."},
		{&llm.Error{Code: llm.CodeForbidden, Message: "Only operators."}, http.StatusForbidden, "Only operators."},
		{&llm.Error{Code: llm.CodeRateLimited, Message: "Wait.", RetryAfter: 1500 * time.Millisecond}, http.StatusTooManyRequests, "Wait."},
		{errors.New("secret of the database"), http.StatusInternalServerError, "log for the request id."},
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/x", nil)
		s.dashboard.Refuse(w, r, &people.Visit{Visitor: s.visitor, Origin: people.Origin{Request: "0199-request"}}, c.err)
		text := w.Body.String()
		if w.Code != c.status || !strings.Contains(text, c.text) || !strings.Contains(text, "0199-request") || strings.Contains(text, "secret") {
			t.Errorf("%v: got %d %s", c.err, w.Code, text)
		}
		if got, want := w.Header().Get("Retry-After"), map[bool]string{true: "2"}[w.Code == http.StatusTooManyRequests]; got != want {
			t.Errorf("%v: Retry-After: got %q, want %q", c.err, got, want)
		}
		s.dashboard.Refuse(httptest.NewRecorder(), r, nil, c.err) // without a visitor, there is nothing to look up
	}
}

// TestSessionCookieName checks that the cookie is read by its name, which no other host can set over https.
func TestSessionCookieName(t *testing.T) {
	t.Parallel()
	for _, insecure := range []bool{false, true} {
		s := newSite(t, insecure)
		for name, want := range map[string]bool{"__Host-weir": !insecure, "weir": insecure, "other": false} {
			r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
			r.AddCookie(&http.Cookie{Name: name, Value: "secret"})
			if got := s.dashboard.Session(r) == "secret"; got != want {
				t.Errorf("insecure %v, cookie %s: got %v, want %v", insecure, name, got, want)
			}
		}
	}
}
