package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/config"
	"weir/internal/must"
	"weir/internal/people"
)

// issuer is an authorization server that consents at once.
type issuer struct {
	url, resource string

	mu       sync.Mutex
	codes    map[string]url.Values // of the request, by code
	tokens   map[string]string     // access token: the person's mark
	refresh  map[string]string
	renewals int
	expires  int    // seconds
	wrong    string // an issuer to name in answers in place of its own
	asks     string // the address that asks people in place of its own
	back     any    // addresses for answers of the registered client
	serial   int
	scopes   map[string]string // by access token
	wants    string            // scope that calls of tools need; empty for none
	kind     any               // application_type of the registered client
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return serveIssuer(mux, server.URL)
}

// serveIssuer serves an authorization server at an address.
func serveIssuer(mux *http.ServeMux, address string) *issuer {
	i := &issuer{url: address, codes: map[string]url.Values{}, tokens: map[string]string{}, refresh: map[string]string{}, expires: 3600, scopes: map[string]string{}}
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		answerJSON(w, map[string]any{
			"issuer": i.url, "authorization_endpoint": cmp.Or(i.asks, i.url+"/authorize"), "token_endpoint": i.url + "/token", "registration_endpoint": i.url + "/register", "revocation_endpoint": i.url + "/revoke",
			"scopes_supported": []string{"all", "write", "offline_access"}, "response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"}, "authorization_response_iss_parameter_supported": true,
		})
	})
	mux.HandleFunc("POST /register", func(w http.ResponseWriter, r *http.Request) {
		var m map[string]any
		_ = json.NewDecoder(r.Body).Decode(&m)
		m["client_id"], i.back, i.kind = "client-1", m["redirect_uris"], m["application_type"]
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(m)
	})
	mux.HandleFunc("GET /authorize", i.authorize)
	mux.HandleFunc("POST /token", i.token)
	mux.HandleFunc("POST /revoke", func(w http.ResponseWriter, r *http.Request) {
		i.mu.Lock()
		defer i.mu.Unlock()
		if r.PostFormValue("client_id") != "client-1" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		delete(i.refresh, r.PostFormValue("token"))
	})
	return i
}

func answerJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func (i *issuer) authorize(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	q, code := r.URL.Query(), rand.Text()
	if back, ok := i.back.([]any); !ok || len(back) != 1 || back[0] != q.Get("redirect_uri") {
		http.Error(w, "the redirect_uri is not registered", http.StatusBadRequest)
		return
	}
	i.codes[code] = q
	iss := i.url
	if i.wrong != "" {
		iss = i.wrong
	}
	back := url.Values{"code": {code}, "state": q["state"], "iss": {iss}}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

func (i *issuer) token(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	mark, scope := "", ""
	switch r.PostFormValue("grant_type") {
	case "authorization_code":
		asked := i.codes[r.PostFormValue("code")]
		delete(i.codes, r.PostFormValue("code"))
		sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
		if asked == nil || base64.RawURLEncoding.EncodeToString(sum[:]) != asked.Get("code_challenge") || r.PostFormValue("redirect_uri") != asked.Get("redirect_uri") {
			break
		}
		i.serial++
		scope = asked.Get("scope")
		mark = fmt.Sprintf("person-%d", i.serial)
	case "refresh_token":
		old := r.PostFormValue("refresh_token")
		mark = i.refresh[old]
		delete(i.refresh, old)
		i.renewals++
	}
	if mark == "" || r.PostFormValue("resource") != i.resource || r.PostFormValue("client_id") != "client-1" {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"error":"invalid_grant"}`))
		return
	}
	access, refresh := rand.Text(), rand.Text()
	i.tokens[access], i.refresh[refresh], i.scopes[access] = mark, mark, scope
	answerJSON(w, map[string]any{"access_token": access, "token_type": "Bearer", "expires_in": i.expires, "refresh_token": refresh})
}

// newProtected returns the address of the SDK's server, which accepts the issuer's tokens only and has the tool whoami.
func newProtected(t *testing.T, i *issuer) string {
	t.Helper()
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	i.resource = server.URL + "/mcp"
	description := server.URL + "/.well-known/oauth-protected-resource/mcp"
	serveProtected(mux, i, description)
	mux.Handle("/.well-known/oauth-protected-resource/mcp", i.description())
	return i.resource
}

// description describes the server of the issuer's resource.
func (i *issuer) description() http.Handler {
	return auth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{
		Resource: i.resource, AuthorizationServers: []string{i.url}, ScopesSupported: []string{"all"},
	})
}

// serveProtected serves the tool whoami at /mcp for the issuer's tokens. Refusals name the address of a description.
func serveProtected(mux *http.ServeMux, i *issuer, description string) {
	s := mcp.NewServer(&mcp.Implementation{Name: "peer", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "whoami", Description: "Says who asks."}, func(_ context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: r.Extra.TokenInfo.UserID}}}, nil, nil
	})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true})
	verify := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		i.mu.Lock()
		defer i.mu.Unlock()
		mark, ok := i.tokens[token]
		if !ok {
			return nil, auth.ErrInvalidToken
		}
		return &auth.TokenInfo{UserID: mark, Expiration: time.Now().Add(time.Hour), Scopes: strings.Fields(i.scopes[token])}, nil
	}
	mux.Handle("/mcp", auth.RequireBearerToken(verify, &auth.RequireBearerTokenOptions{ResourceMetadataURL: description})(
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			granted := auth.TokenInfoFromContext(r.Context()).Scopes
			if r.Header.Get("Mcp-Method") == "tools/call" && i.wants != "" && !slices.Contains(granted, i.wants) {
				w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+i.wants+`", resource_metadata="`+description+`"`)
				w.WriteHeader(http.StatusForbidden)
				return
			}
			handler.ServeHTTP(w, r)
		})))
}

