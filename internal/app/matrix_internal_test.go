package app

import (
	"cmp"
	"context"
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/people"
	"weir/internal/signin"
)

// roleFixture is a gateway with people and keys of every kind, in the account acme.
type roleFixture struct {
	*instance
	sessions map[string]string // by the person's name
	keys     map[string]string
}

const roleAccount = "acme"

func newRoleFixture(t *testing.T) *roleFixture {
	t.Helper()
	return newRoles(t, newInstance(t))
}

// newRoles adds people and keys of every kind to a gateway.
func newRoles(t *testing.T, g *instance) *roleFixture {
	t.Helper()
	h := &roleFixture{instance: g, sessions: map[string]string{}, keys: map[string]string{}}
	ctx, gate := t.Context(), audit.Gateway()
	_, _, err := g.admin.Accounts.Bootstrap(ctx, gate)
	must.Do(t, err)
	setup, err := g.admin.Accounts.CreateSetupToken(ctx, gate)
	must.Do(t, err)
	from := people.Origin{Address: "127.0.0.1"}
	operator, err := g.admin.SignIn.Links.SetUp(ctx, setup.Reveal(), person("operator"), from)
	must.Do(t, err)
	h.sessions["operator"] = operator.Reveal()
	for _, name := range []string{roleAccount, "elsewhere", "asleep"} {
		_, err := g.admin.Accounts.CreateAccount(ctx, gate, name)
		must.Do(t, err)
	}
	for who, in := range map[string]people.Invitation{
		"viewer": {Role: people.Viewer}, "member": {Role: people.Member}, "owner": {Role: people.Owner},
		"signed out": {Role: people.Owner}, "removed": {Role: people.Owner},
		"owner of another account": {Role: people.Owner, AccountName: "elsewhere"},
	} {
		h.sessions[who] = h.invite(ctx, t, who, in)
	}
	h.end(ctx, t)
	h.makeKeys(ctx, t)
	return h
}

func person(who string) signin.Person {
	return signin.Person{Email: strings.ReplaceAll(who, " ", ".") + "@example.com", Name: who, Password: llm.NewSecret("a long pass phrase of " + who)}
}

// invite adds a person to the fixture, and returns their session.
func (h *roleFixture) invite(ctx context.Context, t *testing.T, who string, i people.Invitation) string {
	t.Helper()
	name := i.AccountName
	if name == "" {
		name = roleAccount
	}
	a := must.Get(h.admin.Accounts.Account(ctx, name))(t)
	i.AccountID, i.AccountName, i.Email = a.ID, a.Name, person(who).Email
	one, err := h.admin.People.Invite(ctx, audit.Gateway(), i, "")
	must.Do(t, err)
	session := must.Get(h.admin.SignIn.Links.Accept(ctx, path.Base(one.Link.Reveal()), person(who), people.Origin{Address: "127.0.0.1"}))(t)
	return session.Reveal()
}

// end invalidates the sessions that must be invalid.
func (h *roleFixture) end(ctx context.Context, t *testing.T) {
	t.Helper()
	from := people.Origin{Address: "127.0.0.1"}
	v, err := h.admin.SignIn.Sessions.Visitor(ctx, h.sessions["signed out"], from)
	if err == nil {
		err = h.admin.SignIn.Sessions.SignOut(ctx, v, from)
	}
	must.Do(t, err)
	gone, err := h.admin.SignIn.Sessions.Visitor(ctx, h.sessions["removed"], from)
	if err == nil {
		err = h.admin.People.RemoveMember(ctx, audit.Gateway(), gone.Memberships()[0].AccountID, gone.User().ID)
	}
	must.Do(t, err)
	h.sessions["nobody"], h.sessions["made up"] = "", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
}

func (h *roleFixture) makeKeys(ctx context.Context, t *testing.T) {
	t.Helper()
	for who, o := range map[string]account.KeyOptions{
		"chat": {Permissions: []account.Permission{account.Chat}}, "uses": {Permissions: []account.Permission{account.Uses}},
		"tools": {Permissions: []account.Permission{account.Tools}},
		"both":  {}, "admin": {Permissions: []account.Permission{account.Admin}}, "revoked": {Permissions: []account.Permission{account.Chat, account.Uses, account.Admin}},
		"expiring": {ExpiresIn: 24 * time.Hour}, "expired": {ExpiresIn: time.Millisecond, Permissions: []account.Permission{account.Chat, account.Uses, account.Admin}}, "suspended": {Account: "asleep", Permissions: []account.Permission{account.Chat, account.Uses, account.Admin}},
	} {
		if o.Account == "" {
			o.Account = roleAccount
		}
		o.Label = who
		k, token, err := h.admin.Accounts.CreateKey(ctx, audit.Gateway(), o)
		if err == nil && who == "revoked" {
			_, err = h.admin.Accounts.RevokeKey(ctx, audit.Gateway(), k.ID)
		}
		must.Do(t, err)
		h.keys[who] = token.Reveal()
	}
	must.Get(h.admin.Accounts.Suspend(ctx, audit.Gateway(), "asleep"))(t)
	time.Sleep(2 * time.Millisecond) // until the one is expired
	h.keys["made up"] = "wk_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
}

