package people

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"weir/internal/llm"
)

// touchEvery is the precision of the time at which a session was last used.
const touchEvery = time.Minute

// These are the ways in which a session begins.
const (
	ByPassword   = "password"
	ByInvitation = "invitation"
	ByReset      = "reset"
	BySetup      = "setup"
	ByLink       = "link"
	ByOIDC       = "oidc"
)

// SignIn starts a session for the user with that address and password. The error is a *llm.Error: CodeAuthentication
// for an unknown address and for a wrong password, which take the same time, and CodeRateLimited with RetryAfter after
// many failures.
func (s *Service) SignIn(ctx context.Context, email string, password llm.Secret, o Origin) (llm.Secret, error) {
	email = normalEmail(email)
	l, err := s.authenticate(ctx, email, password, o)
	if err != nil {
		return llm.Secret{}, err
	}
	if err := s.countChange(&l.User); err != nil {
		return llm.Secret{}, err
	}
	token, n := s.newSession(l.ID, ByPassword, o)
	err = s.stores.Sessions.StartSession(ctx, actorOf(&l.User, o), n)
	switch {
	case errors.Is(err, ErrDisabled):
		return llm.Secret{}, disabled()
	case err != nil:
		return llm.Secret{}, fmt.Errorf("start session: %w", err)
	}
	return token, nil
}

// logFailed logs a failed sign-in. It omits the e-mail address, because people type passwords there. Attempts that the
// throttles refuse are not logged, so the log cannot fill a disk.
func (s *Service) logFailed(method, userID string, o Origin, reason any) {
	s.log.Warn("sign-in failed", "method", method, "user", userID, "address", o.Address, "request", o.Request,
		"reason", reason)
}

// authenticate returns the user with that address and password. It counts the attempt before it checks the password, so
// that concurrent attempts cannot bypass the limit.
func (s *Service) authenticate(ctx context.Context, email string, password llm.Secret, o Origin) (Login, error) {
	if s.passwordsOff {
		return Login{}, noPasswords()
	}
	marks := signInMarks(email, o.Address)
	known, err := s.try(ctx, marks)
	if err != nil {
		return Login{}, err
	}
	l, err := s.stores.Users.Login(ctx, email)
	// Login also accepts ids, which are not addresses
	if errors.Is(err, ErrNotFound) || err == nil && l.Email != email {
		l, err = Login{}, nil
	}
	if err != nil {
		return Login{}, fmt.Errorf("find user: %w", err)
	}
	ok, weak, err := s.hasher.verify(ctx, password, l.Hash, known)
	switch {
	case err != nil:
		return Login{}, err
	case !ok:
		s.logFailed(ByPassword, l.ID, o, "wrong password")
		return Login{}, llm.Errorf(llm.CodeAuthentication, "The e-mail address or the password is wrong.")
	}
	if err := s.stores.Throttles.PassSignIn(ctx, marks, s.now()); err != nil {
		return Login{}, fmt.Errorf("count attempt to sign in: %w", err)
	}
	if weak {
		s.rehash(ctx, &l, password)
	}
	return l, nil
}

// rehash renews the hash with the current parameters. Failure does not affect the sign-in.
func (s *Service) rehash(ctx context.Context, l *Login, password llm.Secret) {
	hash, err := s.hasher.hash(ctx, password)
	if err == nil {
		err = s.stores.Passwords.Rehash(ctx, l.ID, l.Hash, hash)
	}
	if err != nil {
		s.log.Warn("a password hash could not be upgraded", "user", l.ID, "err", err)
	}
}

// Visitor returns the visitor whose session has that token; nil without an error if there is none or it is over.
func (s *Service) Visitor(ctx context.Context, session string, o Origin) (*Visitor, error) {
	if session == "" || len(session) > maxToken {
		return nil, nil
	}
	v, err := s.stores.Sessions.VisitorBySession(ctx, hashOf(session))
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find session: %w", err)
	}
	now := s.now()
	if s.over(v.session, now) {
		return nil, nil
	}
	if now.Sub(v.session.Seen) >= touchEvery {
		v.session.Seen, v.session.Address = now, o.Address
		if err := s.stores.Sessions.TouchSession(ctx, *v.session); err != nil {
			s.log.Warn("the last use of a session could not be recorded", "session", v.session.ID, "err", err)
		}
	}
	s.oidc.confine(v)
	return v, nil
}

