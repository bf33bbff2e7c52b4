package connection

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/oauth2"
)

// Revoke asks the authorization server to end the access of a connection that has been removed here (RFC 7009). A
// failure is logged: nothing here uses the tokens any more.
func (s *Service) Revoke(ctx context.Context, of *Server, row *Row) {
	t, err := s.open(row)
	if err != nil || t.RevokeURL == "" {
		return // there is nothing to ask, or nobody
	}
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	if err := s.revoke(ctx, of, t); err != nil {
		s.o.Log.Warn("an authorization server does not revoke the tokens of a removed connection", "server", of.Name,
			"err", err)
	}
}

// revoke revokes the refresh token, and with it the access; the access token if there is no other.
func (s *Service) revoke(ctx context.Context, of *Server, t *tokens) error {
	c, err := s.client(of)
	if err != nil {
		return err
	}
	form := url.Values{"token": {t.Access}, "token_type_hint": {"access_token"}}
	if t.Refresh != "" {
		form = url.Values{"token": {t.Refresh}, "token_type_hint": {"refresh_token"}}
	}
	if t.Style != oauth2.AuthStyleInHeader {
		form.Set("client_id", t.ClientID)
		if t.Secret != "" {
			form.Set("client_secret", t.Secret)
		}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, t.RevokeURL, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if t.Style == oauth2.AuthStyleInHeader {
		r.SetBasicAuth(url.QueryEscape(t.ClientID), url.QueryEscape(t.Secret))
	}
	response, err := c.Do(r)
	if err != nil {
		return err
	}
	_ = response.Body.Close() // it is not read
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("it answered with HTTP status %d", response.StatusCode)
	}
	return nil
}