var wildcard = regexp.MustCompile(`\{[^}]*\}`)

// roleRequest builds a request for a pattern, from this machine.
func roleRequest(pattern string) *http.Request {
	method, path, _ := strings.Cut(pattern, " ")
	path = strings.NewReplacer("{account}", roleAccount, "{$}", "").Replace(path)
	r := httptest.NewRequest(method, wildcard.ReplaceAllString(path, "x"), strings.NewReader(""))
	r.RemoteAddr, r.Host = "127.0.0.1:40000", "localhost"
	return r
}

// mayPages lists independently the people with each right.
var mayPages = map[people.Right][]string{
	people.Open:     nil, // all people
	people.SignedIn: {"viewer", "member", "owner", "operator", "owner of another account", "removed"},
	people.Read:     {"viewer", "member", "owner", "operator"},
	people.Use:      {"member", "owner", "operator"},
	people.Manage:   {"owner", "operator"},
	people.Operate:  {"operator"},

	people.ReadContent: {"owner"},
}

// TestWhoMayDoWhat sends a request to every route of people as everybody: with each session, and with each key in each
// place of a key or a session. A mark in place of the page shows the permitted ones.
func TestWhoMayDoWhat(t *testing.T) {
	t.Parallel()
	h := newRoleFixture(t)
	const mark = http.StatusTeapot
	count := 0
	for _, of := range h.site.userRoutes() {
		route := of.route
		allowed, known := mayPages[route.Right]
		if !known {
			t.Errorf("%s needs the right %q, which no test person has", route.Pattern, route.Right)
		}
		route.Serve = func(w http.ResponseWriter, _ *http.Request, _ *people.Visit) { w.WriteHeader(mark) }
		mux := http.NewServeMux()
		mux.Handle(route.Pattern, of.guard.handler(route))
		ask := func(who string, r *http.Request, want bool) {
			t.Helper()
			w := httptest.NewRecorder()
			mux.ServeHTTP(w, r)
			count++
			if got := w.Code == mark; got != want {
				t.Errorf("%s by %s: got admitted %t (%d), want %t", route.Pattern, who, got, w.Code, want)
			}
		}
		for who, session := range h.sessions {
			r := roleRequest(route.Pattern)
			h.signIn(r, session)
			ask("the session of "+who, r, route.Right == people.Open || slices.Contains(allowed, who))
			if r.Method == http.MethodGet {
				continue
			}
			for name, value := range map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"} {
				forged := roleRequest(route.Pattern)
				h.signIn(forged, session)
				forged.Header.Set(name, value)
				ask("another site with the session of "+who, forged, false)
			}
		}
		for who, key := range h.keys {
			for place, put := range keyPlaces(h) {
				r := roleRequest(route.Pattern)
				put(r, key)
				admin := of.guard.keys && place == "Authorization" && who == "admin" && route.Right != people.ReadContent
				bad := of.guard.keys && place == "Authorization" && !admin // an invalid key is refused, whatever the right
				ask("the key "+who+" in "+place, r, admin || route.Right == people.Open && !bad)
			}
		}
	}
	if count < 1000 {
		t.Errorf("got %d requests, want more than 1000", count)
	}
	t.Logf("%d requests", count)
}

// keyPlaces lists the places in which a client may try to put a key.
func keyPlaces(h *roleFixture) map[string]func(*http.Request, string) {
	places := map[string]func(*http.Request, string){
		"Authorization": func(r *http.Request, key string) { r.Header.Set("Authorization", "Bearer "+key) },
		"a cookie":      func(r *http.Request, key string) { h.signIn(r, key) },
		"the query":     func(r *http.Request, key string) { r.URL.RawQuery = "key=" + key },
	}
	for _, name := range []string{"X-Api-Key", "Api-Key", "X-Goog-Api-Key"} {
		places[name] = func(r *http.Request, key string) { r.Header.Set(name, key) }
	}
	return places
}