func (s *Service) over(n *Session, now time.Time) bool {
	return n.Pending || !now.Before(n.Expires) || !now.Before(n.Seen.Add(s.idle)) ||
		s.passwordsOff && (n.Method == ByPassword || n.Method == ByInvitation || n.Method == ByReset)
}

// Passwords reports whether people may sign in with a password and choose one.
func (s *Service) Passwords() bool { return !s.passwordsOff }

func noPasswords() error {
	return llm.Errorf(llm.CodeForbidden, "Passwords are switched off. Sign in by single sign-on. If an operator "+
		"cannot, the command weir operators link creates a link to sign in.")
}

// SignOut ends the visitor's session.
func (s *Service) SignOut(ctx context.Context, v *Visitor, o Origin) error {
	if v.Session() == nil {
		return nil
	}
	if _, err := s.stores.Sessions.EndSessions(ctx, v.Actor(o), v.user.ID, Ending{Only: v.session.ID}); err != nil {
		return fmt.Errorf("sign out: %w", err)
	}
	return nil
}

// Sessions returns the visitor's own active sessions, last used first.
func (s *Service) Sessions(ctx context.Context, v *Visitor) ([]Session, error) {
	if err := v.May(SignedIn, ""); err != nil {
		return nil, err
	}
	list, err := s.stores.Sessions.Sessions(ctx, v.user.ID)
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	now := s.now()
	return slices.DeleteFunc(list, func(n Session) bool { return s.over(&n, now) }), nil
}

// EndSession ends one of the visitor's own sessions. The error is a *llm.Error with CodeNotFound if they have no such
// session.
func (s *Service) EndSession(ctx context.Context, v *Visitor, id string, o Origin) error {
	if err := v.May(SignedIn, ""); err != nil {
		return err
	}
	n := 0
	var err error
	if id != "" { // an empty id would end all
		n, err = s.stores.Sessions.EndSessions(ctx, v.Actor(o), v.user.ID, Ending{Only: id})
	}
	if err != nil {
		return fmt.Errorf("end session: %w", err)
	}
	if n == 0 {
		return llm.Errorf(llm.CodeNotFound, "You have no such session, or it has ended.")
	}
	return nil
}

// EndOtherSessions ends all sessions of the visitor except this one.
func (s *Service) EndOtherSessions(ctx context.Context, v *Visitor, o Origin) error {
	if err := v.May(SignedIn, ""); err != nil {
		return err
	}
	e := Ending{}
	if v.session != nil {
		e.Except = v.session.ID
	}
	if _, err := s.stores.Sessions.EndSessions(ctx, v.Actor(o), v.user.ID, e); err != nil {
		return fmt.Errorf("end sessions: %w", err)
	}
	return nil
}

// ChangeName changes the visitor's name, of at most 100 characters.
func (s *Service) ChangeName(ctx context.Context, v *Visitor, name string, o Origin) error {
	if err := v.May(SignedIn, ""); err != nil {
		return err
	}
	name, err := checkPersonName(name)
	if err != nil {
		return err
	}
	if err := s.stores.Users.RenameUser(ctx, v.Actor(o), v.user.ID, name); err != nil {
		return fmt.Errorf("change name: %w", err)
	}
	return nil
}

// ChangePassword changes the visitor's password, ends all their sessions and returns a new one. A wrong current
// password counts as an attempt to sign in.
func (s *Service) ChangePassword(ctx context.Context, v *Visitor, current, next llm.Secret, o Origin) (llm.Secret,
	error,
) {
	if err := v.May(SignedIn, ""); err != nil {
		return llm.Secret{}, err
	}
	if s.passwordsOff {
		return llm.Secret{}, noPasswords()
	}
	u := v.user
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
	token, n := s.newSession(u.ID, ByPassword, o)
	n.Passed = true
	err = s.stores.Passwords.SetPassword(ctx, v.Actor(o), v.session.ID, hash, n)
	return token, ownChange("change password", err)
}
