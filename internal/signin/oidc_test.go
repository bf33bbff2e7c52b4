package signin_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/people"
	"weir/internal/signin"
	"weir/internal/signin/oidctest"
)

var (
	bobby = oidctest.Person{Subject: "s-bob", Email: "Bob@example.com", Verified: true, Name: "Bob"}
	eve   = oidctest.Person{Subject: "s-eve", Email: "eve@example.com", Verified: false, Name: "Eve"}
)

// newSSO builds a fixture with single sign-on.
func newSSO(t *testing.T, change ...func(*signin.OIDCOptions)) (*fixture, *oidctest.Server) {
	t.Helper()
	sso, idp := ssoOf(t, change...)
	return newFixture(t, func(_ *people.Options, o *signin.Options) { o.OIDC = sso }), idp
}

// come signs a person in at the provider and returns with the result.
func (h *fixture) come(idp *oidctest.Server, subject string) (llm.Secret, string, error) {
	h.t.Helper()
	address, state, err := h.signIn.SSO.Start(h.ctx, "/accounts/default?x=1", home)
	if err != nil {
		h.t.Fatalf("start: %v", err)
	}
	back, err := idp.SignIn(address, subject)
	if err != nil {
		h.t.Fatalf("at the provider: %v", err)
	}
	return h.signIn.SSO.Finish(h.ctx, state.Reveal(), back, home)
}

func TestOIDC(t *testing.T) {
	t.Parallel()
	h, idp := newSSO(t)
	ada := h.setUp("ada@example.com")
	if h.signIn.SSO.Name() != "Example ID" {
		t.Errorf("name: got %q, want Example ID", h.signIn.SSO.Name())
	}
	_, _, err := h.come(idp, "s-bob")
	wantCode(t, "somebody who is not invited", err, llm.CodeForbidden)
	if _, _, err := h.newInvitation(ada.Actor(home), people.Invitation{Email: "bob@example.com", AccountID: h.account.ID, Role: people.Member}); err != nil {
		t.Fatal(err)
	}
	session, next, err := h.come(idp, "s-bob")
	if err != nil || next != "/accounts/default?x=1" {
		t.Fatalf("return: got next %q, %v; want the first page", next, err)
	}
	v := h.visitor(session)
	if u := v.User(); u.Email != "bob@example.com" || u.Name != "Bob" || u.Password || v.Role(h.account.ID) != people.Member || v.Session().Method != people.ByOIDC {
		t.Errorf("got %+v as %q by %s; want Bob without a password, member, by oidc", u, v.Role(h.account.ID), v.Session().Method)
	}
	// From now on the subject counts, despite changes of the address.
	moved := bobby
	moved.Email, moved.Verified = "robert@example.com", nil
	idp.Put(moved)
	session, _, err = h.come(idp, "s-bob")
	if err != nil || h.visitor(session).User().ID != v.User().ID {
		t.Errorf("with another address: got %v; want the same user", err)
	}
	idp.Put(oidctest.Person{Subject: "s-new", Email: "bob@example.com", Verified: true})
	_, _, err = h.come(idp, "s-new")
	wantCode(t, "somebody who got Bob's old address", err, llm.CodeForbidden)
	if idp.Asked("/.well-known/openid-configuration") != 1 {
		t.Errorf("discovery: got %d, want 1", idp.Asked("/.well-known/openid-configuration"))
	}
}

func TestOIDCUnverified(t *testing.T) {
	t.Parallel()
	h, idp := newSSO(t, func(o *signin.OIDCOptions) { o.SignUp = true })
	h.setUp("eve@example.com")
	for _, verified := range []any{nil, false, "false", "yes", 1} {
		p := eve
		p.Verified = verified
		idp.Put(p)
		_, _, err := h.come(idp, "s-eve")
		wantCode(t, "an address that is not verified", err, llm.CodeForbidden)
	}
	p := eve
	p.Verified, p.Thin = "true", true
	idp.Put(p)
	session, _, err := h.come(idp, "s-eve")
	if err != nil || !h.visitor(session).Operator() {
		t.Errorf("a verified address in the user info: got %v; want the operator", err)
	}
	if v := h.visitor(session); !v.User().Password {
		t.Error("the operator who set up: got no password any more, want the same one")
	}
}

