package people

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"weir/internal/audit"
	"weir/internal/llm"
)

const (
	maxLogoutToken = 16 << 10    // bytes
	maxSID         = 255         // characters
	logoutSkew     = time.Minute // that the provider's clock may be ahead
	// logoutEvent is the claim that makes a token one of a logout.
	logoutEvent = "http://schemas.openid.net/event/backchannel-logout"
)

// Logout is what the provider ended: one of its sessions, or all of somebody.
type Logout struct {
	Issuer  string
	Token   string    // the id of the token, by which it counts once
	At      time.Time // when it came, by the clock that its expiry is judged by
	Until   time.Time // it expires
	Subject string    // empty where SID says all
	SID     string    // empty for all sessions of the subject
}

// ErrLogoutUsed is that a logout token has been used.
var ErrLogoutUsed = errors.New("the logout token was used")

// LogoutStore ends sessions.
type LogoutStore interface {
	// EndByLogout ends sessions that began by single sign-on, and returns how many. Those of a subject of which nobody
	// knows what the provider calls them end too. A token that was used already ends none: ErrLogoutUsed.
	EndByLogout(ctx context.Context, by audit.Actor, l Logout) (int, error)
}

// Logout ends the sessions that a logout token of the provider names, and returns how many (OpenID Connect Back-Channel
// Logout 1.0, https://openid.net/specs/openid-connect-backchannel-1_0.html, 2023-12-15). The error is a *llm.Error: CodeNotFound
// without single sign-on, CodeInvalidRequest for a token that is not good, CodeRateLimited with RetryAfter after many
// of those from one network.
func (o *SingleSignOn) Logout(ctx context.Context, token string, from Origin) (ended int, err error) {
	s := o.service
	if s.oidc == nil {
		return 0, noSSO()
	}
	marks := oidcMarks("logout", from.Address)
	if _, err := s.try(ctx, marks); err != nil {
		return 0, err
	}
	out, err := s.oidc.logout(ctx, token)
	if err == nil {
		ended, err = o.store.EndByLogout(ctx, (*Visitor)(nil).Actor(from), *out)
	}
	if errors.Is(err, ErrLogoutUsed) {
		err = badLogout(err)
	}
	if err != nil {
		s.log.Warn("logout by single sign-on failed", "address", from.Address, "err", err)
		return 0, err
	}
	if err := s.stores.Throttles.PassSignIn(ctx, marks, s.now()); err != nil { // which keeps nobody in
		s.log.Warn("a logout by single sign-on counts as failed", "err", err)
	}
	return ended, nil
}

// logout is what a logout token says, once it is known to be the provider's.
func (p *OIDC) logout(ctx context.Context, token string) (*Logout, error) {
	if token == "" || len(token) > maxLogoutToken {
		return nil, badLogout(errors.New("no token, or a long one"))
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
		Issuer: id.Issuer, Token: c.text("jti"), At: time.Now(), Until: id.Expiry, Subject: id.Subject, SID: c.text("sid"),
	}
	switch err := json.Unmarshal(c["events"], &events); {
	case err != nil || !bytes.HasPrefix(events[logoutEvent], []byte("{")):
		return nil, badLogout(errors.New("no event of a logout"))
	case c["nonce"] != nil: // a token of somebody who signs in
		return nil, badLogout(errors.New("a nonce"))
	case out.Subject == "" && out.SID == "":
		return nil, badLogout(errors.New("neither sub nor sid"))
	case len(out.Subject) > maxSubject || len(out.SID) > maxSID || len(out.Token) > maxSID:
		return nil, badLogout(errors.New("a long sub, sid or jti"))
	case out.Token == "" || c["iat"] == nil:
		return nil, badLogout(errors.New("no jti or iat"))
	case id.IssuedAt.After(out.At.Add(logoutSkew)):
		return nil, badLogout(errors.New("an iat that is still to come"))
	}
	return out, nil
}

func badLogout(err error) error {
	return &llm.Error{
		Code: llm.CodeInvalidRequest, Param: "logout_token",
		Message: "The logout token is not one that the provider of single sign-on has made for this gateway.", Err: err,
	}
}