// newConnected returns a gateway before the SDK's server, which needs tokens of the issuer for each person.
func newConnected(t *testing.T, mode string) (*oauthFixture, *issuer) {
	t.Helper()
	i := newIssuer(t)
	peer := config.MCPServer{URL: newProtected(t, i), AllowPrivate: true, OAuth: mode, Tools: []string{"*"}}
	return newOAuthGateway(t, map[string]config.MCPServer{"peer": peer}), i
}

// newOAuthGateway returns a gateway with a public address before the servers.
func newOAuthGateway(t *testing.T, servers map[string]config.MCPServer) *oauthFixture {
	t.Helper()
	var handler http.Handler
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	t.Cleanup(server.Close)
	g := newChanged(t, slog.New(slog.DiscardHandler), func(o *Options) {
		o.Config.PublicURL, o.Config.MCPServers = server.URL, servers
	})
	handler = g.site.handler()
	return &oauthFixture{newRoles(t, g), server.URL}
}

// begin begins a connection as a person does in a browser, and returns the address of the answer and the cookies.
func (f *oauthFixture) begin(t *testing.T, who, of string) (answer string, cookies []*http.Cookie) {
	t.Helper()
	response, _ := f.send(t, who, http.MethodGet, f.url+"/connections/peer/start?for="+of, nil)
	if response.StatusCode != http.StatusSeeOther {
		t.Fatalf("begin as %s for %s: got %d", who, of, response.StatusCode)
	}
	consented, _ := f.send(t, "", http.MethodGet, response.Header.Get("Location"), nil)
	return consented.Header.Get("Location"), response.Cookies()
}

// finish follows an answer with the session of a person, and returns the status and where it leads.
func (f *oauthFixture) finish(t *testing.T, who, answer string, cookies []*http.Cookie) (int, string) {
	t.Helper()
	r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, answer, http.NoBody))(t)
	f.signIn(r, f.sessions[who])
	for _, c := range cookies {
		r.AddCookie(c)
	}
	response := must.Get(http.DefaultTransport.RoundTrip(r))(t)
	must.Do(t, response.Body.Close())
	return response.StatusCode, response.Header.Get("Location")
}

func (f *oauthFixture) connect(t *testing.T, who, of string) {
	t.Helper()
	answer, cookies := f.begin(t, who, of)
	if status, to := f.finish(t, who, answer, cookies); status != http.StatusSeeOther || !strings.HasSuffix(to, "done=connected") {
		t.Fatalf("connect as %s for %s: got %d to %q", who, of, status, to)
	}
}

// keyOf creates a key of a person; of nobody without a name.
func (f *oauthFixture) keyOf(t *testing.T, who string) string {
	t.Helper()
	o := account.KeyOptions{Account: roleAccount, Label: "agent", Permissions: []account.Permission{account.Tools}}
	if who != "" {
		o.Creator = must.Get(f.admin.People.User(t.Context(), person(who).Email))(t).ID
	}
	_, token, err := f.admin.Accounts.CreateKey(t.Context(), audit.Gateway(), o)
	must.Do(t, err)
	return token.Reveal()
}