// TestOIDCSquatter has an owner invite a person and use the link themselves: after the true one signs in, the
// squatter's password and session are invalid.
func TestOIDCSquatter(t *testing.T) {
	t.Parallel()
	h, idp := newSSO(t)
	ada := h.setUp("ada@example.com")
	owner := h.join(ada.Actor(home), "mallory@example.com", people.Owner)
	h.join(owner.Actor(stranger), "bob@example.com", people.Viewer)
	squatter := must.Get(h.signIn.Passwords.SignIn(h.ctx, "bob@example.com", secret(goodPassword), stranger))(t)
	session, _, err := h.come(idp, "s-bob")
	must.Do(t, err)
	h.visitor(session)
	h.gone(squatter, "the true one came")
	_, err = h.signIn.Passwords.SignIn(h.ctx, "bob@example.com", secret(goodPassword), stranger)
	wantCode(t, "the squatter's password", err, llm.CodeAuthentication)
}

func TestOIDCGroups(t *testing.T) {
	t.Parallel()
	h, idp := newSSO(t, func(o *signin.OIDCOptions) {
		o.SignUp, o.GroupsClaim, o.Operators = true, "groups", []string{"admins"}
		o.Accounts = map[string]map[people.Role][]string{
			"default": {people.Owner: {"leads"}, people.Member: {"devs"}, people.Viewer: {"all"}},
			"absent":  {people.Owner: {"all"}},
		}
	})
	other := h.newAccount("other")
	ada := h.setUp("ada@example.com")
	for _, test := range []struct {
		groups   []string
		operator bool
		role     people.Role
	}{
		{[]string{"all", "devs"}, false, people.Member},
		{[]string{"devs", "leads", "admins"}, true, people.Owner},
		{[]string{"all"}, false, people.Viewer},
		{nil, false, ""},
	} {
		p := bobby
		p.Groups = test.groups
		idp.Put(p)
		session, _, err := h.come(idp, "s-bob")
		must.Do(t, err)
		v := h.visitor(session)
		if v.Operator() != test.operator || v.Role(h.account.ID) != test.role {
			t.Errorf("groups %v: got operator %v, role %q; want %v, %q", test.groups, v.Operator(), v.Role(h.account.ID), test.operator, test.role)
		}
		if test.role != people.Member {
			continue
		}
		h.newInvitation(ada.Actor(home), people.Invitation{Email: "bob@example.com", AccountID: other.ID, Role: people.Viewer}) // he accepts it at his next sign-in
	}
	if list, err := h.Members(h.ctx, other.ID); err != nil || len(list) != 1 {
		t.Errorf("an account that no group names: got %+v, %v; want Bob in it still", list, err)
	}
	idp.Put(oidctest.Person{Subject: "s-ada", Email: "ada@example.com", Verified: true})
	session, _, err := h.come(idp, "s-ada")
	must.Do(t, err)
	if v := h.visitor(session); !v.Operator() || v.Role(h.account.ID) != people.Owner {
		t.Errorf("the last operator and owner, in no group: got operator %v, %q; want both roles", v.Operator(), v.Role(h.account.ID))
	}
}

// TestOIDCForged changes each thing that a forger could.
func TestOIDCForged(t *testing.T) {
	t.Parallel()
	h, idp := newSSO(t, func(o *signin.OIDCOptions) { o.SignUp = true })
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must.Do(t, err)
	claim := func(name string, value any) func(map[string]any) {
		return func(c map[string]any) { c[name] = value }
	}
	for name, spoil := range map[string]func(map[string]any){
		"another nonce": claim("nonce", "x"), "another audience": claim("aud", "somebody"), "another issuer": claim("iss", "https://evil.example"),
		"another client": claim("azp", "somebody"),
		"too old":        claim("exp", time.Now().Add(-time.Hour).Unix()), "no subject": claim("sub", ""),
	} {
		idp.Spoil = spoil
		_, _, err := h.come(idp, "s-bob")
		wantCode(t, name, err, llm.CodeForbidden)
	}
	idp.Spoil, idp.SignWith = nil, other
	_, _, err = h.come(idp, "s-bob")
	wantCode(t, "another key", err, llm.CodeForbidden)
	idp.SignWith = nil

	address, state, _ := h.signIn.SSO.Start(h.ctx, "/", home)
	back, err := idp.SignIn(address, "s-bob")
	must.Do(t, err)
	_, foreign, _ := h.signIn.SSO.Start(h.ctx, "/", home)
	with := func(key, value string) url.Values {
		q := maps.Clone(back)
		q.Set(key, value)
		return q
	}
	for _, test := range []struct {
		name, state string
		query       url.Values
		want        llm.Code
	}{
		{"another browser's state", foreign.Reveal(), back, llm.CodeInvalidRequest},
		{"no state", "", back, llm.CodeInvalidRequest},
		{"a state that is none", "AAAA", back, llm.CodeInvalidRequest},
		{"another state in the query", state.Reveal(), with("state", "x"), llm.CodeInvalidRequest},
		{"another issuer in the query", state.Reveal(), with("iss", "https://evil.example"), llm.CodeInvalidRequest},
		{"a refusal", state.Reveal(), with("error", "access_denied"), llm.CodeForbidden},
		{"another code", state.Reveal(), with("code", "x"), llm.CodeForbidden},
	} {
		_, _, err := h.signIn.SSO.Finish(h.ctx, test.state, test.query, home)
		wantCode(t, test.name, err, test.want)
	}
	if got := strings.Count(h.log.String(), `msg="sign-in failed" method=oidc user="" address=192.0.2.1`); got != 14 {
		t.Errorf("got %d failures in the log, want 14:\n%s", got, h.log.String())
	}
	if _, _, err := h.signIn.SSO.Finish(h.ctx, state.Reveal(), back, home); err != nil {
		t.Errorf("the true one: %v", err)
	}
	_, _, err = h.signIn.SSO.Finish(h.ctx, state.Reveal(), back, home)
	wantCode(t, "the same once more", err, llm.CodeForbidden)
	h.advance(10 * time.Minute)
	_, _, err = h.signIn.SSO.Finish(h.ctx, state.Reveal(), back, home)
	wantCode(t, "ten minutes later", err, llm.CodeInvalidRequest)
}

