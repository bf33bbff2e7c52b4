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

// Options is what a Service is made of.
type Options struct {
	Stores    Stores
	Now       func() time.Time
	Log       *slog.Logger
	Mail      *Mail         // nil: links are shown to whoever asks for them
	OIDC      *OIDC         // nil for none
	PublicURL func() string // such as https://weir.example.com, for links and single sign-on
	// Idle is after what time a session that nobody uses is over, and Absolute
	// after what time every one is; 0 for 12 hours and 7 days. People sign in
	// again at work each morning at the latest after a weekend, and a session that
	// was stolen does not live on unused (OWASP ASVS 5, section 7.3).
	Idle, Absolute time.Duration
	// PasswordsOff lets nobody in with a password, ends the sessions that began with one,
	// and lets nobody choose one.
	PasswordsOff bool
	// Demoted is called when somebody may be no operator any more: the keys with the permission
	// account.Admin that they made are revoked then. Nil for nobody to tell.
	Demoted func()
	// Seal and Open keep the secrets of second factors: see seal.Ring. Nil: nobody can set one up.
	Seal func(ctx context.Context, text []byte, about string) (string, error)
	Open func(sealed, about string) ([]byte, error)
	// Light is for tests alone: hashes of passwords cost next to nothing, to make
	// and to guess.
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
	maxAgent        = 256 // bytes of it that are kept
)

// Service lets people in, and administers who may do what. All its methods may
// be called at once. Errors are *llm.Error where people should read them.
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

// New makes a service. Mail that Forgot promises goes out only while Run runs.
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

// now is the time as it is kept: UTC, whole microseconds.
func (s *Service) now() time.Time { return s.clock().UTC().Truncate(time.Microsecond) }

// newID is an id of version 7 (RFC 9562), which sorts by the time it was made.
func newID() string { return uuid.Must(uuid.NewV7()).String() }

// newToken is a secret of 256 random bits, in base64url, and its hash. A plain
// hash is enough for so many.
func newToken() (llm.Secret, Hash) {
	b := make([]byte, tokenBytes)
	_, _ = rand.Read(b) // never fails: see crypto/rand
	text := base64.RawURLEncoding.EncodeToString(b)
	return llm.NewSecret(text), hashOf(text)
}

func hashOf(token string) Hash { return sha256.Sum256([]byte(token)) }

// maxToken bounds what is looked up at all; set-up links and others have 43
// characters.
const maxToken = 64

// Fresh reports whether nobody has set up yet: there is no operator.
func (s *Service) Fresh(ctx context.Context) (bool, error) {
	has, err := s.stores.Users.HasOperator(ctx)
	if err != nil {
		return false, fmt.Errorf("look for an operator: %w", err)
	}
	return !has, nil
}

// Link is what a one-time link of that kind is for. The error is a *llm.Error with
// CodeNotFound when it is not good, not any more, or of another kind.
func (s *Service) Link(ctx context.Context, token string, kind LinkKind) (Link, error) {
	if token == "" || len(token) > maxToken {
		return Link{}, badLink()
	}
	if s.passwordsOff && kind == ResetLink {
		return Link{}, noPasswords()
	}
	l, err := s.stores.Admissions.LinkByHash(ctx, hashOf(token), s.now())
	if errors.Is(err, ErrNotFound) || err == nil && l.Kind != kind {
		return Link{}, badLink()
	}
	if err != nil {
		return Link{}, fmt.Errorf("look for a link: %w", err)
	}
	return l, nil
}

func badLink() error {
	return llm.Errorf(llm.CodeNotFound, "This link is not good, or not any more: it was used, it is too old, or a "+
		"newer one took its place. Ask for a new one.")
}

// used says that a link was used up, or its user made, while somebody filled in
// the form.
func used(doing string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrNotFound):
		return badLink()
	case errors.Is(err, ErrDisabled):
		return disabled()
	case errors.Is(err, ErrExists):
		return llm.Invalid("email", "Somebody with this e-mail address is here already. Sign in.")
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// ownChange says in words why a store refused what a session changes of its user.
func ownChange(doing string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrNotFound):
		return llm.Errorf(llm.CodeAuthentication, "Your session has ended. Sign in again.")
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// checkPersonName is somebody's name without spaces around it; it may be empty.
func checkPersonName(text string) (string, error) {
	name := strings.TrimSpace(text)
	if n := utf8.RuneCountInString(name); n > maxName {
		return "", llm.Invalidf("name", "A name has at most %d characters; this one has %d.", maxName, n)
	}
	if !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return "", llm.Invalid("name", "The name has a character that cannot be shown.")
	}
	return name, nil
}

// actorOf is a user as the audit log names them.
func actorOf(u *User, o Origin) audit.Actor {
	return audit.Actor{Kind: audit.User, ID: u.ID, Name: u.Email, Address: o.Address, Request: o.Request}
}

// newSession is a session of that user, and its token.
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
