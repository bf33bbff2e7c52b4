package signin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"weir/internal/llm"
	"weir/internal/people"
)

const (
	mostPasskeys  = 10      // per user
	maxPasskey    = 64      // characters of a name
	maxPasskeyDoc = 1 << 16 // bytes of a browser's answer
)

// Passkeys manages passkeys, which replace the code of the authenticator app: https://www.w3.org/TR/webauthn-3/
// (2026-01-13). All methods are safe for concurrent use. An origin is the origin of the browser's page, such as
// https://weir.example.com.
type Passkeys struct {
	*base
	factors *Factors
}

// Passkey is a user's WebAuthn credential.
type Passkey struct {
	ID         string // of the credential, base64url
	Name       string
	Created    time.Time
	Used       *time.Time // nil for never
	Credential []byte     // JSON: the public key and its signature counter
}

// Challenge holds the options of a WebAuthn ceremony for the browser. State is returned with the browser's answer.
type Challenge struct {
	Options string // JSON
	State   string // sealed
}

// Offered reports whether the visitor can have passkeys at that origin: they have an authenticator app, and the
// origin's host is a name, not an address.
func (p *Passkeys) Offered(v *people.Visitor, origin string) bool {
	return v.User().SecondFactor && p.factors.Offered() && hostOf(origin) != ""
}

// Of returns the visitor's passkeys, oldest first.
func (p *Passkeys) Of(ctx context.Context, v *people.Visitor) ([]Passkey, error) {
	return p.stores.Factors.Passkeys(ctx, v.User().ID)
}

// Begin returns the challenge to create a new passkey.
func (p *Passkeys) Begin(ctx context.Context, v *people.Visitor, origin string) (c Challenge, err error) {
	party, holder, err := p.ceremony(ctx, v, origin)
	if err != nil {
		return c, err
	}
	options, session, err := party.BeginRegistration(holder,
		webauthn.WithExclusions(webauthn.Credentials(holder.credentials).CredentialDescriptors()))
	if err != nil {
		return c, fmt.Errorf("begin passkey: %w", err)
	}
	return p.challenge(ctx, v, options.Response, session)
}

// Add stores the passkey that the browser has created. A wrong password counts as an attempt to sign in. The error is a
// *llm.Error if people should read it.
func (p *Passkeys) Add(ctx context.Context, v *people.Visitor, origin, state, answer, name string, password llm.Secret,
	o people.Origin,
) error {
	name = strings.TrimSpace(name)
	if name == "" || len([]rune(name)) > maxPasskey {
		return llm.Invalidf("name", "The name of a passkey must have 1 to %d characters.", maxPasskey)
	}
	if err := p.factors.confirm(ctx, v, password, o); err != nil {
		return err
	}
	party, holder, err := p.ceremony(ctx, v, origin)
	if err != nil {
		return err
	}
	if len(holder.credentials) >= mostPasskeys {
		return llm.Invalidf("", "You already have %d passkeys, the maximum. Remove one first.", mostPasskeys)
	}
	session, err := p.session(v, state)
	if err != nil {
		return err
	}
	made, err := created(party, holder, session, answer)
	if err != nil {
		p.log.WarnContext(ctx, "a passkey was refused", "user", v.User().ID, "err", err)
		return llm.Invalid("", "The browser's passkey is not valid for this page. Start again.")
	}
	text, err := json.Marshal(made)
	if err != nil {
		return fmt.Errorf("add passkey: %w", err)
	}
	err = p.stores.Factors.AddPasskey(ctx, v.Actor(o), v.User().ID, Passkey{
		ID: passkeyID(made), Name: name, Created: p.now(), Credential: text,
	})
	if errors.Is(err, people.ErrTaken) {
		return llm.Invalid("", "This passkey is already in use. Choose another device, or remove it first.")
	}
	if err != nil {
		return fmt.Errorf("add passkey: %w", err)
	}
	return nil
}