func TestOIDCNext(t *testing.T) {
	t.Parallel()
	h, idp := newSSO(t, func(o *signin.OIDCOptions) { o.SignUp = true })
	for next, want := range map[string]string{
		"/me": "/me", "": "/", "//evil.example": "/", "https://evil.example/": "/", `/\evil.example`: "/", "me": "/", "/a?b=c": "/a?b=c", "javascript:alert(1)": "/",
	} {
		address, state, err := h.signIn.SSO.Start(h.ctx, next, home)
		must.Do(t, err)
		back := must.Get(idp.SignIn(address, "s-bob"))(t)
		if _, got, err := h.signIn.SSO.Finish(h.ctx, state.Reveal(), back, home); got != want || err != nil {
			t.Errorf("next %q: got %q, %v; want %q", next, got, err, want)
		}
	}
}

// TestOIDCRecoversAfterOutage starts while the provider sends wrong answers, and works after it recovers.
func TestOIDCRecoversAfterOutage(t *testing.T) {
	t.Parallel()
	h, idp := newSSO(t, func(o *signin.OIDCOptions) { o.SignUp = true })
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	defer elsewhere.Close()
	for name, answer := range map[string]http.HandlerFunc{
		"an error":       func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
		"a redirect":     func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, http.StatusFound) },
		"another issuer": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"issuer": "https://evil.example"}`) },
		"without end": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"issuer": "`)
			for i := 0; i < 8<<20; i += 1 << 10 {
				if _, err := w.Write(make([]byte, 1<<10)); err != nil {
					return
				}
			}
		},
	} {
		idp.Instead(answer)
		_, _, err := h.signIn.SSO.Start(h.ctx, "/", home)
		wantCode(t, name, err, llm.CodeProviderUnavailable)
	}
	idp.Instead(nil)
	if _, _, err := h.come(idp, "s-bob"); err != nil {
		t.Errorf("once it is back: %v", err)
	}
	_, _, err := newFixture(t).signIn.SSO.Start(h.ctx, "/", home)
	wantCode(t, "no single sign-on", err, llm.CodeNotFound)
}

// TestOIDCThrottle begins, and returns with invalid results, again and again: the network has to wait, others have not,
// and successful sign-ins do not count.
func TestOIDCThrottle(t *testing.T) {
	t.Parallel()
	h, idp := newSSO(t, func(o *signin.OIDCOptions) { o.SignUp = true })
	for range 120 { // a whole office signs in
		if _, _, err := h.come(idp, "s-bob"); err != nil {
			t.Fatalf("sign in again and again: %v", err)
		}
	}
	steps := map[string]func(o people.Origin) error{
		"begin": func(o people.Origin) error {
			_, _, err := h.signIn.SSO.Start(h.ctx, "/", o)
			return err
		},
		"come back": func(o people.Origin) error {
			_, _, err := h.signIn.SSO.Finish(h.ctx, "forged", url.Values{"code": {"x"}}, o)
			return err
		},
	}
	for name, step := range steps {
		waits := 0
		for i := range 130 {
			o := people.Origin{Address: fmt.Sprintf("2001:db8:1:2:%x::1", i)} // of one network
			if err := step(o); err != nil && llm.AsError(err).Code == llm.CodeRateLimited {
				if waits++; llm.AsError(err).RetryAfter != time.Second {
					t.Errorf("%s: got %v to wait, want 1 s", name, llm.AsError(err).RetryAfter)
				}
			}
		}
		if waits != 30 {
			t.Errorf("%s 130 times: got %d that had to wait, want 30", name, waits)
		}
		if err := step(stranger); err != nil && llm.AsError(err).Code == llm.CodeRateLimited {
			t.Errorf("%s on another network: got %v, want no wait", name, err)
		}
		h.advance(time.Second)
		if err := step(people.Origin{Address: "2001:db8:1:2::9"}); err != nil && llm.AsError(err).Code == llm.CodeRateLimited {
			t.Errorf("%s a second later: got %v, want no wait", name, err)
		}
	}
	if _, _, err := h.come(idp, "s-bob"); err != nil {
		t.Errorf("from home meanwhile: %v", err)
	}
}

