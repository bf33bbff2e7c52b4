package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"weir/internal/llm"
)

// OAuth describes how the client gets access tokens for its server: by the client credentials of this installation
// (RFC 6749, section 4.4), from an address that the operator has set. What a server says about other addresses, in a
// 401 or in metadata, is ignored.
type OAuth struct {
	TokenURL string // empty for none
	ClientID string
	Secret   llm.Secret
	Scopes   []string
}

// TokenSource gives access tokens for a server.
type TokenSource interface {
	// Token returns a valid token of a person: see Request. The error is a *Failure or, if a person has to do something
	// first, an *RPCError.
	Token(ctx context.Context, person string) (string, error)
	// Drop forgets a token that the server refused.
	Drop(person, token string)
	// Widen reads from the challenges of a refusal (WWW-Authenticate) which further scopes the server wants. It returns
	// the error that says what a person has to do; nil if nobody can do anything.
	Widen(ctx context.Context, person string, challenges []string) error
}

const (
	// tokenFor bounds a request for a token, and tokenRest is how long none follows after a failure.
	tokenFor, tokenRest = 10 * time.Second, 5 * time.Second
	// maxToken bounds a token in bytes.
	maxToken = 16 << 10
)

var errRedirect = errors.New("token_url redirects, which Weir does not follow")

// tokens holds the access token of a client. A new one is requested when it expires, or when the server refuses it.
type tokens struct {
	server string
	config clientcredentials.Config
	client http.Client
	mu     sync.Mutex
	now    *oauth2.Token
	failed *Failure // the last failure
	until  time.Time
	clock  func() time.Time
}

// newTokens returns the tokens of a server, which are valid for its address only (RFC 8707).
func newTokens(o *Options, through http.RoundTripper) *tokens {
	return &tokens{
		server: o.Name, clock: o.Now,
		config: clientcredentials.Config{
			TokenURL: o.OAuth.TokenURL, ClientID: o.OAuth.ClientID, ClientSecret: o.OAuth.Secret.Reveal(),
			Scopes: o.OAuth.Scopes, AuthStyle: oauth2.AuthStyleInHeader,
			EndpointParams: url.Values{"resource": {o.URL}},
		},
		client: http.Client{
			Transport: through, Timeout: tokenFor,
			CheckRedirect: func(*http.Request, []*http.Request) error { return errRedirect },
		},
	}
}

// Token implements TokenSource.
func (t *tokens) Token(ctx context.Context, _ string) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now.Valid() {
		return t.now.AccessToken, nil
	}
	if t.failed != nil && t.clock().Before(t.until) {
		return "", t.failed
	}
	// The token is for all callers, also if this one leaves. The client bounds the time.
	ctx = context.WithValue(context.WithoutCancel(ctx), oauth2.HTTPClient, &t.client)
	token, err := t.config.Token(ctx)
	if err == nil && (token.Type() != "Bearer" || len(token.AccessToken) > maxToken) {
		err = errors.New("it is no bearer token, or too long")
	}
	if err != nil {
		t.failed, t.until = t.failure(err), t.clock().Add(tokenRest)
		return "", t.failed
	}
	t.now, t.failed = token, nil
	return token.AccessToken, nil
}

// failure returns the failure of a request for a token. It does not repeat the answer, which may have secrets.
func (t *tokens) failure(err error) *Failure {
	reason := errors.New("token_url cannot be reached, or its answer is invalid")
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok && refused.Response != nil {
		reason = fmt.Errorf("token_url answered with HTTP status %d", refused.Response.StatusCode)
	} else if errors.Is(err, errRedirect) {
		reason = errRedirect
	}
	return &Failure{Err: &llm.Error{
		Code: llm.CodeProviderError, Err: reason,
		Message: fmt.Sprintf("Weir has no access token for the MCP server %q: %v.", t.server, reason),
	}}
}

// Drop implements TokenSource.
func (t *tokens) Drop(_, token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now != nil && t.now.AccessToken == token {
		t.now = nil
	}
}

// Widen implements TokenSource: only the operator sets the scopes.
func (t *tokens) Widen(context.Context, string, []string) error { return nil }