// signIn adds the cookie of a session to the request.
func (h *roleFixture) signIn(r *http.Request, session string) {
	if session == "" {
		return
	}
	for _, name := range []string{"weir", "__Host-weir"} {
		r.AddCookie(&http.Cookie{Name: name, Value: session})
	}
}

// leaver is a client that leaves once it has the head of an answer: some streams of notifications have no other end.
type leaver struct {
	*httptest.ResponseRecorder
	leave func()
}

func (l leaver) WriteHeader(status int) {
	l.ResponseRecorder.WriteHeader(status)
	l.leave()
}

// TestKeysAtClientAPIs sends a request to every client API of programs as everybody: with each key in each place, and
// with sessions, which count nowhere there.
func TestKeysAtClientAPIs(t *testing.T) {
	t.Parallel()
	h := newRoleFixture(t)
	handler := h.site.handler()
	good := map[account.Permission][]string{account.Chat: {"chat", "both", "expiring"}, account.Uses: {"uses", "both", "expiring"}, account.Tools: {"tools"}}
	for _, e := range h.site.routes() {
		if e.permission == "" || e.right != "" {
			continue
		}
		ask := func(who string, r *http.Request, want bool) {
			t.Helper()
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			w := leaver{httptest.NewRecorder(), leave}
			handler.ServeHTTP(w, r.WithContext(ctx))
			if got := w.Code != http.StatusUnauthorized && w.Code != http.StatusForbidden; got != want {
				t.Errorf("%s by %s: got admitted %t (%d), want %t", e.pattern, who, got, w.Code, want)
			}
		}
		var vendors []string
		if e.dialect != nil {
			for _, name := range e.dialect.KeyHeaders {
				vendors = append(vendors, http.CanonicalHeaderKey(name))
			}
		}
		for who, key := range h.keys {
			for place, put := range keyPlaces(h) {
				r := roleRequest(e.pattern)
				put(r, key)
				counts := place == "Authorization" || slices.Contains(vendors, place) ||
					place == "the query" && strings.HasPrefix(e.pattern, "GET /ws/") // of live sessions, as Google's SDK
				ask("the key "+who+" in "+place, r, counts && slices.Contains(good[e.permission], who))
			}
		}
		for who, session := range h.sessions {
			r := roleRequest(e.pattern)
			h.signIn(r, session)
			ask("the session of "+who, r, false)
		}
	}
}

// TestPagesAreGuarded checks that every page of the running router that is not open is refused without a session.
func TestPagesAreGuarded(t *testing.T) {
	t.Parallel()
	h := newRoleFixture(t)
	handler := h.site.handler()
	for _, e := range h.site.routes() {
		if e.right == "" || e.right == people.Open {
			continue
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, roleRequest(e.pattern))
		to := w.Header().Get("Location")
		sent := w.Code == http.StatusSeeOther && strings.HasPrefix(to, "/sign-in")
		if w.Code != http.StatusUnauthorized && !sent {
			t.Errorf("%s without a session: got %d to %q, want a redirect to sign in", e.pattern, w.Code, to)
		}
	}
}

// way describes how a request reaches the gateway. Its zero value is plain http on this machine.
type way struct {
	peer, host             string // empty: 127.0.0.1 and localhost
	tls                    bool
	proto, forwarded, name string // X-Forwarded-Proto, -For and -Host
}