// TestOIDCRolesInItsSessions checks that only sessions that began by single sign-on have the roles of groups: a
// password, a link for a new one and an invitation give none, whatever the groups said last time. The set-up link does.
func TestOIDCRolesInItsSessions(t *testing.T) {
	t.Parallel()
	h, idp := newSSO(t, func(o *signin.OIDCOptions) {
		o.SignUp, o.Operators = true, []string{"admins"}
		o.Accounts = map[string]map[people.Role][]string{"default": {people.Owner: {"leads"}}}
	})
	other := h.newAccount("other")
	ada := h.setUp("ada@example.com")
	if !ada.Operator() || ada.Role(h.account.ID) != people.Owner || ada.Confined() {
		t.Errorf("set up: got operator %v, %q; want operator, owner", ada.Operator(), ada.Role(h.account.ID))
	}
	byHand, err := h.signIn.Links.Accept(h.ctx, h.invite(ada.Actor(home), people.Invitation{Email: "bob@example.com", AccountID: other.ID, Role: people.Owner}), person(""), home)
	must.Do(t, err)
	p := bobby
	p.Groups = []string{"admins", "leads"}
	idp.Put(p)
	sso, _, err := h.come(idp, "s-bob")
	must.Do(t, err)
	password := must.Get(h.signIn.Passwords.SignIn(h.ctx, "bob@example.com", secret(goodPassword), home))(t)
	wantRoles := func(way string, session llm.Secret, operator bool, inMapped people.Role) *people.Visitor {
		t.Helper()
		v := h.visitor(session)
		if v.Operator() != operator || v.Role(h.account.ID) != inMapped || v.Role(other.ID) != people.Owner || v.Confined() == operator {
			t.Errorf("%s: got operator %v, %q and %q in other, confined %v; want %v, %q, owner, %v", way,
				v.Operator(), v.Role(h.account.ID), v.Role(other.ID), v.Confined(), operator, inMapped, !operator)
		}
		return v
	}
	wantRoles("single sign-on", sso, true, people.Owner)
	wantRoles("a session from before", byHand, false, "")
	owner := wantRoles("a password", password, false, "")
	wantCode(t, "to operate by password", owner.May(people.Operate, ""), llm.CodeForbidden)
	wantCode(t, "to read the mapped account by password", owner.May(people.Read, h.account.ID), llm.CodeNotFound)
	link := must.Get(h.resetLink(ada.Actor(home), owner.User().ID))(t)
	reset, err := h.signIn.Links.Reset(h.ctx, link.Reveal(), secret(goodPassword), home)
	must.Do(t, err)
	wantRoles("a link for a new password", reset, false, "")

	idp.Put(bobby) // in no group any more
	if sso, _, err = h.come(idp, "s-bob"); err != nil {
		t.Fatal(err)
	}
	if v := h.visitor(sso); v.Operator() || v.Role(h.account.ID) != "" || v.Confined() {
		t.Errorf("by single sign-on, in no group: got operator %v, %q; want neither", v.Operator(), v.Role(h.account.ID))
	}
}

// TestConfinedOperatorsInvitationProvesNothing checks that the invitations of an operator by single sign-on who signed
// in with a password prove no address.
func TestConfinedOperatorsInvitationProvesNothing(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.setUp("ada@example.com")
	for _, untrusted := range []bool{false, true} {
		email := fmt.Sprintf("bob-%v@example.com", untrusted)
		link := h.invite(ada.Actor(home), people.Invitation{Email: email, AccountID: h.account.ID, Role: people.Viewer, Untrusted: untrusted})
		session := must.Get(h.signIn.Links.Accept(h.ctx, link, person(""), home))(t)
		if got := h.visitor(session).User().Proven; got == untrusted {
			t.Errorf("untrusted %v: got proven %v", untrusted, got)
		}
	}
}
