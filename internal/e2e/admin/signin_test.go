package admin_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
	"weir/internal/must"
)

// newcomers opens a gateway with a person who has just set it up, in their browser.
func newcomers(t *testing.T) (*harness.Gateway, *browser) {
	t.Helper()
	h := harness.Open(t, harness.Setup{})
	link := setupForm.FindString(h.Out.String())
	ada := newBrowser(h)
	if r := ada.post(strings.TrimPrefix(link, h.URL), "email", "ada@example.com", "password", leakedPassword); r.Status != http.StatusOK || ada.session() == "" {
		t.Fatalf("set-up: got %d, session %q", r.Status, ada.session())
	}
	return h, ada
}

// take puts a session into the browser, like a thief or an attacker.
func (b *browser) take(session string) {
	u, _ := url.Parse(b.h.URL)
	b.client.Jar.SetCookies(u, []*http.Cookie{{Name: "weir", Value: session, Path: "/"}})
}

// isIn reports whether the browser is signed in.
func (b *browser) isIn() bool {
	b.h.T.Helper()
	return strings.Contains(b.get("/me").Body, "ada@example.com")
}

func (b *browser) signIn(password string) harness.Reply {
	b.h.T.Helper()
	return b.post("/sign-in", "email", "ada@example.com", "password", password)
}

// TestSessionIsNotFixed checks that an attacker who plants a session in a browser has no access to the session of the
// person who signs in there.
func TestSessionIsNotFixed(t *testing.T) {
	t.Parallel()
	h, ada := newcomers(t)
	planted := "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	victim, attacker := newBrowser(h), newBrowser(h)
	for _, session := range []string{planted, ada.session()} { // an invalid one, and the attacker's own
		victim.take(session)
		if victim.signIn(leakedPassword); !victim.isIn() {
			t.Fatal("the victim cannot sign in")
		}
		if victim.session() == session {
			t.Errorf("the session %q stayed, want another one", session)
		}
	}
	attacker.take(planted)
	if attacker.isIn() {
		t.Error("the planted session is signed in")
	}
}

// TestSessionIsOver checks that a copy of a session is useless once its owner has signed out, or has another password.
func TestSessionIsOver(t *testing.T) {
	t.Parallel()
	h, ada := newcomers(t)
	copied := newBrowser(h)
	copied.take(ada.session())
	if !copied.isIn() {
		t.Fatal("a copy of a good session is not signed in")
	}
	ada.post("/sign-out")
	if copied.isIn() || ada.isIn() {
		t.Errorf("after the sign-out: the copy is in %t, the browser %t", copied.isIn(), ada.isIn())
	}
	ada.signIn(leakedPassword)
	other := newBrowser(h)
	other.signIn(leakedPassword)
	copied.take(other.session())
	if !copied.isIn() || !ada.isIn() {
		t.Fatal("two sessions at the same time are not signed in")
	}
	if r := ada.post("/me/password/change", "current", leakedPassword, "password", leakedChanged); !ada.isIn() {
		t.Fatalf("another password: got %d, and signed out", r.Status)
	}
	if copied.isIn() || other.isIn() {
		t.Error("a session from before the other password is signed in")
	}
	fresh := newBrowser(h)
	if fresh.signIn(leakedPassword); fresh.isIn() {
		t.Error("the old password is still accepted")
	}
	if fresh.signIn(leakedChanged); !fresh.isIn() {
		t.Error("the new password is not accepted")
	}
}

// TestForeignForms checks that a form on another site has no effect: it neither signs in, nor out, nor creates a key.
func TestForeignForms(t *testing.T) {
	t.Parallel()
	h, ada := newcomers(t)
	for _, path := range []string{"/sign-in", "/sign-out", "/forgot", "/accounts/default/keys/new", "/me/sessions/end", "/theme"} {
		for name, value := range map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example", "Sec-Fetch-Site ": "same-site"} {
			form := url.Values{"email": {"ada@example.com"}, "password": {leakedPassword}, "label": {"forged"}, "permissions": {"chat"}, "expires": {"never"}}
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.URL+path, strings.NewReader(form.Encode()))
			must.Do(t, err)
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.Header.Set(strings.TrimSpace(name), value)
			if got := ada.do(r, nil); got.Status != http.StatusForbidden {
				t.Errorf("%s with %s: %s: got %d, want 403", path, name, value, got.Status)
			}
		}
	}
	if !ada.isIn() {
		t.Error("a foreign form signed out")
	}
	if strings.Contains(ada.get("/accounts/default/keys").Body, "forged") {
		t.Error("a foreign form made a key")
	}
}
