package signin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"weir/internal/audit"
	"weir/internal/llm"
	"weir/internal/people"
)

const (
	maxLogoutToken = 16 << 10    // bytes
	maxSID         = 255         // characters
	logoutSkew     = time.Minute // maximum lead of the provider's clock
	// logoutEvent is the claim that marks a logout token.
	logoutEvent = "http://schemas.openid.net/event/backchannel-logout"
)

// Logout names the sessions that the provider ended: one, or all of a subject.
type Logout struct {
	Issuer  string
	Token   string    // id of the token, so that each token counts once
	At      time.Time // when it arrived, by the clock that its expiry is compared with
	Until   time.Time // when it expires
	Subject string    // empty if SID identifies the session
	SID     string    // empty for all sessions of the subject
}

// ErrLogoutUsed is returned for a logout token that was used before.
var ErrLogoutUsed = errors.New("the logout token was already used")

// LogoutStore ends sessions.
type LogoutStore interface {
	// EndByLogout ends sessions that began by single sign-on, and returns their number. Sessions of the subject without
	// a known SID end too. A token that was used before ends none and returns ErrLogoutUsed.
	EndByLogout(ctx context.Context, by audit.Actor, l Logout) (int, error)
}

// Logout ends the sessions that a logout token of the provider names, and returns their number (OpenID Connect
// Back-Channel Logout 1.0, https://openid.net/specs/openid-connect-backchannel-1_0.html, 2023-12-15). The error is a
// *llm.Error: CodeNotFound without single sign-on, CodeInvalidRequest for an invalid token, CodeRateLimited with
// RetryAfter after many invalid tokens from one network.
func (s *SingleSignOn) Logout(ctx context.Context, token string, from people.Origin) (ended int, err error) {
	if s.oidc == nil {
		return 0, noSSO()
	}
	marks := oidcMarks("logout", from.Address)
	if _, err := s.try(ctx, marks); err != nil {
		return 0, err
	}
	out, err := s.oidc.logout(ctx, token)
	if err == nil {
		ended, err = s.stores.Logouts.EndByLogout(ctx, (*people.Visitor)(nil).Actor(from), *out)
	}
	if errors.Is(err, ErrLogoutUsed) {
		err = badLogout(err)
	}
	if err != nil {
		s.log.Warn("logout by single sign-on failed", "address", from.Address, "err", err)
		return 0, err
	}
	if err := s.stores.Throttles.PassSignIn(ctx, marks, s.now()); err != nil { // does not affect the logout
		s.log.Warn("a logout by single sign-on counts as failed", "err", err)
	}
	return ended, nil
}

// logout verifies a logout token of the provider and returns its contents.
func (p *OIDC) logout(ctx context.Context, token string) (*Logout, error) {
	if token == "" || len(token) > maxLogoutToken {
		return nil, badLogout(errors.New("the token is missing or too long"))
	}
	ctx, cancel := p.during(ctx)
	defer cancel()
	found, err := p.provider(ctx)
	if err != nil {
		return nil, unreachable(err)
	}
	id, err := found.Verifier(&oidc.Config{ClientID: p.options.ClientID}).Verify(ctx, token)
	if err != nil {
		return nil, badLogout(err)
	}
	var c claims
	if err := id.Claims(&c); err != nil {
		return nil, badLogout(err)
	}
	var events map[string]json.RawMessage
	out := &Logout{
		Issuer: id.Issuer, Token: c.text("jti"), At: time.Now(), Until: id.Expiry,
		Subject: id.Subject, SID: c.text("sid"),
	}
	switch err := json.Unmarshal(c["events"], &events); {
	case err != nil || !bytes.HasPrefix(events[logoutEvent], []byte("{")):
		return nil, badLogout(errors.New("the token has no logout event"))
	case c["nonce"] != nil: // an id_token of a sign-in
		return nil, badLogout(errors.New("the token has a nonce"))
	case out.Subject == "" && out.SID == "":
		return nil, badLogout(errors.New("the token has neither sub nor sid"))
	case len(out.Subject) > maxSubject || len(out.SID) > maxSID || len(out.Token) > maxSID:
		return nil, badLogout(errors.New("the token's sub, sid or jti is too long"))
	case out.Token == "" || c["iat"] == nil:
		return nil, badLogout(errors.New("the token has no jti or no iat"))
	case id.IssuedAt.After(out.At.Add(logoutSkew)):
		return nil, badLogout(errors.New("the token's iat is in the future"))
	}
	return out, nil
}

func badLogout(err error) error {
	return &llm.Error{
		Code: llm.CodeInvalidRequest, Param: "logout_token",
		Message: "The logout token is invalid: the single sign-on provider must issue it for this gateway.", Err: err,
	}
}