// Remove removes one of the visitor's passkeys. The error is a *llm.Error with CodeNotFound if the visitor has no such
// passkey.
func (p *Passkeys) Remove(ctx context.Context, v *people.Visitor, id string, o people.Origin) error {
	err := p.stores.Factors.RemovePasskey(ctx, v.Actor(o), v.User().ID, id)
	if errors.Is(err, people.ErrNotFound) {
		return llm.Errorf(llm.CodeNotFound, "You have no such passkey.")
	}
	if err != nil {
		return fmt.Errorf("remove passkey: %w", err)
	}
	return nil
}

// Ask returns a challenge for a session that waits for the second factor; nil if its user has no passkey at that
// origin.
func (p *Passkeys) Ask(ctx context.Context, pending, origin string) (*Challenge, error) {
	v, err := p.factors.pending(ctx, pending)
	if err != nil || v == nil || !p.Offered(v, origin) {
		return nil, err
	}
	party, holder, err := p.ceremony(ctx, v, origin)
	if err != nil || len(holder.credentials) == 0 {
		return nil, err
	}
	options, session, err := party.BeginLogin(holder)
	if err != nil {
		return nil, fmt.Errorf("ask for a passkey: %w", err)
	}
	c, err := p.challenge(ctx, v, options.Response, session)
	return &c, err
}

// Give verifies the signature of a passkey and replaces a session that waits for the second factor, with the errors of
// Factors.Give.
func (p *Passkeys) Give(ctx context.Context, session, origin, state, answer string, o people.Origin) (
	llm.Secret, error,
) {
	token, err := p.factors.give(ctx, session, o, func(v *people.Visitor) (Passing, error) {
		return p.passing(ctx, v, origin, state, answer)
	})
	if err != nil && llm.AsError(err).Param == "code" {
		err = llm.Invalid("code", "This passkey is not valid here, or the page was open for too long. "+
			"Try again, or enter a code.")
	}
	return token, err
}

// passing returns the result of a valid signature; ErrNotFound for an invalid one.
func (p *Passkeys) passing(ctx context.Context, v *people.Visitor, origin, state, answer string) (Passing, error) {
	passing := Passing{Pending: v.Session().ID}
	party, holder, err := p.ceremony(ctx, v, origin)
	if err != nil {
		return passing, err
	}
	was, err := p.session(v, state)
	if err != nil {
		return passing, people.ErrNotFound
	}
	signed, err := validated(party, holder, was, answer)
	if err != nil {
		p.log.WarnContext(ctx, "a passkey was refused", "user", v.User().ID, "err", err)
		return passing, people.ErrNotFound
	}
	text, err := json.Marshal(signed)
	passing.Passkey = &Passkey{ID: passkeyID(signed), Used: new(p.now()), Credential: text}
	return passing, err
}

// ceremony returns both parties of a WebAuthn ceremony: the gateway at that origin, and the visitor with their
// passkeys.
func (p *Passkeys) ceremony(ctx context.Context, v *people.Visitor, origin string) (
	*webauthn.WebAuthn, *holder, error,
) {
	if !p.Offered(v, origin) {
		return nil, nil, llm.Invalid("", "Passkeys need an authenticator app and a page with a host name: set up "+
			"the app, and open this page by a name such as https://weir.example.com.")
	}
	timeout := webauthn.TimeoutConfig{Timeout: pendingFor, TimeoutUVD: pendingFor}
	party, err := webauthn.New(&webauthn.Config{
		RPID: hostOf(origin), RPDisplayName: "Weir", RPOrigins: []string{origin},
		AttestationPreference: protocol.PreferNoAttestation,
		Timeouts:              webauthn.TimeoutsConfig{Login: timeout, Registration: timeout},
	})
	if err != nil {
		return nil, nil, fmt.Errorf("passkeys at %s: %w", origin, err)
	}
	all, err := p.stores.Factors.Passkeys(ctx, v.User().ID)
	if err != nil {
		return nil, nil, fmt.Errorf("read passkeys: %w", err)
	}
	who := &holder{user: v.User()}
	for i := range all {
		var c webauthn.Credential
		if err := json.Unmarshal(all[i].Credential, &c); err != nil {
			return nil, nil, fmt.Errorf("read passkey %s: %w", all[i].ID, err)
		}
		who.credentials = append(who.credentials, c)
	}
	return party, who, nil
}

