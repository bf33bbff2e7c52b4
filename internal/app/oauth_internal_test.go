package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/config"
	"weir/internal/must"
	"weir/internal/oauth"
	"weir/internal/people"
)

const (
	agentID  = "https://programs.example/agent.json"
	agentTo  = "http://localhost:7777/callback"
	agentDoc = `{"client_id": "` + agentID + `", "client_name": "Agent", "redirect_uris": ["http://localhost/callback"],
		"token_endpoint_auth_method": "none"}`
)

// documentsOf answers requests for the descriptions of programs.
type documentsOf map[string]string

func (d documentsOf) RoundTrip(r *http.Request) (*http.Response, error) {
	text, ok := d[r.URL.String()]
	if !ok {
		return nil, errors.New("no such host")
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
		Body: io.NopCloser(strings.NewReader(text)),
	}, nil
}

// oauthFixture is a gateway with a public address at which it listens, and people in the account acme.
type oauthFixture struct {
	*roleFixture
	url string
}

func newOAuthFixture(t *testing.T) *oauthFixture {
	t.Helper()
	var handler http.Handler
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	t.Cleanup(server.Close)
	g := newChanged(t, slog.New(slog.DiscardHandler), func(o *Options) {
		o.Config.PublicURL, o.OAuth = server.URL, documentsOf{agentID: agentDoc}
	})
	handler = g.site.handler()
	return &oauthFixture{newRoles(t, g), server.URL}
}

// send sends a request with the session of a person; redirects are not followed.
func (f *oauthFixture) send(t *testing.T, who, method, address string, form url.Values) (*http.Response, string) {
	t.Helper()
	r := must.Get(http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(form.Encode())))(t)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if who != "" {
		f.signIn(r, f.sessions[who])
	}
	response := must.Get(http.DefaultTransport.RoundTrip(r))(t)
	text := must.Get(io.ReadAll(response.Body))(t)
	must.Do(t, response.Body.Close())
	return response, string(text)
}

var queryField = regexp.MustCompile(`name="account"[\s\S]*?<option value="([^"]+)"`)

// consent answers a program's request as a person does in a browser, and returns where the answer leads.
func (f *oauthFixture) consent(t *testing.T, who, address, answer string) *url.URL {
	t.Helper()
	response, page := f.send(t, who, http.MethodGet, address, nil)
	option := queryField.FindStringSubmatch(page)
	if response.StatusCode != http.StatusOK || option == nil {
		t.Fatalf("GET %s as %s: got %d: %s", address, who, response.StatusCode, page)
	}
	_, query, _ := strings.Cut(address, "?")
	response, page = f.send(t, who, http.MethodPost, f.url+oauth.AuthorizePath, url.Values{"query": {query}, "account": {option[1]}, "answer": {answer}})
	if response.StatusCode != http.StatusSeeOther {
		t.Fatalf("POST as %s: got %d: %s", who, response.StatusCode, page)
	}
	return must.Get(response.Location())(t)
}

// agent returns the SDK's authorization of a program for a person.
func (f *oauthFixture) agent(t *testing.T, who string, c *auth.AuthorizationCodeHandlerConfig) *auth.AuthorizationCodeHandler {
	t.Helper()
	c.RedirectURL = agentTo
	c.AuthorizationCodeFetcher = func(_ context.Context, a *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
		q := f.consent(t, who, a.URL, "allow").Query()
		if q.Get("code") == "" {
			return nil, fmt.Errorf("got no code: %v", q)
		}
		return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
	}
	return must.Get(auth.NewAuthorizationCodeHandler(c))(t)
}

