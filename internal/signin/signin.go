// Package signin signs people in: by password, with second factors and passkeys, by one-time links, and by single
// sign-on. It starts and ends their sessions.
package signin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/llm"
	"weir/internal/people"
)

// Options configures a Service.
type Options struct {
	Directory *people.Directory
	Stores    Stores
	Now       func() time.Time
	Log       *slog.Logger
	OIDC      *OIDC         // nil for none
	PublicURL func() string // such as https://weir.example.com, for single sign-on
	// Idle is the time after which an unused session ends, and Absolute the time after which every session ends; 0 for
	// 12 hours and 7 days. At work people sign in again each morning, or after a weekend at the latest, and an unused
	// stolen session expires (OWASP ASVS 5, section 7.3).
	Idle, Absolute time.Duration
	// Demoted is called after a user may have lost the operator role, so that their keys with the permission
	// account.Admin are revoked. May be nil.
	Demoted func()
	// Seal and Open encrypt and decrypt the secrets of second factors, as seal.Ring does. If they are nil, no second
	// factor can be set up.
	Seal func(ctx context.Context, text []byte, about string) (string, error)
	Open func(sealed, about string) ([]byte, error)
	// Light makes password hashes cheap to compute and to guess. It is only for tests.
	Light bool
}

const (
	defaultIdle     = 12 * time.Hour
	defaultAbsolute = 7 * 24 * time.Hour
	maxAgent        = 256 // stored bytes of the header
	maxToken        = 64  // characters of a token that is looked up; the tokens of links have 43
)

// Service holds the ways to sign in. All methods of its fields are safe for concurrent use. Errors are *llm.Error if
// people should read them.
type Service struct {
	Sessions  *Sessions
	Passwords *Passwords
	Links     *Links
	Factors   *Factors
	Passkeys  *Passkeys
	SSO       *SingleSignOn
	Changes   *ChangeLimit
}

// New returns a service. Passwords.Run sends the mails that Passwords.Forgot queues.
func New(o Options) *Service {
	if o.Demoted == nil {
		o.Demoted = func() {}
	}
	if o.Idle <= 0 {
		o.Idle = defaultIdle
	}
	if o.Absolute <= 0 {
		o.Absolute = defaultAbsolute
	}
	b := &base{
		stores: o.Stores, directory: o.Directory, clock: o.Now, log: o.Log, absolute: o.Absolute,
		changes: &ChangeLimit{clock: o.Now},
	}
	s := &Service{Sessions: &Sessions{b, o.Idle, o.OIDC}, Changes: b.changes}
	s.Passwords = &Passwords{base: b, hasher: newHasher(o.Light), forgotten: make(chan forgotten, maxForgotten)}
	s.Links = &Links{b, s.Passwords}
	s.Factors = &Factors{b, s.Passwords, o.Seal, o.Open}
	s.Passkeys = &Passkeys{b, s.Factors}
	s.SSO = &SingleSignOn{b, o.OIDC, o.PublicURL, o.Demoted}
	return s
}

// base holds the parts that all ways to sign in share.
type base struct {
	stores    Stores
	directory *people.Directory
	clock     func() time.Time
	log       *slog.Logger
	absolute  time.Duration
	changes   *ChangeLimit
}

// now returns the time in the stored form: UTC, whole microseconds.
func (b *base) now() time.Time { return b.clock().UTC().Truncate(time.Microsecond) }

// newSession returns a new session of that user, and its token.
func (b *base) newSession(userID, method string, o people.Origin) (llm.Secret, NewSession) {
	token, hash := people.NewToken()
	now := b.now()
	agent := strings.ToValidUTF8(o.Agent, "")
	return token, NewSession{Token: hash, Session: people.Session{
		ID: account.NewID(), UserID: userID, Method: method, Address: o.Address, Agent: strings.ToValidUTF8(
			agent[:min(len(agent), maxAgent)], ""),
		Created: now, Seen: now, Expires: now.Add(b.absolute),
	}}
}

// logFailed logs a failed sign-in. It omits the e-mail address, because people type passwords there. Attempts that the
// throttles refuse are not logged, so the log cannot fill a disk.
func (b *base) logFailed(method, userID string, o people.Origin, reason any) {
	b.log.Warn("sign-in failed", "method", method, "user", userID, "address", o.Address, "request", o.Request,
		"reason", reason)
}

// actorOf returns a user as an actor of the audit log.
func actorOf(u *people.User, o people.Origin) audit.Actor {
	return audit.Actor{Kind: audit.User, ID: u.ID, Name: u.Email, Address: o.Address, Request: o.Request}
}

func disabled() error {
	return llm.Errorf(llm.CodeForbidden, "Your user is disabled. Ask an operator of this installation.")
}

// ownChange converts a store's error of a user's own change into one for people.
func ownChange(doing string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, people.ErrNotFound):
		return llm.Errorf(llm.CodeAuthentication, "Your session has ended. Sign in again.")
	}
	return fmt.Errorf("%s: %w", doing, err)
}
