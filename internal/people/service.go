package people

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"weir/internal/audit"
	"weir/internal/llm"
)

// Options configures a Service.
type Options struct {
	Stores    Stores
	Now       func() time.Time
	Log       *slog.Logger
	Mail      *Mail         // nil: links are shown to the person who creates them
	OIDC      *OIDC         // nil for none
	PublicURL func() string // such as https://weir.example.com, for links and single sign-on
	// Idle is the time after which an unused session ends, and Absolute the time after which every session ends; 0 for
	// 12 hours and 7 days. At work people sign in again each morning, or after a weekend at the latest, and an unused
	// stolen session expires (OWASP ASVS 5, section 7.3).
	Idle, Absolute time.Duration
	// PasswordsOff refuses sign-in by password, ends sessions that began with one, and refuses new passwords.
	PasswordsOff bool
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
	inviteFor       = 7 * 24 * time.Hour
	resetFor        = time.Hour
	tokenBytes      = 32
	maxEmail        = 254 // bytes; RFC 5321, section 4.5.3.1.3
	maxName         = 100 // characters
	maxAgent        = 256 // stored bytes of the header
)

// Service signs people in and manages their rights. All methods are safe for concurrent use. Errors are *llm.Error if
// people should read them.
type Service struct {
	stores         Stores
	clock          func() time.Time
	log            *slog.Logger
	mail           *Mail
	oidc           *OIDC
	publicURL      func() string
	idle, absolute time.Duration
	passwordsOff   bool
	demoted        func()
	factors        Factors
	passkeys       Passkeys
	sso            SingleSignOn
	hasher         hasher
	forgotten      chan forgotten
	changes        changes
}

// New returns a service. Run sends the mails that Forgot queues.
func New(o Options) *Service {
	s := &Service{
		stores: o.Stores, clock: o.Now, log: o.Log, mail: o.Mail, oidc: o.OIDC, publicURL: o.PublicURL,
		idle: o.Idle, absolute: o.Absolute, passwordsOff: o.PasswordsOff,
		demoted: o.Demoted, hasher: newHasher(o.Light), forgotten: make(chan forgotten, maxForgotten),
	}
	s.factors, s.passkeys = Factors{s, o.Stores.Factors, o.Seal, o.Open}, Passkeys{s, o.Stores.Passkeys}
	s.sso = SingleSignOn{s, o.Stores.Logouts}
	if s.demoted == nil {
		s.demoted = func() {}
	}
	if s.idle <= 0 {
		s.idle = defaultIdle
	}
	if s.absolute <= 0 {
		s.absolute = defaultAbsolute
	}
	return s
}

// now returns the time in the stored form: UTC, whole microseconds.
func (s *Service) now() time.Time { return s.clock().UTC().Truncate(time.Microsecond) }

// newID returns a UUID of version 7 (RFC 9562), which sorts by creation time.
func newID() string { return uuid.Must(uuid.NewV7()).String() }

// newToken returns a secret of 256 random bits, in base64url, and its hash. A plain hash is enough for that many bits.
func newToken() (llm.Secret, Hash) {
	b := make([]byte, tokenBytes)
	_, _ = rand.Read(b) // never fails: see crypto/rand
	text := base64.RawURLEncoding.EncodeToString(b)
	return llm.NewSecret(text), hashOf(text)
}

func hashOf(token string) Hash { return sha256.Sum256([]byte(token)) }

// maxToken bounds the length of tokens that are looked up; the tokens of links have 43 characters.
const maxToken = 64

// Fresh reports whether the installation is not set up yet: it has no operator.
func (s *Service) Fresh(ctx context.Context) (bool, error) {
	has, err := s.stores.Users.HasOperator(ctx)
	if err != nil {
		return false, fmt.Errorf("find operator: %w", err)
	}
	return !has, nil
}

// Link returns the valid one-time link of that kind. The error is a *llm.Error with CodeNotFound if the link is
// invalid, expired or of another kind.
func (s *Service) Link(ctx context.Context, token string, kind LinkKind) (Link, error) {
	if token == "" || len(token) > maxToken {
		return Link{}, badLink(kind)
	}
	if s.passwordsOff && kind == ResetLink {
		return Link{}, noPasswords()
	}
	l, err := s.stores.Admissions.LinkByHash(ctx, hashOf(token), s.now())
	if errors.Is(err, ErrNotFound) || err == nil && l.Kind != kind {
		return Link{}, badLink(kind)
	}
	if err != nil {
		return Link{}, fmt.Errorf("find link: %w", err)
	}
	return l, nil
}

func badLink(kind LinkKind) error {
	if kind == SetupLink {
		return llm.Errorf(llm.CodeNotFound, "This link is invalid: it was used, it is too old, or a newer link "+
			"replaced it. If this installation is set up, sign in. Otherwise run \"weir operators add EMAIL\", with "+
			"your address, on the gateway's machine: it prints a link for an operator.")
	}
	return llm.Errorf(llm.CodeNotFound, "This link is invalid or has expired: it was used, it is too old, or a "+
		"newer link replaced it. Ask for a new one.")
}

// used converts an error of using a link: the link may have been used up, or its user created, while the person filled
// in the form.
func used(doing string, kind LinkKind, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrNotFound):
		return badLink(kind)
	case errors.Is(err, ErrDisabled):
		return disabled()
	case errors.Is(err, ErrExists):
		return llm.Invalid("email", "A user with this e-mail address already exists. Sign in.")
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// ownChange converts a store's error of a user's own change into one for people.
func ownChange(doing string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrNotFound):
		return llm.Errorf(llm.CodeAuthentication, "Your session has ended. Sign in again.")
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// checkPersonName returns a person's name without surrounding spaces; it may be empty.
func checkPersonName(text string) (string, error) {
	name := strings.TrimSpace(text)
	if n := utf8.RuneCountInString(name); n > maxName {
		return "", llm.Invalidf("name", "A name must have at most %d characters; this one has %d.", maxName, n)
	}
	if !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return "", llm.Invalid("name", "The name contains a control character or invalid UTF-8. Remove it.")
	}
	return name, nil
}

// actorOf returns a user as an actor of the audit log.
func actorOf(u *User, o Origin) audit.Actor {
	return audit.Actor{Kind: audit.User, ID: u.ID, Name: u.Email, Address: o.Address, Request: o.Request}
}

// newSession returns a new session of that user, and its token.
func (s *Service) newSession(userID, method string, o Origin) (llm.Secret, NewSession) {
	token, hash := newToken()
	now := s.now()
	agent := strings.ToValidUTF8(o.Agent, "")
	return token, NewSession{Token: hash, Session: Session{
		ID: newID(), UserID: userID, Method: method, Address: o.Address, Agent: strings.ToValidUTF8(
			agent[:min(len(agent), maxAgent)], ""),
		Created: now, Seen: now, Expires: now.Add(s.absolute),
	}}
}