// TestOAuthBySDK checks that the official SDK finds the authorization server by a refused request, authorizes by a
// person's consent, and uses the tools with a key of the account, which ends with the person's membership.
func TestOAuthBySDK(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]*auth.AuthorizationCodeHandlerConfig{
		"document": {ClientIDMetadataDocumentConfig: &auth.ClientIDMetadataDocumentConfig{URL: agentID}},
		"registration": {DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: "Agent", RedirectURIs: []string{agentTo},
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newOAuthFixture(t)
			client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
			session := must.Get(client.Connect(t.Context(), &mcp.StreamableClientTransport{
				Endpoint: f.url + "/mcp", OAuthHandler: f.agent(t, "member", c), MaxRetries: -1,
			}, nil))(t)
			t.Cleanup(func() { _ = session.Close() })
			if _, err := session.ListTools(t.Context(), nil); err != nil {
				t.Fatalf("list: %v", err)
			}
			k := f.programKey(t)
			if k.Label != "Agent" || !slices.Equal(k.Permissions, []account.Permission{account.Tools}) || k.Resource != "/mcp" || k.Creator == "" || k.Expires == nil {
				t.Errorf("got the key %+v, want a person's key for tools at /mcp that expires", k)
			}
			must.Do(t, f.admin.People.RemoveMember(t.Context(), audit.Gateway(), k.AccountID, k.Creator))
			if k := must.Get(f.admin.Accounts.Key(t.Context(), k.ID))(t); k.Revoked == nil {
				t.Error("the key is valid after the person has left, want it revoked")
			}
		})
	}
}

// programKey returns the newest key of a program in the account.
func (f *oauthFixture) programKey(t *testing.T) *account.Key {
	t.Helper()
	all := must.Get(f.admin.Accounts.Keys(t.Context(), roleAccount))(t)
	for _, k := range slices.Backward(all) {
		if k.Client != "" {
			return &k
		}
	}
	t.Fatal("there is no key of a program")
	return nil
}

// verifier and its challenge are those of RFC 7636, appendix B.
const verifier, challenge = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"

// asked returns the address of a valid request, changed by pairs of parameters; an empty value removes one.
func (f *oauthFixture) asked(pairs ...string) string {
	q := url.Values{
		"response_type": {"code"}, "client_id": {agentID}, "redirect_uri": {agentTo}, "code_challenge": {challenge},
		"code_challenge_method": {"S256"}, "state": {"s1"}, "scope": {"tools"}, "resource": {f.url + "/mcp"},
	}
	for i := 0; i < len(pairs); i += 2 {
		if q.Set(pairs[i], pairs[i+1]); pairs[i+1] == "" {
			q.Del(pairs[i])
		}
	}
	return f.url + oauth.AuthorizePath + "?" + q.Encode()
}

// tokens sends a request for tokens, changed by pairs of parameters, and returns the status and the answer.
func (f *oauthFixture) tokens(t *testing.T, pairs ...string) (int, map[string]any) {
	t.Helper()
	q := url.Values{"client_id": {agentID}}
	for i := 0; i < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
	}
	response, text := f.send(t, "", http.MethodPost, f.url+oauth.TokenPath, q)
	var answer map[string]any
	must.Do(t, json.Unmarshal([]byte(text), &answer))
	return response.StatusCode, answer
}

// code returns a code for a person.
func (f *oauthFixture) code(t *testing.T, who string) string {
	t.Helper()
	return f.consent(t, who, f.asked(), "allow").Query().Get("code")
}

// exchange exchanges a code for tokens.
func (f *oauthFixture) exchange(t *testing.T, code string, pairs ...string) (int, map[string]any) {
	t.Helper()
	return f.tokens(t, append([]string{"grant_type", "authorization_code", "code", code, "code_verifier", verifier, "redirect_uri", agentTo, "resource", f.url + "/mcp"}, pairs...)...)
}

// reach returns the status of a request for tools with a token.
func (f *oauthFixture) reach(t *testing.T, path, token string) int {
	t.Helper()
	r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, f.url+path, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)))(t)
	r.Header.Set("Authorization", "Bearer "+token)
	response := must.Get(http.DefaultTransport.RoundTrip(r))(t)
	must.Do(t, response.Body.Close())
	return response.StatusCode
}