// asked is the state that an answer is verified against.
type asked struct {
	Session webauthn.SessionData `json:"session"`
	Until   time.Time            `json:"until"`
}

// challenge seals the state that the answer is verified against.
func (p *Passkeys) challenge(ctx context.Context, v *people.Visitor, options any, session *webauthn.SessionData) (
	c Challenge, err error,
) {
	text, err := json.Marshal(options)
	if err != nil {
		return c, fmt.Errorf("ask for a passkey: %w", err)
	}
	state, err := json.Marshal(asked{*session, p.now().Add(pendingFor)})
	if err != nil {
		return c, fmt.Errorf("ask for a passkey: %w", err)
	}
	c.Options = string(text)
	if c.State, err = p.factors.seal(ctx, state, challengeOf(v)); err != nil {
		return c, fmt.Errorf("seal challenge: %w", err)
	}
	return c, nil
}

// session opens the state that challenge has sealed for the visitor's session.
func (p *Passkeys) session(v *people.Visitor, state string) (webauthn.SessionData, error) {
	var was asked
	if len(state) <= maxPasskeyDoc {
		text, err := p.factors.open(state, challengeOf(v))
		if err == nil && json.Unmarshal(text, &was) == nil && p.now().Before(was.Until) {
			return was.Session, nil
		}
	}
	return was.Session, llm.Invalid("", "This page was open for too long, or in another session. Start again.")
}

func challengeOf(v *people.Visitor) string { return "passkey in session " + v.Session().ID }

// holder implements webauthn.User.
type holder struct {
	user        *people.User
	credentials []webauthn.Credential
}

func (h *holder) WebAuthnID() []byte                         { return []byte(h.user.ID) }
func (h *holder) WebAuthnName() string                       { return h.user.Email }
func (h *holder) WebAuthnDisplayName() string                { return h.user.Email }
func (h *holder) WebAuthnCredentials() []webauthn.Credential { return h.credentials }

var errLongAnswer = fmt.Errorf("signin: the browser's answer is longer than %d bytes", maxPasskeyDoc)

func created(party *webauthn.WebAuthn, h *holder, session webauthn.SessionData, answer string) (
	*webauthn.Credential, error,
) {
	if len(answer) > maxPasskeyDoc {
		return nil, errLongAnswer
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes([]byte(answer))
	if err != nil {
		return nil, err
	}
	return party.CreateCredential(h, session, parsed)
}

var errCloned = errors.New("people: the passkey's signature counter went back: it may have been copied")

func validated(party *webauthn.WebAuthn, h *holder, session webauthn.SessionData, answer string) (
	*webauthn.Credential, error,
) {
	if len(answer) > maxPasskeyDoc {
		return nil, errLongAnswer
	}
	parsed, err := protocol.ParseCredentialRequestResponseBytes([]byte(answer))
	if err != nil {
		return nil, err
	}
	c, err := party.ValidateLogin(h, session, parsed)
	if err == nil && c.Authenticator.CloneWarning {
		err = errCloned
	}
	return c, err
}

func passkeyID(c *webauthn.Credential) string { return protocol.URLEncodedBase64(c.ID).String() }

// hostOf returns the host name of an origin, which passkeys belong to; empty for an IP address, because passkeys need a
// name (https://www.w3.org/TR/webauthn-3/#relying-party-identifier).
func hostOf(origin string) string {
	u, err := url.Parse(origin)
	if err != nil {
		return ""
	}
	host := u.Hostname()
	if _, err := netip.ParseAddr(host); err == nil || !slices.Contains([]string{"http", "https"}, u.Scheme) {
		return ""
	}
	return host
}
