package signin_test

import (
	"strings"
	"testing"
	"time"

	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/people"
	"weir/internal/signin"
	"weir/internal/signin/oidctest"
)

// TestLogoutByProviderEndsSessions has the provider of single sign-on end sessions: one of its own, or all of a person,
// and none that began otherwise or is of another person.
func TestLogoutByProviderEndsSessions(t *testing.T) {
	t.Parallel()
	h, idp := newSSO(t, func(o *signin.OIDCOptions) { o.SignUp = true })
	ada := h.setUp("ada@example.com")
	come := func(sid string) llm.Secret {
		t.Helper()
		p := bobby
		p.SID = sid
		idp.Put(p)
		session, _, err := h.come(idp, "s-bob")
		must.Do(t, err)
		return session
	}
	take := func(subject string, claims map[string]any) (int, error) {
		t.Helper()
		return h.signIn.SSO.Logout(h.ctx, must.Get(idp.LogoutToken(subject, claims))(t), home)
	}
	open := func(session llm.Secret) bool {
		v, err := h.signIn.Sessions.Visitor(h.ctx, session.Reveal(), home)
		return err == nil && v.User() != nil
	}
	one, other, nameless := come("one"), come("other"), come("")
	for what, claims := range map[string]map[string]any{
		"no event":            {"events": nil},
		"another event":       {"events": map[string]any{"http://x.example/event": struct{}{}}},
		"an event in a text":  {"events": map[string]any{"http://schemas.openid.net/event/backchannel-logout": "{}"}},
		"a nonce":             {"nonce": "n"},
		"of another client":   {"aud": "somebody else"},
		"of another provider": {"iss": "https://id.example.com"},
		"no id":               {"jti": nil},
		"no time":             {"iat": nil},
		"a time to come":      {"iat": time.Now().Add(time.Hour).Unix()},
		"too old":             {"exp": time.Now().Add(-time.Minute).Unix()},
		"for ever":            {"exp": nil},
		"of nobody":           {"sub": nil},
		"a long session":      {"sid": strings.Repeat("x", 256)},
	} {
		if n, err := take("s-bob", claims); n != 0 || llm.AsError(err).Code != llm.CodeInvalidRequest {
			t.Errorf("a token with %s: got %d sessions ended, %v; want a refusal", what, n, err)
		}
	}
	for _, token := range []string{"", "x.y.z", strings.Repeat("x", 1<<20)} {
		_, err := h.signIn.SSO.Logout(h.ctx, token, home)
		wantCode(t, "no token", err, llm.CodeInvalidRequest)
	}
	if n, err := take("s-eve", nil); n != 0 || err != nil {
		t.Errorf("another person's sessions: got %d ended, %v; want none", n, err)
	}
	if !open(one) || !open(other) || !open(nameless) {
		t.Error("after tokens that are not good: got sessions that ended, want all open")
	}
	if n, err := take("", map[string]any{"sub": nil, "sid": "one"}); n != 1 || err != nil || open(one) {
		t.Errorf("a session of the provider alone: got %d ended, %v; want one", n, err)
	}
	one = come("one")
	// A session without a stored sid may be that session.
	if n, err := take("s-bob", map[string]any{"sid": "one"}); n != 2 || err != nil || open(one) || open(nameless) || !open(other) {
		t.Errorf("a session of a person: got %d ended, %v; want two, and the other one open", n, err)
	}
	one = come("one")
	if n, err := take("s-bob", nil); n != 2 || err != nil || open(one) || open(other) {
		t.Errorf("all of a person: got %d ended, %v; want two", n, err)
	}
	if v := ada.Session(); v == nil || len(must.Get(h.signIn.Sessions.List(h.ctx, ada))(t)) != 1 {
		t.Error("a session that began otherwise: got it ended, want it open")
	}
}

// TestLogoutThrottle checks that invalid tokens count as failed sign-ins, and valid ones do not.
func TestLogoutThrottle(t *testing.T) {
	t.Parallel()
	h, idp := newSSO(t)
	for range 200 {
		if _, err := h.signIn.SSO.Logout(h.ctx, must.Get(idp.LogoutToken("s-bob", nil))(t), home); err != nil {
			t.Fatalf("a good token: got %v, want no error", err)
		}
	}
	for n := range 200 {
		_, err := h.signIn.SSO.Logout(h.ctx, "x.y.z", home)
		if llm.AsError(err).Code == llm.CodeRateLimited {
			if n < 100 {
				t.Errorf("throttled after %d, want 100", n)
			}
			return
		}
	}
	t.Error("200 tokens that are not good: got all of them looked at, want a limit")
}

// TestLogoutTokenCountsOnce checks that a used token ends no session that has begun since, at any node.
func TestLogoutTokenCountsOnce(t *testing.T) {
	t.Parallel()
	sso, idp := ssoOf(t, func(o *signin.OIDCOptions) { o.SignUp = true })
	var options signin.Options
	h := newFixture(t, func(_ *people.Options, o *signin.Options) { o.OIDC, options = sso, *o })
	options.OIDC = must.Get(signin.NewOIDC(signin.OIDCOptions{
		Issuer: idp.URL, ClientID: oidctest.ClientID, ClientSecret: secret(oidctest.ClientSecret), Name: "Example ID",
	}))(t)
	t.Cleanup(options.OIDC.Close)
	options.Directory = h.Directory
	another := signin.New(options)
	come := func() llm.Secret {
		session, _, err := h.come(idp, "s-bob")
		must.Do(t, err)
		return session
	}
	come()
	token := must.Get(idp.LogoutToken("s-bob", nil))(t)
	if n, err := h.signIn.SSO.Logout(h.ctx, token, home); n != 1 || err != nil {
		t.Fatalf("the first time: got %d ended, %v; want one", n, err)
	}
	again := come()
	for node, sso := range []*signin.SingleSignOn{h.signIn.SSO, another.SSO} {
		if n, err := sso.Logout(h.ctx, token, home); n != 0 || llm.AsError(err).Code != llm.CodeInvalidRequest {
			t.Errorf("the second time, at node %d: got %d ended, %v; want a refusal", node+1, n, err)
		}
	}
	h.visitor(again)
}

// TestUnknownKeysAreFetchedRarely sends tokens with unknown keys: the provider's keys are not requested for each.
func TestUnknownKeysAreFetchedRarely(t *testing.T) {
	t.Parallel()
	h, idp := newSSO(t)
	other := must.Get(oidctest.Start(bobby))(t)
	t.Cleanup(other.Close)
	for range 50 {
		forged := must.Get(other.LogoutToken("s-bob", map[string]any{"iss": idp.URL}))(t)
		_, err := h.signIn.SSO.Logout(h.ctx, forged, home)
		wantCode(t, "a token of another's key", err, llm.CodeInvalidRequest)
	}
	if n := idp.Asked("/keys"); n > 2 {
		t.Errorf("got %d questions for keys, want one in ten seconds", n)
	}
}