// TestOAuthRefusesForgedRequests checks that a request whose program or address is not certain gets a page and no
// redirect, also not by a valid session, and that another error is shown before anything leads to the program.
func TestOAuthRefusesForgedRequests(t *testing.T) {
	t.Parallel()
	f := newOAuthFixture(t)
	for name, test := range map[string]struct {
		pairs []string
		says  string
	}{
		"another address":      {[]string{"redirect_uri", "https://evil.example/callback"}, "none of those"},
		"another path":         {[]string{"redirect_uri", "http://localhost:7777/other"}, "none of those"},
		"another name":         {[]string{"redirect_uri", "http://127.0.0.1:7777/callback"}, "none of those"},
		"a password":           {[]string{"redirect_uri", "http://a:b@localhost:7777/callback"}, "none of those"},
		"a suffix":             {[]string{"redirect_uri", "http://localhost.evil.example/callback"}, "none of those"},
		"a fragment":           {[]string{"redirect_uri", "http://localhost/callback#x"}, "none of those"},
		"no verifier":          {[]string{"code_challenge", ""}, "PKCE"},
		"a plain verifier":     {[]string{"code_challenge_method", "plain"}, "PKCE"},
		"another resource":     {[]string{"resource", "https://other.example/mcp"}, "resource must be"},
		"a neighbour":          {[]string{"resource", f.url + "/mcp/../admin"}, "resource must be"},
		"the administration":   {[]string{"resource", f.url + "/admin/mcp"}, "resource must be"},
		"an implicit flow":     {[]string{"response_type", "token"}, "response_type"},
		"another scope":        {[]string{"scope", "chat"}, "scope"},
		"an unknown program":   {[]string{"client_id", "https://nobody.example/agent.json"}, "cannot be used"},
		"a private program":    {[]string{"client_id", "https://127.0.0.1/agent.json"}, "not on the public internet"},
		"metadata of a cloud":  {[]string{"client_id", "https://169.254.169.254/agent.json"}, "not on the public internet"},
		"a program over http":  {[]string{"client_id", "http://programs.example/agent.json"}, "client_id"},
		"a program's root":     {[]string{"client_id", "https://programs.example/"}, "client_id"},
		"a made up program":    {[]string{"client_id", "v1.0123456789abcdef.AAAA.AAAA"}, "expired or is unknown"},
		"no program":           {[]string{"client_id", ""}, "client_id"},
		"a program of another": {[]string{"client_id", "https://programs.example/other.json"}, "cannot be used"},
	} {
		response, page := f.send(t, "member", http.MethodGet, f.asked(test.pairs...), nil)
		if response.StatusCode < 400 || !strings.Contains(page, test.says) || response.Header.Get("Location") != "" {
			t.Errorf("%s: got %d, to %q: %s; want a page with %q", name, response.StatusCode, response.Header.Get("Location"), page, test.says)
		}
		_, query, _ := strings.Cut(f.asked(test.pairs...), "?")
		response, _ = f.send(t, "member", http.MethodPost, f.url+oauth.AuthorizePath, url.Values{"query": {query}, "account": {"x"}, "answer": {"allow"}})
		if response.StatusCode < 400 {
			t.Errorf("%s, sent: got %d", name, response.StatusCode)
		}
	}
	if response, _ := f.send(t, "member", http.MethodGet, f.asked()+"&state=s2", nil); response.StatusCode != http.StatusBadRequest {
		t.Errorf("a parameter twice: got %d, want 400", response.StatusCode)
	}
	_, query, _ := strings.Cut(f.asked("scope", "chat"), "?")
	response, _ := f.send(t, "member", http.MethodPost, f.url+oauth.AuthorizePath, url.Values{"query": {query}, "answer": {"back"}})
	if to := response.Header.Get("Location"); !strings.HasPrefix(to, agentTo+"?error=invalid_scope") {
		t.Errorf("back to the program: got %q", to)
	}
	if all := must.Get(f.admin.Accounts.Keys(t.Context(), roleAccount))(t); slices.ContainsFunc(all, func(k account.Key) bool { return k.Client != "" }) {
		t.Error("a program has a key, want none")
	}
}

