package connection

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/oauth2"

	"weir/internal/llm"
)

// tokens are the sealed part of a connection.
type tokens struct {
	Access  string    `json:"access_token"`
	Refresh string    `json:"refresh_token,omitempty"`
	Expires time.Time `json:"expires"` // zero if it is unknown
	access
}

// AboutTokens names the owner of sealed tokens: see seal.Ring.
func AboutTokens(server, who string) string { return "mcp connection " + server + " " + who }

// AboutClient names the owner of a sealed registration.
func AboutClient(server, issuer string) string { return "mcp client " + server + " " + issuer }

// Answer is the answer of an authorization server that led a person back.
type Answer struct {
	Server  string // in the path at which it arrived
	Values  url.Values
	Kept    llm.Secret // text of Begin
	Session string     // id of the person's session
}

// Finish exchanges the code of an authorization server's answer for tokens. The error is a *llm.Error.
func (s *Service) Finish(ctx context.Context, find func(name string) (*Server, error), a *Answer) (*Row, error) {
	answer := a.Values
	text, err := s.o.Open(a.Kept.Reveal(), pendingAbout)
	var p pending
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil || p.Session != a.Session || p.Server != a.Server || p.State != answer.Get("state") ||
		!s.o.Now().Before(p.Until) {
		return nil, &llm.Error{Code: llm.CodeInvalidRequest, Err: err, Message: "This answer belongs to no " +
			"connection that was begun in this browser, or it took too long. Begin anew."}
	}
	of, err := find(p.Server)
	if err != nil {
		return nil, err
	}
	if of.URL != p.URL {
		return nil, llm.Errorf(llm.CodeInvalidRequest, "The MCP server %q has another address by now. Begin anew.",
			of.Name)
	}
	// RFC 9207: the issuer is compared before the code goes anywhere.
	if iss := answer.Get("iss"); iss != p.Issuer && (iss != "" || p.NamesIss) {
		return nil, s.failed(of, reason("the answer is of another authorization server"))
	}
	if answer.Get("error") != "" || answer.Get("code") == "" {
		return nil, s.failed(of, reason("its authorization server gave no access"))
	}
	c, err := s.client(of)
	if err != nil {
		return nil, err
	}
	ctx = context.WithValue(ctx, oauth2.HTTPClient, c)
	token, err := p.config(s.callback(p.Server)).Exchange(ctx, answer.Get("code"), oauth2.VerifierOption(p.Verifier),
		oauth2.SetAuthURLParam("resource", p.Resource))
	if err == nil {
		err = checkToken(token)
	}
	if err != nil {
		return nil, s.failed(of, err)
	}
	sealed, err := s.sealed(ctx, p.Server, p.Who, tokensOf(token, p.access, ""))
	if err != nil {
		return nil, err
	}
	return &Row{
		Server: p.Server, Who: p.Who, Resource: p.URL, Issuer: p.Issuer, Sealed: sealed, Created: s.o.Now(),
	}, nil
}

// maxToken bounds a token in bytes.
const maxToken = 16 << 10

func checkToken(t *oauth2.Token) error {
	if t.Type() != "Bearer" || len(t.AccessToken) > maxToken || len(t.RefreshToken) > maxToken {
		return reason("its authorization server gave no bearer token, or one that is too long")
	}
	return nil
}

// tokensOf returns an answer with tokens. Refresh is the token to keep if there is no new one.
func tokensOf(t *oauth2.Token, a access, refresh string) *tokens {
	all := &tokens{Access: t.AccessToken, Refresh: t.RefreshToken, Expires: t.Expiry.UTC(), access: a}
	if all.Refresh == "" {
		all.Refresh = refresh
	}
	return all
}

func (s *Service) sealed(ctx context.Context, server, who string, t *tokens) (string, error) {
	text, err := json.Marshal(t)
	if err != nil {
		return "", err
	}
	return s.o.Seal(ctx, text, AboutTokens(server, who))
}

// renew asks for new tokens with the refresh token.
func (s *Service) renew(ctx context.Context, c *http.Client, t *tokens) (*tokens, error) {
	ctx = context.WithValue(ctx, oauth2.HTTPClient, c)
	next, err := t.config("").Exchange(ctx, "", oauth2.SetAuthURLParam("grant_type", "refresh_token"),
		oauth2.SetAuthURLParam("refresh_token", t.Refresh), oauth2.SetAuthURLParam("resource", t.Resource))
	if err == nil {
		err = checkToken(next)
	}
	if err != nil {
		return nil, err
	}
	return tokensOf(next, t.access, t.Refresh), nil
}

// isRefused reports whether an authorization server has refused a refresh token for good.
func isRefused(err error) bool {
	refused, ok := errors.AsType[*oauth2.RetrieveError](err)
	return ok && (refused.ErrorCode == "invalid_grant" || refused.ErrorCode == "invalid_client")
}