func (h way) take(r *http.Request) {
	r.RemoteAddr, r.Host = cmp.Or(h.peer, "127.0.0.1")+":5000", cmp.Or(h.host, "localhost:8080")
	if h.tls {
		r.TLS = &tls.ConnectionState{}
	}
	for name, value := range map[string]string{"X-Forwarded-Proto": h.proto, "X-Forwarded-For": h.forwarded, "X-Forwarded-Host": h.name} {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
}

// TestPlainHTTP checks that neither sign-in nor an operator's key is accepted on a connection that others could read.
func TestPlainHTTP(t *testing.T) {
	t.Parallel()
	h := newRoleFixture(t)
	type setting struct {
		public   string
		proxies  string
		insecure bool
	}
	for name, test := range map[string]struct {
		setting
		way
		private bool
	}{
		"this machine":                           {setting{}, way{}, true},
		"this machine, by address":               {setting{}, way{host: "127.0.0.1:8080"}, true},
		"own TLS":                                {setting{}, way{peer: "203.0.113.9", host: "gateway.example", tls: true}, true},
		"from afar":                              {setting{}, way{peer: "203.0.113.9"}, false},
		"from afar, by address":                  {setting{}, way{peer: "203.0.113.9", host: "192.0.2.7:8080"}, false},
		"from afar, insecure_http":               {setting{insecure: true}, way{peer: "203.0.113.9", host: "192.0.2.7:8080"}, true},
		"from afar beside the proxy":             {setting{public: "https://gateway.example"}, way{peer: "203.0.113.9", host: "192.0.2.7:8080"}, false},
		"by another name":                        {setting{}, way{host: "gateway.example"}, false},
		"a proxy nobody trusts":                  {setting{}, way{peer: "203.0.113.9", proto: "https"}, false},
		"a proxy nobody trusts, on this machine": {setting{}, way{host: "gateway.example", proto: "https"}, false},
		"a proxy nobody trusts, on this machine, its name":   {setting{public: "https://gateway.example:8443/weir"}, way{host: "gateway.example:8443"}, true},
		"a proxy nobody trusts, on this machine, over http":  {setting{public: "http://gateway.example"}, way{host: "gateway.example"}, false},
		"a trusted proxy with https":                         {setting{proxies: "10.0.0.0/8"}, way{peer: "10.0.0.1", host: "gateway.example", proto: "https"}, true},
		"a trusted proxy with http":                          {setting{proxies: "10.0.0.0/8", public: "https://gateway.example"}, way{peer: "10.0.0.1", host: "gateway.example", proto: "http"}, false},
		"a trusted proxy that says nothing":                  {setting{proxies: "10.0.0.0/8"}, way{peer: "10.0.0.1", host: "gateway.example"}, false},
		"a trusted proxy that says nothing, of an https URL": {setting{proxies: "10.0.0.0/8", public: "https://gateway.example"}, way{peer: "10.0.0.1", host: "gateway.example"}, true},
		"a trusted proxy on this machine, from afar":         {setting{proxies: "127.0.0.1/32"}, way{proto: "http", forwarded: "203.0.113.9"}, false},
		"a trusted proxy on this machine, from somewhere":    {setting{proxies: "127.0.0.1/32"}, way{proto: "http"}, false},
		"a trusted proxy on this machine, by another name":   {setting{proxies: "127.0.0.1/32"}, way{proto: "http", forwarded: "127.0.0.1", name: "gateway.example"}, false},
		"a trusted proxy on this machine, from this machine": {setting{proxies: "127.0.0.1/32"}, way{proto: "http", forwarded: "127.0.0.1"}, true},
		"past a trusted proxy on this machine":               {setting{proxies: "127.0.0.1/32"}, way{}, true},
	} {
		cfg := &h.options.Config
		cfg.PublicURL, cfg.InsecureHTTP, cfg.TrustedProxies = test.public, test.insecure, nil
		if test.proxies != "" {
			cfg.TrustedProxies = []netip.Prefix{netip.MustParsePrefix(test.proxies)}
		}
		handler := h.site.handler()
		for _, pattern := range []string{"GET /sign-in", "POST /sign-in", "GET /me", "GET /admin/v1/accounts", "GET /admin/v1/accounts with a key"} {
			pattern, withKey := strings.CutSuffix(pattern, " with a key")
			r := roleRequest(pattern)
			if withKey {
				r.Header.Set("Authorization", "Bearer "+h.keys["admin"])
			} else {
				h.signIn(r, h.sessions["operator"])
			}
			test.take(r)
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			refused := w.Code == http.StatusForbidden && strings.Contains(w.Body.String(), "insecure_http")
			if refused == test.private || w.Code == http.StatusMisdirectedRequest {
				t.Errorf("%s (key: %t), %s: got %d %.300s, want it refused: %t", pattern, withKey, name, w.Code, w.Body, !test.private)
			}
		}
	}
}

// TestBadKeyOverPlainHTTP checks that a key over plain http is neither examined nor requested.
func TestBadKeyOverPlainHTTP(t *testing.T) {
	t.Parallel()
	h := newRoleFixture(t)
	handler := h.site.handler()
	for _, key := range []string{"", "Bearer wk_bad", "Bearer " + h.keys["chat"]} {
		r := roleRequest("GET /admin/v1/accounts")
		way{peer: "203.0.113.9"}.take(r)
		if key != "" {
			r.Header.Set("Authorization", key)
		}
		w := httptest.NewRecorder()
		if handler.ServeHTTP(w, r); w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), "https") {
			t.Errorf("key %.12q: got %d %s, want 403 with the remedy", key, w.Code, w.Body)
		}
	}
}