// TestOAuthAsksThePerson checks that only members who may use the account can allow, on this site, and that the answers
// name the issuer and the state.
func TestOAuthAsksThePerson(t *testing.T) {
	t.Parallel()
	f := newOAuthFixture(t)
	if response, _ := f.send(t, "", http.MethodGet, f.asked(), nil); response.StatusCode != http.StatusSeeOther || !strings.HasPrefix(response.Header.Get("Location"), "/sign-in?next=%2Foauth%2Fauthorize") {
		t.Errorf("without a session: got %d to %q, want the page to sign in", response.StatusCode, response.Header.Get("Location"))
	}
	for _, who := range []string{"viewer", "removed"} {
		if _, page := f.send(t, who, http.MethodGet, f.asked(), nil); strings.Contains(page, `value="allow"`) || !strings.Contains(page, "not only a viewer") {
			t.Errorf("%s: got %s, want no way to allow", who, page)
		}
	}
	_, query, _ := strings.Cut(f.asked(), "?")
	acme := must.Get(f.admin.Accounts.Account(t.Context(), roleAccount))(t)
	allow := url.Values{"query": {query}, "account": {acme.ID}, "answer": {"allow"}}
	for _, who := range []string{"viewer", "removed", "owner of another account", "operator"} {
		if response, _ := f.send(t, who, http.MethodPost, f.url+oauth.AuthorizePath, allow); response.StatusCode < 400 {
			t.Errorf("%s allowed: got %d, want a refusal", who, response.StatusCode)
		}
	}
	r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, f.url+oauth.AuthorizePath, strings.NewReader(allow.Encode())))(t)
	r.Header = http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Origin": {"https://evil.example"}, "Sec-Fetch-Site": {"cross-site"}}
	f.signIn(r, f.sessions["member"])
	response := must.Get(http.DefaultTransport.RoundTrip(r))(t)
	must.Do(t, response.Body.Close())
	if response.StatusCode != http.StatusForbidden && response.StatusCode != http.StatusSeeOther || strings.Contains(response.Header.Get("Location"), "code=") {
		t.Errorf("from another site: got %d to %q, want a refusal", response.StatusCode, response.Header.Get("Location"))
	}
	to := f.consent(t, "member", f.asked(), "deny")
	if q := to.Query(); !strings.HasPrefix(to.String(), agentTo+"?") || q.Get("error") != "access_denied" || q.Get("state") != "s1" || q.Get("iss") != f.url || q.Has("code") {
		t.Errorf("refused: got %s", to)
	}
	response, page := f.send(t, "member", http.MethodGet, f.asked(), nil)
	if policy := response.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "form-action 'self' http://localhost:7777;") || !strings.Contains(policy, "frame-ancestors 'none'") || !strings.Contains(page, "programs.example") {
		t.Errorf("got the policy %q, and the page %s", policy, page)
	}
	to = f.consent(t, "owner", f.asked(), "allow")
	if q := to.Query(); q.Get("code") == "" || q.Get("state") != "s1" || q.Get("iss") != f.url {
		t.Errorf("allowed: got %s", to)
	}
}

// TestOAuthCodesAreForTheirProgramOnce checks what a thief of a code can do with it: nothing. A code that comes twice
// ends the access.
func TestOAuthCodesAreForTheirProgramOnce(t *testing.T) {
	t.Parallel()
	f := newOAuthFixture(t)
	code := f.code(t, "member")
	for name, pairs := range map[string][]string{
		"no verifier":      {"code_verifier", ""},
		"another verifier": {"code_verifier", strings.Repeat("x", 43)},
		"the challenge":    {"code_verifier", challenge},
		"another program":  {"client_id", "https://programs.example/other.json"},
		"another address":  {"redirect_uri", "http://localhost:7778/callback"},
		"another resource": {"resource", f.url + "/mcp/review"},
		"no program":       {"client_id", ""},
		"another code":     {"code", "x"},
		"another type":     {"grant_type", "password"},
		"as a refresh":     {"grant_type", "refresh_token", "refresh_token", code + ".x"},
	} {
		if status, got := f.exchange(t, code, pairs...); status < 400 || got["access_token"] != nil {
			t.Errorf("%s: got %d %v, want a refusal", name, status, got)
		}
	}
	status, first := f.exchange(t, code)
	if status != http.StatusOK || first["token_type"] != "Bearer" || first["scope"] != "tools" {
		t.Fatalf("the program: got %d %v, want tokens", status, first)
	}
	token := first["access_token"].(string)
	for path, want := range map[string]int{
		"/mcp": http.StatusOK, "/mcp/review": http.StatusUnauthorized, "/v1/chat/completions": http.StatusForbidden,
	} {
		if got := f.reach(t, path, token); got != want {
			t.Errorf("%s with the token: got %d, want %d", path, got, want)
		}
	}
	if status, got := f.exchange(t, code); status != http.StatusBadRequest || got["error"] != "invalid_grant" {
		t.Errorf("the code again: got %d %v", status, got)
	}
	if got := f.reach(t, "/mcp", token); got != http.StatusUnauthorized {
		t.Errorf("with the token of a code that came twice: got %d, want 401", got)
	}
	if status, got := f.tokens(t, "grant_type", "refresh_token", "refresh_token", first["refresh_token"].(string)); status != http.StatusBadRequest {
		t.Errorf("its refresh token: got %d %v, want a refusal", status, got)
	}
}

