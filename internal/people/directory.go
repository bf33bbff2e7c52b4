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

	"weir/internal/llm"
)

// Options configures a Directory.
type Options struct {
	Stores    Stores
	Now       func() time.Time
	Log       *slog.Logger
	Mail      *Mail         // nil: links are shown to the person who creates them
	PublicURL func() string // such as https://weir.example.com, for links
	// PasswordsOff means that people sign in without passwords, so that there are no links for new ones.
	PasswordsOff bool
	// Demoted is called after a user may have lost the operator role, so that their keys with the permission
	// account.Admin are revoked. May be nil.
	Demoted func()
}

const (
	inviteFor  = 7 * 24 * time.Hour
	resetFor   = time.Hour
	tokenBytes = 32
	maxEmail   = 254 // bytes; RFC 5321, section 4.5.3.1.3
	maxName    = 100 // characters
)

// Directory manages users, their roles, and the links that let them in. All methods are safe for concurrent use. Errors
// are *llm.Error if people should read them.
type Directory struct {
	stores       Stores
	clock        func() time.Time
	log          *slog.Logger
	mail         *Mail
	publicURL    func() string
	passwordsOff bool
	demoted      func()
}

// New returns a directory.
func New(o Options) *Directory {
	d := &Directory{
		stores: o.Stores, clock: o.Now, log: o.Log, mail: o.Mail, publicURL: o.PublicURL,
		passwordsOff: o.PasswordsOff, demoted: o.Demoted,
	}
	if d.demoted == nil {
		d.demoted = func() {}
	}
	return d
}

// now returns the time in the stored form: UTC, whole microseconds.
func (d *Directory) now() time.Time { return d.clock().UTC().Truncate(time.Microsecond) }

// NewToken returns a secret of 256 random bits, in base64url, and its hash. A plain hash is enough for that many bits.
func NewToken() (llm.Secret, Hash) {
	b := make([]byte, tokenBytes)
	_, _ = rand.Read(b) // never fails: see crypto/rand
	text := base64.RawURLEncoding.EncodeToString(b)
	return llm.NewSecret(text), HashOf(text)
}

// HashOf returns the hash of a token.
func HashOf(token string) Hash { return sha256.Sum256([]byte(token)) }

// Passwords reports whether people may sign in with a password and choose one.
func (d *Directory) Passwords() bool { return !d.passwordsOff }

// NoPasswords returns the error for passwords that are switched off.
func NoPasswords() error {
	return llm.Errorf(llm.CodeForbidden, "Passwords are switched off. Sign in by single sign-on. If an operator "+
		"cannot, the command weir operators link creates a link to sign in.")
}

// Fresh reports whether the installation is not set up yet: it has no operator.
func (d *Directory) Fresh(ctx context.Context) (bool, error) {
	has, err := d.stores.Users.HasOperator(ctx)
	if err != nil {
		return false, fmt.Errorf("find operator: %w", err)
	}
	return !has, nil
}

// Users returns all users, sorted by e-mail address.
func (d *Directory) Users(ctx context.Context) ([]User, error) {
	list, err := d.stores.Users.Users(ctx)
	if err != nil {
		return nil, fmt.Errorf("list users: %w", err)
	}
	return list, nil
}

// User returns the user with that id or e-mail address. The error is a *llm.Error with CodeNotFound if there is none.
func (d *Directory) User(ctx context.Context, idOrEmail string) (User, error) {
	l, err := d.stores.Users.Login(ctx, NormalEmail(idOrEmail))
	if errors.Is(err, ErrNotFound) {
		return User{}, noUser()
	}
	if err != nil {
		return User{}, fmt.Errorf("find user: %w", err)
	}
	return l.User, nil
}

func noUser() error {
	return llm.Errorf(llm.CodeNotFound, "There is no such user.").At("user")
}

// ChangeName changes the visitor's name, of at most 100 characters.
func (d *Directory) ChangeName(ctx context.Context, v *Visitor, name string, o Origin) error {
	if err := v.May(SignedIn, ""); err != nil {
		return err
	}
	name, err := CheckName(name)
	if err != nil {
		return err
	}
	if err := d.stores.Users.RenameUser(ctx, v.Actor(o), v.user.ID, name); err != nil {
		return fmt.Errorf("change name: %w", err)
	}
	return nil
}

// CheckName returns a person's name without surrounding spaces; it may be empty.
func CheckName(text string) (string, error) {
	name := strings.TrimSpace(text)
	if n := utf8.RuneCountInString(name); n > maxName {
		return "", llm.Invalidf("name", "A name must have at most %d characters; this one has %d.", maxName, n)
	}
	if !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return "", llm.Invalid("name", "The name contains a control character or invalid UTF-8. Remove it.")
	}
	return name, nil
}