// TestStrictTransport checks that browsers are directed to https after a request over https (RFC 6797), except for
// loopback names, which other programs share.
func TestStrictTransport(t *testing.T) {
	t.Parallel()
	g := newInstance(t)
	g.options.Config.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	handler := g.site.handler()
	for name, test := range map[string]struct {
		way
		want string
	}{
		"own TLS":                        {way{peer: "203.0.113.9", host: "gateway.example", tls: true}, "max-age=31536000"},
		"a trusted proxy with https":     {way{peer: "10.0.0.1", host: "gateway.example", proto: "https"}, "max-age=31536000"},
		"a trusted proxy with http":      {way{peer: "10.0.0.1", host: "gateway.example", tls: true, proto: "http"}, ""},
		"a proxy nobody trusts":          {way{peer: "203.0.113.9", host: "gateway.example", proto: "https"}, ""},
		"plain http":                     {way{}, ""},
		"own TLS, on this machine":       {way{tls: true}, ""},
		"own TLS, of a name not its own": {way{host: "evil.example", tls: true}, ""},
	} {
		for _, pattern := range []string{"GET /sign-in", "GET /", "GET /nothing/here", "GET /admin/v1/me"} {
			r := roleRequest(pattern)
			r.Header.Set("Accept", "text/html")
			test.take(r)
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			if got := w.Header().Get("Strict-Transport-Security"); got != test.want {
				t.Errorf("%s, %s: got %d, Strict-Transport-Security %q, want %q", pattern, name, w.Code, got, test.want)
			}
		}
	}
}

// TestForeignHostOfEveryRoute sends a request to every route under a foreign name: without a required key, and at the
// administration, it is refused before all other checks.
func TestForeignHostOfEveryRoute(t *testing.T) {
	t.Parallel()
	g := newInstance(t)
	handler := g.site.handler()
	for _, e := range g.site.routes() {
		r := roleRequest(e.pattern)
		r.Host = "evil.example"
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		client := e.permission == account.Chat || e.permission == account.Uses || e.permission == account.Tools
		free := client || e.pattern == "GET /livez" || e.pattern == "GET /readyz"
		if refused := w.Code == http.StatusMisdirectedRequest; refused == free {
			t.Errorf("%s of evil.example: got %d, want it refused: %t", e.pattern, w.Code, !free)
		}
	}
}

// TestFormsBehindProxyWithPublicAddress checks that a form of this site is accepted if the public address is known only
// from a trusted proxy.
func TestFormsBehindProxyWithPublicAddress(t *testing.T) {
	t.Parallel()
	g := newInstance(t)
	g.options.Config.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	handler := g.site.handler()
	for origin, want := range map[string]int{"https://gateway.example": http.StatusSeeOther, "https://evil.example": http.StatusForbidden} {
		r := httptest.NewRequest(http.MethodPost, "/theme", strings.NewReader("theme=dark"))
		r.Host = "weir.internal"
		for name, value := range map[string]string{
			"Origin": origin, "Content-Type": "application/x-www-form-urlencoded",
			"X-Forwarded-Host": "gateway.example", "X-Forwarded-Proto": "https",
		} {
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		if handler.ServeHTTP(w, r); w.Code != want {
			t.Errorf("a form from %s: got %d, want %d", origin, w.Code, want)
		}
	}
}

// TestFormsBehindProxy checks that a form of this site is accepted behind a proxy that sends the gateway another Host,
// from a browser that sends only its origin, and that a foreign one is not.
func TestFormsBehindProxy(t *testing.T) {
	t.Parallel()
	g := newInstance(t)
	g.options.Config.PublicURL = "https://weir.example.com/behind"
	g.options.Config.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	var err error
	if g.site.crossing, err = newCrossOrigin(g.options.Config.PublicURL); err != nil {
		t.Fatal(err)
	}
	handler := g.site.handler()
	for origin, want := range map[string]int{"https://weir.example.com": http.StatusSeeOther, "https://evil.example": http.StatusForbidden, "null": http.StatusForbidden} {
		r := httptest.NewRequest(http.MethodPost, "/theme", strings.NewReader("theme=dark"))
		r.Host = "gateway.example"
		r.Header.Set("Origin", origin)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		if handler.ServeHTTP(w, r); w.Code != want {
			t.Errorf("a form from %s: got %d, want %d", origin, w.Code, want)
		}
	}
}