// TestOAuthRefreshTokensRotate checks that each refresh token is valid once, that the key stays the same, and that a
// token that comes twice ends the access of whoever has it.
func TestOAuthRefreshTokensRotate(t *testing.T) {
	t.Parallel()
	f := newOAuthFixture(t)
	_, first := f.exchange(t, f.code(t, "member"))
	key := f.programKey(t)
	refresh := func(token any, pairs ...string) (int, map[string]any) {
		return f.tokens(t, append([]string{"grant_type", "refresh_token", "refresh_token", token.(string)}, pairs...)...)
	}
	if status, got := refresh(first["refresh_token"], "client_id", "https://programs.example/other.json"); status != http.StatusBadRequest {
		t.Errorf("another program: got %d %v, want a refusal", status, got)
	}
	status, second := refresh(first["refresh_token"])
	if status != http.StatusOK || second["access_token"] == first["access_token"] || second["refresh_token"] == first["refresh_token"] {
		t.Fatalf("got %d %v, want other tokens than %v", status, second, first)
	}
	if k := f.programKey(t); k.ID != key.ID {
		t.Errorf("got the key %s, want %s: its limits and its usage go on", k.ID, key.ID)
	}
	if got := f.reach(t, "/mcp", second["access_token"].(string)); got != http.StatusOK {
		t.Errorf("with the new token: got %d, want 200", got)
	}
	if status, got := refresh(first["refresh_token"]); status != http.StatusBadRequest || got["error"] != "invalid_grant" {
		t.Errorf("the first token again: got %d %v, want a refusal", status, got)
	}
	if status, got := refresh(second["refresh_token"]); status != http.StatusBadRequest {
		t.Errorf("the second token: got %d %v, want that its access has ended", status, got)
	}
	if got := f.reach(t, "/mcp", second["access_token"].(string)); got != http.StatusUnauthorized {
		t.Errorf("with the second access token: got %d, want 401", got)
	}
	if k := f.programKey(t); k.Revoked == nil {
		t.Error("the key is valid, want it revoked")
	}
}

// TestOAuthEndsWithThePerson checks that no refresh gives access to a person who is disabled, is only a viewer, has
// revoked the key or signed the program out.
func TestOAuthEndsWithThePerson(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*testing.T, *oauthFixture, *account.Key, map[string]any){
		"disabled": func(t *testing.T, f *oauthFixture, k *account.Key, _ map[string]any) {
			must.Do(t, f.admin.People.SetDisabled(t.Context(), audit.Gateway(), k.Creator, true))
		},
		"viewer": func(t *testing.T, f *oauthFixture, k *account.Key, _ map[string]any) {
			must.Do(t, f.admin.People.SetRole(t.Context(), audit.Gateway(), k.AccountID, k.Creator, people.Viewer))
		},
		"removed": func(t *testing.T, f *oauthFixture, k *account.Key, _ map[string]any) {
			must.Do(t, f.admin.People.RemoveUser(t.Context(), audit.Gateway(), k.Creator))
		},
		"revoked key": func(t *testing.T, f *oauthFixture, k *account.Key, _ map[string]any) {
			must.Get(f.admin.Accounts.RevokeKey(t.Context(), audit.Gateway(), k.ID))(t)
		},
		"closed account": func(t *testing.T, f *oauthFixture, k *account.Key, _ map[string]any) {
			must.Get(f.admin.Accounts.Close(t.Context(), audit.Gateway(), k.AccountID))(t)
		},
		"signed out": func(t *testing.T, f *oauthFixture, _ *account.Key, first map[string]any) {
			f.send(t, "", http.MethodPost, f.url+oauth.RevokePath, url.Values{"client_id": {agentID}, "token": {first["refresh_token"].(string)}})
		},
		"signed out by access token": func(t *testing.T, f *oauthFixture, _ *account.Key, first map[string]any) {
			f.send(t, "", http.MethodPost, f.url+oauth.RevokePath, url.Values{"client_id": {agentID}, "token": {first["access_token"].(string)}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newOAuthFixture(t)
			_, first := f.exchange(t, f.code(t, "member"))
			refresh := first["refresh_token"].(string)
			for _, token := range []string{refresh, first["access_token"].(string), "wk_", strings.Repeat("x", 10_000), "", "."} {
				other := url.Values{"client_id": {"https://programs.example/other.json"}, "token": {token}}
				if response, text := f.send(t, "", http.MethodPost, f.url+oauth.RevokePath, other); response.StatusCode != http.StatusOK {
					t.Errorf("another program revokes %.20q: got %d: %s, want 200 without effect", token, response.StatusCode, text)
				}
			}
			if got := f.reach(t, "/mcp", first["access_token"].(string)); got != http.StatusOK {
				t.Fatalf("before: got %d, want 200", got)
			}
			k := f.programKey(t)
			end(t, f, k, first)
			if k := must.Get(f.admin.Accounts.Key(t.Context(), k.ID))(t); k.Revoked == nil {
				t.Error("the key is valid, want it revoked")
			}
			if status, got := f.tokens(t, "grant_type", "refresh_token", "refresh_token", refresh); status != http.StatusBadRequest || got["error"] != "invalid_grant" {
				t.Errorf("got %d %v, want no tokens", status, got)
			}
			if strings.HasPrefix(name, "signed out") {
				must.Equal(t, f.reach(t, "/mcp", first["access_token"].(string)), http.StatusUnauthorized, "status with the access token")
			}
		})
	}
}

