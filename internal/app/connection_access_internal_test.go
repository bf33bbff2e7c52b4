package app

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"weir/internal/config"
	"weir/internal/must"
)

// TestPersonGivesAccessThatServerWantsLater calls a tool that needs a scope for which the person was not asked. It
// checks that the call names it, and that the next connection is for both scopes.
func TestPersonGivesAccessThatServerWantsLater(t *testing.T) {
	t.Parallel()
	for mode, who := range map[string]string{"person": "member", "installation": "operator"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			f, i := newConnected(t, mode)
			f.connect(t, "operator", "all") // for lists
			of, key := "all", f.keyOf(t, "member")
			if mode == "person" {
				of = "me"
				f.connect(t, who, of)
			}
			i.wants = "write"
			want := map[string]string{"person": "Connect at " + f.url + "/connections#peer", "installation": "weir mcp connect peer"}[mode]
			if got := f.whoami(t, key); !strings.Contains(got, "wants more access for this: write") || !strings.Contains(got, want) {
				t.Errorf("got %q, want the scope and %q", got, want)
			}
			f.connect(t, who, of)
			if got := f.whoami(t, key); !strings.HasPrefix(got, "person-") {
				t.Errorf("after another connection: got %q, want the result", got)
			}
			i.mu.Lock()
			defer i.mu.Unlock()
			for token, mark := range i.tokens {
				if first := mark == "person-1" || mark == "person-2" && mode == "person"; first != (i.scopes[token] == "all offline_access") {
					t.Errorf("%s: got the scopes %q", mark, i.scopes[token])
				}
			}
			if i.kind != "native" {
				t.Errorf("got the kind %v of client, want native: the answers arrive at http", i.kind)
			}
		})
	}
}

// TestServerWantsScopeThatPersonHasGiven checks that nobody is asked to connect again for a scope of the connection.
func TestServerWantsScopeThatPersonHasGiven(t *testing.T) {
	t.Parallel()
	f, i := newConnected(t, "installation")
	f.connect(t, "operator", "all")
	i.wants = "all"
	i.mu.Lock()
	clear(i.scopes)
	i.mu.Unlock()
	if got := f.whoami(t, f.keyOf(t, "member")); !strings.Contains(got, "refuses Weir's credentials") {
		t.Errorf("got %q, want the refusal of the server", got)
	}
}

// TestOperatorLimitsScopes checks that no server extends the scopes in the configuration.
func TestOperatorLimitsScopes(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	peer := config.MCPServer{URL: newProtected(t, i), AllowPrivate: true, OAuth: "installation", Tools: []string{"*"}, Scopes: []string{"all"}}
	f := newOAuthGateway(t, map[string]config.MCPServer{"peer": peer})
	i.wants = "write"
	key := f.keyOf(t, "member")
	for range 2 {
		f.connect(t, "operator", "all")
		if got := f.whoami(t, key); !strings.Contains(got, "wants more access for this: write") || !strings.Contains(got, "add this to scopes") {
			t.Errorf("got %q, want the setting to change", got)
		}
	}
	for token, scopes := range i.scopes {
		if scopes != "all" {
			t.Errorf("token %s: got the scopes %q, want the configured one", token[:4], scopes)
		}
	}
}

// TestServerOfOriginConnects connects to a server with a description for the whole origin, and to one without any, as in
// revision 2025-03-26.
func TestServerOfOriginConnects(t *testing.T) {
	t.Parallel()
	for name, describe := range map[string]func(mux *http.ServeMux, i *issuer){
		"origin": func(mux *http.ServeMux, i *issuer) {
			i.resource = i.url
			mux.Handle("/.well-known/oauth-protected-resource", i.description())
		},
		"none": func(*http.ServeMux, *issuer) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mux := http.NewServeMux()
			server := httptest.NewServer(mux)
			t.Cleanup(server.Close)
			i := serveIssuer(mux, server.URL)
			i.resource = server.URL + "/mcp"
			describe(mux, i)
			serveProtected(mux, i, "")
			peer := config.MCPServer{URL: server.URL + "/mcp", AllowPrivate: true, OAuth: "installation", Tools: []string{"*"}}
			f := newOAuthGateway(t, map[string]config.MCPServer{"peer": peer})
			f.connect(t, "operator", "all")
			if got := f.whoami(t, f.keyOf(t, "member")); got != "person-1" {
				t.Errorf("got %q, want the installation's access", got)
			}
		})
	}
}

// TestServerClaimsOrigin checks that a server at a path gets no token for the whole origin by a description of its own.
func TestServerClaimsOrigin(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	i.resource = server.URL
	serveProtected(mux, i, server.URL+"/mcp/description")
	mux.Handle("/mcp/description", auth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{
		Resource: server.URL, AuthorizationServers: []string{i.url},
	}))
	peer := config.MCPServer{URL: server.URL + "/mcp", AllowPrivate: true, OAuth: "installation", Tools: []string{"*"}}
	f := newOAuthGateway(t, map[string]config.MCPServer{"peer": peer})
	response, page := f.send(t, "operator", http.MethodGet, f.url+"/connections/peer/start?for=all", nil)
	must.Equal(t, response.Header.Get("Location"), "", "the way to the authorization server")
	if !strings.Contains(page, "no description of its protection") {
		t.Errorf("got %d: %s", response.StatusCode, page)
	}
}
