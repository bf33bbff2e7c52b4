package signin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"weir/internal/audit"
	"weir/internal/llm"
	"weir/internal/people"
)

const (
	// maxForgotten is the maximum number of mails that wait to be sent.
	maxForgotten = 100
	forgotLimit  = 30 * time.Second // per mail
)

// forgotten is a request for a new password.
type forgotten struct {
	email  string
	origin people.Origin
}

// Passwords signs people in by password, and changes passwords.
type Passwords struct {
	*base
	hasher    hasher
	forgotten chan forgotten
}

// SignIn starts a session for the user with that address and password. The error is a *llm.Error: CodeAuthentication
// for an unknown address and for a wrong password, which take the same time, and CodeRateLimited with RetryAfter after
// many failures.
func (s *Passwords) SignIn(ctx context.Context, email string, password llm.Secret, o people.Origin) (
	llm.Secret, error,
) {
	email = people.NormalEmail(email)
	l, err := s.authenticate(ctx, email, password, o)
	if err != nil {
		return llm.Secret{}, err
	}
	if err := s.changes.countSignIn(&l.User); err != nil {
		return llm.Secret{}, err
	}
	token, n := s.newSession(l.ID, people.ByPassword, o)
	err = s.stores.Sessions.StartSession(ctx, actorOf(&l.User, o), n)
	switch {
	case errors.Is(err, people.ErrDisabled):
		return llm.Secret{}, disabled()
	case err != nil:
		return llm.Secret{}, fmt.Errorf("start session: %w", err)
	}
	return token, nil
}

// authenticate returns the user with that address and password. It counts the attempt before it checks the password, so
// that concurrent attempts cannot bypass the limit.
func (s *Passwords) authenticate(ctx context.Context, email string, password llm.Secret, o people.Origin) (
	people.Login, error,
) {
	if !s.directory.Passwords() {
		return people.Login{}, people.NoPasswords()
	}
	marks := signInMarks(email, o.Address)
	known, err := s.try(ctx, marks)
	if err != nil {
		return people.Login{}, err
	}
	l, err := s.stores.Users.Login(ctx, email)
	// Login also accepts ids, which are not addresses
	if errors.Is(err, people.ErrNotFound) || err == nil && l.Email != email {
		l, err = people.Login{}, nil
	}
	if err != nil {
		return people.Login{}, fmt.Errorf("find user: %w", err)
	}
	ok, weak, err := s.hasher.verify(ctx, password, l.Hash, known)
	switch {
	case err != nil:
		return people.Login{}, err
	case !ok:
		s.logFailed(people.ByPassword, l.ID, o, "wrong password")
		return people.Login{}, llm.Errorf(llm.CodeAuthentication, "The e-mail address or the password is wrong.")
	}
	if err := s.stores.Throttles.PassSignIn(ctx, marks, s.now()); err != nil {
		return people.Login{}, fmt.Errorf("count attempt to sign in: %w", err)
	}
	if weak {
		s.rehash(ctx, &l, password)
	}
	return l, nil
}

// rehash renews the hash with the current parameters. Failure does not affect the sign-in.
func (s *Passwords) rehash(ctx context.Context, l *people.Login, password llm.Secret) {
	hash, err := s.hasher.hash(ctx, password)
	if err == nil {
		err = s.stores.Passwords.Rehash(ctx, l.ID, l.Hash, hash)
	}
	if err != nil {
		s.log.Warn("a password hash could not be upgraded", "user", l.ID, "err", err)
	}
}

// Change changes the visitor's password, ends all their sessions and returns a new one. A wrong current
// password counts as an attempt to sign in.
func (s *Passwords) Change(ctx context.Context, v *people.Visitor, current, next llm.Secret, o people.Origin) (
	llm.Secret, error,
) {
	if err := v.May(people.SignedIn, ""); err != nil {
		return llm.Secret{}, err
	}
	if !s.directory.Passwords() {
		return llm.Secret{}, people.NoPasswords()
	}
	u := v.User()
	if !u.Password {
		return llm.Secret{},
			llm.Invalid("current",
				"You have no password and sign in by single sign-on. Use a link for a new password to set one.")
	}
	if err := checkPassword(next, u.Email); err != nil {
		return llm.Secret{}, err
	}
	if _, err := s.authenticate(ctx, u.Email, current, o); err != nil {
		if e := llm.AsError(err); e.Code == llm.CodeAuthentication {
			return llm.Secret{}, llm.Invalid("current", "This is not your current password.")
		}
		return llm.Secret{}, err
	}
	hash, err := s.hasher.hash(ctx, next)
	if err != nil {
		return llm.Secret{}, err
	}
	token, n := s.newSession(u.ID, people.ByPassword, o)
	n.Passed = true
	err = s.stores.Passwords.SetPassword(ctx, v.Actor(o), v.Session().ID, hash, n)
	return token, ownChange("change password", err)
}

// Forgot mails a link for a new password to that address if it belongs to a user and mail is configured. Neither the
// answer nor its time reveals which, because Run looks the user up later. The error is a *llm.Error: CodeRateLimited
// after too many requests.
func (s *Passwords) Forgot(ctx context.Context, email string, o people.Origin) error {
	if !s.directory.Passwords() {
		return people.NoPasswords()
	}
	email, err := people.CheckEmail(email)
	if err != nil {
		return err
	}
	if _, err := s.try(ctx, forgotMarks(email, o.Address)); err != nil {
		return err
	}
	if !s.directory.Mails() {
		return nil
	}
	select {
	case s.forgotten <- forgotten{email, o}:
		return nil
	default:
		return &llm.Error{
			Code: llm.CodeOverloaded, RetryAfter: time.Minute,
			Message: "Too many mails are waiting to be sent. Try again in a minute.",
		}
	}
}

// Run mails the links that Forgot queued, one after the other, until ctx ends.
func (s *Passwords) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case f := <-s.forgotten:
			if err := s.remind(ctx, f); err != nil && ctx.Err() == nil {
				s.log.Error("a password reset link could not be mailed", "err", err)
			}
		}
	}
}

// remind mails one link.
func (s *Passwords) remind(ctx context.Context, f forgotten) error {
	ctx, cancel := context.WithTimeout(ctx, forgotLimit)
	defer cancel()
	nobody := audit.Actor{Kind: audit.Nobody, Address: f.origin.Address, Request: f.origin.Request}
	return s.directory.MailReset(ctx, nobody, f.email)
}
