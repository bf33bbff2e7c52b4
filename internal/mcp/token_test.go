package mcp_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"weir/internal/llm"
	"weir/internal/mcp"
	"weir/internal/must"
)

// issuer is an OAuth server that numbers its tokens, and an MCP server that accepts one of them.
type issuer struct {
	mu       sync.Mutex
	asked    []string // bodies of requests for tokens
	given    int
	accepted int    // number of the token that is valid; 0 for the newest
	answer   string // of the OAuth server; empty for a token
	status   int
	got      []string // values of Authorization at the MCP server
	tokens   *httptest.Server
	tools    *httptest.Server
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	s := &issuer{}
	s.tokens = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		id, secret, _ := r.BasicAuth()
		_ = r.ParseForm()
		s.asked = append(s.asked, id+":"+secret+" "+r.PostForm.Encode())
		w.Header().Set("Content-Type", "application/json")
		if s.status == http.StatusFound {
			http.Redirect(w, r, "/elsewhere", s.status)
			return
		}
		if s.answer != "" {
			w.WriteHeader(s.status)
			_, _ = w.Write([]byte(s.answer))
			return
		}
		s.given++
		_, _ = fmt.Fprintf(w, `{"access_token":"t%d","token_type":"Bearer","expires_in":3600}`, s.given)
	}))
	server := sdk.NewServer(&sdk.Implementation{Name: "peer", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "sum"}, func(_ context.Context, _ *sdk.CallToolRequest, in sumInput) (*sdk.CallToolResult, any, error) {
		return nil, map[string]int{"sum": in.A + in.B}, nil
	})
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: true})
	s.tools = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		value, accepted := r.Header.Get("Authorization"), s.given
		if s.accepted > 0 {
			accepted = s.accepted
		}
		s.got = append(s.got, value)
		s.mu.Unlock()
		if value != fmt.Sprintf("Bearer t%d", accepted) {
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="https://evil.example/metadata", scope="everything"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(s.tokens.Close)
	t.Cleanup(s.tools.Close)
	return s
}

func (s *issuer) client(t *testing.T) *mcp.Client {
	t.Helper()
	c := must.Get(mcp.New(mcp.Options{
		Name: "peer", URL: s.tools.URL, AllowPrivate: true,
		OAuth: mcp.OAuth{TokenURL: s.tokens.URL, ClientID: "weir", Secret: llm.NewSecret("s3cret"), Scopes: []string{"read", "write"}},
	}))(t)
	t.Cleanup(c.Close)
	return c
}

// TestTokenIsRequestedOnceAndForItsServer checks the request for a token, that it serves all requests, and that a
// refused one is replaced once, without asking whom the server names.
func TestTokenIsRequestedOnceAndForItsServer(t *testing.T) {
	t.Parallel()
	s := newIssuer(t)
	c := s.client(t)
	for range 2 {
		if l := must.Get(c.ListTools(t.Context(), ""))(t); len(l.Tools) != 1 {
			t.Errorf("got %d tools, want one", len(l.Tools))
		}
	}
	want := "weir:s3cret grant_type=client_credentials&resource=" + strings.NewReplacer(":", "%3A", "/", "%2F").Replace(s.tools.URL) + "&scope=read+write"
	must.Equal(t, s.asked, []string{want}, "requests for tokens")
	s.accepted = 2 // the first one was revoked
	if _, err := c.ListTools(t.Context(), ""); err != nil || len(s.asked) != 2 {
		t.Errorf("after a revocation: got %v and %d requests for tokens, want two", err, len(s.asked))
	}
	s.accepted = 9
	if _, err := c.ListTools(t.Context(), ""); err == nil || len(s.asked) != 3 {
		t.Errorf("a server that refuses each token: got %v and %d requests for tokens, want an error and three", err, len(s.asked))
	}
}

// TestHostileIssuerGetsAndRevealsNothing checks answers of an OAuth server that are no tokens: nothing reaches the MCP
// server, and no secret is in the error.
func TestHostileIssuerGetsAndRevealsNothing(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		status       int
		answer, want string
	}{
		{302, "", "redirects"},
		{401, `{"error":"invalid_client","error_description":"s3cret is wrong"}`, "HTTP status 401"},
		{200, `{"access_token":"","token_type":"Bearer"}`, "invalid"},
		{200, `{"access_token":"t1","token_type":"DPoP"}`, "invalid"},
		{200, `{"access_token":"` + strings.Repeat("t", 20_000) + `","token_type":"Bearer"}`, "invalid"},
		{200, strings.Repeat(`{"a":`, 300_000), "invalid"},
	} {
		s := newIssuer(t)
		s.status, s.answer = test.status, test.answer
		c := s.client(t)
		_, err := c.ListTools(t.Context(), "")
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(fmt.Sprintf("%v %+v", err, err), "s3cret") {
			t.Errorf("%d %.60s: got %v, want an error with %q and without the secret", test.status, test.answer, err, test.want)
		}
		if _, again := c.ListTools(t.Context(), ""); again == nil || len(s.asked) != 1 || len(s.got) != 0 {
			t.Errorf("%d %.60s: got %d requests for tokens and %q at the server, want one and none", test.status, test.answer, len(s.asked), s.got)
		}
	}
	_, err := mcp.New(mcp.Options{Name: "peer", URL: "https://mcp.example.com", OAuth: mcp.OAuth{TokenURL: "http://169.254.169.254/token", ClientID: "weir"}})
	if err == nil || !strings.Contains(err.Error(), "token_url") {
		t.Errorf("an address of tokens that may not be dialled: got %v", err)
	}
}