// whoami calls the tool with a key.
func (f *oauthFixture) whoami(t *testing.T, key string) string {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session := must.Get(client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: f.url + "/mcp", HTTPClient: &http.Client{Transport: credential{"Authorization", "Bearer " + key}}, MaxRetries: -1,
	}, nil))(t)
	defer func() { _ = session.Close() }()
	text, _ := callTool(t, session, "peer__whoami", nil)
	return text
}

// TestConnectionsOfPersons checks that each key calls a server with the access of its person, that a key without one
// gets the address to visit, and that a connection ends with its person.
func TestConnectionsOfPersons(t *testing.T) {
	t.Parallel()
	f, i := newConnected(t, "person")
	f.connect(t, "operator", "all") // for lists
	member, owner := f.keyOf(t, "member"), f.keyOf(t, "owner")
	if got := f.whoami(t, member); !strings.Contains(got, "not connected") || !strings.Contains(got, f.url+"/connections#peer") {
		t.Errorf("before: got %q, want the address to connect", got)
	}
	f.connect(t, "member", "me")
	f.connect(t, "owner", "me")
	for key, want := range map[string]string{member: "person-2", owner: "person-3", f.keyOf(t, ""): "belongs to none"} {
		if got := f.whoami(t, key); !strings.Contains(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	// One node renews a token for all requests, and a rotated refresh token is used once.
	i.mu.Lock()
	i.tokens = map[string]string{}
	i.mu.Unlock()
	var running sync.WaitGroup
	for range 8 {
		running.Go(func() {
			if got := f.whoami(t, member); got != "person-2" {
				t.Errorf("after the server has forgotten the token: got %q", got)
			}
		})
	}
	running.Wait()
	if i.renewals != 1 {
		t.Errorf("got %d renewals, want one", i.renewals)
	}
	elsewhere := must.Get(f.admin.People.User(t.Context(), person("owner").Email))(t).ID
	acme := must.Get(f.admin.Accounts.Account(t.Context(), roleAccount))(t)
	must.Do(t, f.admin.People.SetRole(t.Context(), audit.Gateway(), acme.ID, elsewhere, people.Viewer))
	f.admin.Connections.Service.Forget("peer", elsewhere)
	if got := f.whoami(t, owner); !strings.Contains(got, "not connected") {
		t.Errorf("with the key of a person who may not use the account any more: got %q, want no access", got)
	}
	id := must.Get(f.admin.People.User(t.Context(), person("member").Email))(t).ID
	must.Do(t, f.admin.People.RemoveUser(t.Context(), audit.Gateway(), id))
	f.admin.Connections.Service.Forget("peer", id)
	if got := f.whoami(t, member); !strings.Contains(got, "not connected") {
		t.Errorf("after the person has left: got %q, want no access", got)
	}
}

// TestConnectionOfInstallation checks that only operators connect the installation, and that all keys use it then.
func TestConnectionOfInstallation(t *testing.T) {
	t.Parallel()
	f, i := newConnected(t, "installation")
	for _, who := range []string{"member", "owner", "viewer"} {
		for _, of := range []string{"all", "me"} {
			if response, _ := f.send(t, who, http.MethodGet, f.url+"/connections/peer/start?for="+of, nil); response.StatusCode != http.StatusForbidden {
				t.Errorf("%s for %s: got %d, want 403", who, of, response.StatusCode)
			}
		}
	}
	f.connect(t, "operator", "all")
	if got := f.whoami(t, f.keyOf(t, "")); got != "person-1" {
		t.Errorf("got %q, want the installation's access", got)
	}
	if _, page := f.send(t, "operator", http.MethodGet, f.url+"/connections", nil); !strings.Contains(page, "Connected") || !strings.Contains(page, "peer") {
		t.Errorf("got the page %s", page)
	}
	if response, _ := f.send(t, "member", http.MethodPost, f.url+"/connections/peer/remove?for=all", nil); response.StatusCode != http.StatusForbidden {
		t.Errorf("a member disconnects: got %d, want 403", response.StatusCode)
	}
	if response, _ := f.send(t, "operator", http.MethodPost, f.url+"/connections/peer/remove?for=all", nil); response.StatusCode != http.StatusSeeOther {
		t.Errorf("the operator disconnects: got %d", response.StatusCode)
	}
	if len(i.refresh) > 0 {
		t.Errorf("after that: got the refresh tokens %v, want none: they are revoked", i.refresh)
	}
	if got := f.whoami(t, f.keyOf(t, "")); !strings.Contains(got, "Nobody has connected") {
		t.Errorf("after that: got %q, want no access", got)
	}
	entries := must.Get(f.admin.Audit.Entries(t.Context(), audit.Query{Action: "connection.", Limit: 9}))(t)
	if len(entries) != 2 || strings.Contains(fmt.Sprint(entries), "access_token") {
		t.Errorf("got the audit entries %v, want two without a token", entries)
	}
}

// TestConnectionAnswersAreForged checks that no answer connects a person which they have not begun in their browser, or
// which another authorization server sends.
func TestConnectionAnswersAreForged(t *testing.T) {
	t.Parallel()
	f, i := newConnected(t, "person")
	answer, cookies := f.begin(t, "member", "me")
	other, _ := f.begin(t, "owner", "me")
	u := must.Get(url.Parse(answer))(t)
	noIss := u.Query()
	noIss.Del("iss")
	for name, test := range map[string]struct {
		who, answer string
		cookies     []*http.Cookie
	}{
		"another person":  {"owner", answer, cookies},
		"without a begin": {"member", answer, nil},
		"another's code":  {"member", other, cookies},
		"another server":  {"member", strings.Replace(answer, "/connections/peer/", "/connections/other/", 1), cookies},
		"no issuer":       {"member", f.url + "/connections/peer/callback?" + noIss.Encode(), cookies},
		"an error":        {"member", f.url + "/connections/peer/callback?error=access_denied&iss=" + url.QueryEscape(i.url) + "&state=" + u.Query().Get("state"), cookies},
	} {
		if status, to := f.finish(t, test.who, test.answer, test.cookies); status < 400 {
			t.Errorf("%s: got %d to %q, want a refusal", name, status, to)
		}
	}
	i.wrong = "https://evil.example"
	mixed, cookies := f.begin(t, "member", "me")
	asked := len(i.codes)
	if status, _ := f.finish(t, "member", mixed, cookies); status < 400 || len(i.codes) != asked {
		t.Errorf("another issuer: got %d, want a refusal before the code is used", status)
	}
	i.wrong = ""
	if rows := must.Get(f.store.Connections.List(t.Context(), must.Get(f.admin.People.User(t.Context(), person("member").Email))(t).ID))(t); len(rows) > 0 {
		t.Errorf("got the connections %v, want none", rows)
	}
}

// TestConnectionOfHostileServer checks that a server whose metadata leads people to the authorization server of another
// gets no code of it: neither with endpoints at two sites, nor from an issuer that an operator has configured.
func TestConnectionOfHostileServer(t *testing.T) {
	t.Parallel()
	honest, hostile := newIssuer(t), newIssuer(t)
	peer := config.MCPServer{URL: newProtected(t, honest), AllowPrivate: true, OAuth: "person", Tools: []string{"*"}}
	evil := peer
	evil.URL, hostile.asks = newProtected(t, hostile), honest.url+"/authorize"
	trusted := evil
	trusted.Issuer = hostile.url
	f := newOAuthGateway(t, map[string]config.MCPServer{"peer": peer, "evil": evil, "trusted": trusted})
	f.connect(t, "member", "me") // the honest server knows the gateway
	begun := func(server string) *http.Response {
		response, page := f.send(t, "member", http.MethodGet, f.url+"/connections/"+server+"/start?for=me", nil)
		if to := response.Header.Get("Location"); to == "" && !strings.Contains(page, "set issuer") {
			t.Errorf("%s: got %d: %s; want a way to permit it", server, response.StatusCode, page)
		}
		return response
	}
	if response := begun("evil"); response.StatusCode < 400 {
		t.Errorf("endpoints at two sites: got %d to %q, want a refusal", response.StatusCode, response.Header.Get("Location"))
	}
	response := begun("trusted")
	if response.StatusCode != http.StatusSeeOther {
		t.Fatalf("with the issuer in the configuration: got %d, want the way to it", response.StatusCode)
	}
	consented, _ := f.send(t, "", http.MethodGet, response.Header.Get("Location"), nil)
	if consented.StatusCode != http.StatusBadRequest || len(honest.codes) > 0 {
		t.Errorf("at the other's authorization server: got %d to %q, want that it does not know the address",
			consented.StatusCode, consented.Header.Get("Location"))
	}
}
