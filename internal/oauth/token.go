package oauth

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/people"
	"weir/internal/seal"
)

// These are codes of errors for programs (RFC 6749, sections 4.1.2.1 and 5.2; RFC 8707; RFC 7591).
const (
	codeInvalid  = "invalid_request"
	codeClient   = "invalid_client"
	codeGrant    = "invalid_grant"
	codeTarget   = "invalid_target"
	codeType     = "unsupported_grant_type"
	codeMetadata = "invalid_client_metadata"
)

// failure is an error for a program.
type failure struct {
	Code string `json:"error"`
	Text string `json:"error_description"`
}

// Error returns the text.
func (f *failure) Error() string { return f.Text }

// token is the answer with new tokens (RFC 6749, section 5.1).
type token struct {
	Access  string `json:"access_token"`
	Type    string `json:"token_type"`
	Expires int64  `json:"expires_in"` // seconds
	Refresh string `json:"refresh_token"`
	Scope   string `json:"scope"`
}

// issue exchanges a code or a refresh token for new tokens. The error is a *failure if the program should read it.
func (s *Server) issue(ctx context.Context, q url.Values, by audit.Actor) (*token, error) {
	id := q.Get("client_id")
	if id == "" || len(id) > maxClientID {
		return nil, &failure{codeClient, "client_id is required in the form, and no other authentication"}
	}
	u := Use{By: by}
	shared, own := "", ""
	switch q.Get("grant_type") {
	case "authorization_code":
		if q.Get("code") == "" || q.Get("code_verifier") == "" {
			return nil, &failure{codeInvalid, "code and code_verifier are required"}
		}
		u.Code = people.HashOf(q.Get("code"))
		shared = reveal()
	case "refresh_token":
		shared, own, _ = strings.Cut(q.Get("refresh_token"), ".")
		if shared == "" || own == "" {
			return nil, &failure{codeGrant, "the refresh token is not one of this server"}
		}
		u.Family, u.Refresh = people.HashOf(shared), people.HashOf(own)
	default:
		return nil, &failure{codeType, "grant_type must be authorization_code or refresh_token"}
	}
	return s.use(ctx, q, &u, shared)
}

// reveal returns a new random text.
func reveal() string {
	text, _ := people.NewToken()
	return text.Reveal()
}

// use uses a code or a refresh token up. Shared is the part that all refresh tokens of the grant have.
func (s *Server) use(ctx context.Context, q url.Values, u *Use, shared string) (*token, error) {
	access, rotation := account.NewToken()
	rotation.FormerUntil = s.o.Now().Add(overlap)
	if u.Code != (account.Hash{}) {
		rotation.FormerUntil = time.Time{}
	}
	own, refresh := people.NewToken()
	now := s.o.Now()
	u.Next = Tokens{
		Access: rotation, Expires: now.Add(accessFor), Family: people.HashOf(shared), Refresh: refresh,
		RefreshFor: refreshFor, GrantFor: grantFor, Now: now,
	}
	g, err := s.o.Store.UseGrant(ctx, u, func(g *Grant) error { return check(g, q, now) })
	if err == nil || errors.Is(err, ErrReused) {
		s.o.Accounts.ForgetKey(g.Key)
	}
	switch {
	case errors.Is(err, ErrReused):
		s.o.Log.Warn("an OAuth code or refresh token was used twice; the program's access has ended", "key", g.Key)
		return nil, &failure{codeGrant, "it was used before: the access has ended, ask for it anew"}
	case errors.Is(err, ErrNotFound):
		return nil, &failure{codeGrant, "it is unknown, has expired or was revoked: ask for access anew"}
	case err != nil:
		return nil, err
	}
	return &token{
		Access: access.Reveal(), Type: "Bearer", Expires: int64(accessFor / time.Second),
		Refresh: shared + "." + own.Reveal(), Scope: Scope,
	}, nil
}

// check returns an error unless a program may use a grant with these parameters.
func check(g *Grant, q url.Values, now time.Time) error {
	if !now.Before(g.Until) {
		return ErrNotFound
	}
	if g.Client != seal.Digest(q.Get("client_id")) {
		return &failure{codeGrant, "it belongs to another client_id"}
	}
	if all, ok := q["resource"]; ok && (len(all) != 1 || all[0] != g.Resource) {
		return &failure{codeTarget, fmt.Sprintf("the access is for %s only", g.Resource)}
	}
	if q.Get("grant_type") != "authorization_code" {
		return nil
	}
	if to, ok := q["redirect_uri"]; ok && to[0] != g.Redirect {
		return &failure{codeGrant, "redirect_uri is another one than in the request for the code"}
	}
	sum := sha256.Sum256([]byte(q.Get("code_verifier")))
	if subtle.ConstantTimeCompare([]byte(base64.RawURLEncoding.EncodeToString(sum[:])), []byte(g.Challenge)) != 1 {
		return &failure{codeGrant, "code_verifier does not match code_challenge"}
	}
	return nil
}

// revoke ends the grant of a token (RFC 7009). All its tokens end with either. It succeeds for an unknown token, too.
func (s *Server) revoke(ctx context.Context, q url.Values, by audit.Actor) error {
	shared, _, ok := strings.Cut(q.Get("token"), ".")
	t := Revoked{Family: people.HashOf(shared)}
	if !ok {
		t = Revoked{Access: account.HashOf(shared)}
	}
	key, err := s.o.Store.EndGrant(ctx, by, t, seal.Digest(q.Get("client_id")))
	if err == nil && key != "" {
		s.o.Accounts.ForgetKey(key)
	}
	return err
}