// TestOAuthOfBrowserPrograms checks that programs of permitted sites find and use the authorization server in a browser,
// and that no other site reads its answers, and none the page for consent.
func TestOAuthOfBrowserPrograms(t *testing.T) {
	t.Parallel()
	f := newOAuthFixture(t)
	const ours, theirs = "https://inspector.example", "https://evil.example"
	var cfg config.Config
	cfg.CORS.Origins = []string{ours}
	f.site.cors.Store(newCORS(&cfg, f.site.dialects))
	ask := func(method, path, origin, wanted string) http.Header {
		r := must.Get(http.NewRequestWithContext(t.Context(), method, f.url+path, http.NoBody))(t)
		r.Header.Set("Origin", origin)
		if method == http.MethodOptions {
			r.Header.Set("Access-Control-Request-Method", wanted)
			r.Header.Set("Access-Control-Request-Headers", "mcp-protocol-version")
		}
		f.signIn(r, f.sessions["member"])
		response := must.Get(http.DefaultTransport.RoundTrip(r))(t)
		must.Do(t, response.Body.Close())
		return response.Header
	}
	for path, method := range map[string]string{
		oauth.ServerPath: "GET", oauth.ResourcePath + "/mcp": "GET", oauth.ResourcePath + "/mcp/review": "GET",
		oauth.TokenPath: "POST", oauth.RevokePath: "POST", oauth.RegisterPath: "POST", "/mcp": "POST",
	} {
		for _, m := range []string{http.MethodOptions, method} {
			h := ask(m, path, ours, method)
			if got := h.Get("Access-Control-Allow-Origin"); got != ours {
				t.Errorf("%s %s from a permitted site: got %q, want %q", m, path, got, ours)
			}
			if got := h.Get("Access-Control-Allow-Headers"); m == http.MethodOptions && got != "mcp-protocol-version" {
				t.Errorf("%s %s: got the headers %q", m, path, got)
			}
			if got := ask(m, path, theirs, method).Get("Access-Control-Allow-Origin"); got != "" {
				t.Errorf("%s %s from another site: got %q, want nothing", m, path, got)
			}
		}
	}
	if h := ask(http.MethodPost, "/mcp", ours, ""); !strings.Contains(h.Get("Access-Control-Expose-Headers"), "WWW-Authenticate") {
		t.Errorf("a refused request for tools exposes %q, want the way to sign in", h.Get("Access-Control-Expose-Headers"))
	}
	for _, path := range []string{strings.TrimPrefix(f.asked(), f.url), oauth.AuthorizePath, oauth.TokenPath + "/", "/oauth/clients/peer", "/connections", "/sign-in", oauth.ResourcePath + "/mcp/../../oauth/authorize"} {
		for _, m := range []string{http.MethodOptions, http.MethodGet, http.MethodPost} {
			if got := ask(m, path, ours, "POST").Get("Access-Control-Allow-Origin"); got != "" {
				t.Errorf("%s %.40s from a permitted site: got %q, want nothing", m, path, got)
			}
		}
	}
}
