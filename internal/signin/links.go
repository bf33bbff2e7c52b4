package signin

import (
	"context"
	"errors"
	"fmt"

	"weir/internal/account"
	"weir/internal/llm"
	"weir/internal/people"
)

// Links lets people in by one-time links.
type Links struct {
	*base
	passwords *Passwords
}

// Find returns the valid one-time link of that kind. The error is a *llm.Error with CodeNotFound if the link is
// invalid, expired or of another kind.
func (s *Links) Find(ctx context.Context, token string, kind people.LinkKind) (Link, error) {
	if token == "" || len(token) > maxToken {
		return Link{}, badLink(kind)
	}
	if !s.directory.Passwords() && kind == people.ResetLink {
		return Link{}, people.NoPasswords()
	}
	l, err := s.stores.Admissions.LinkByHash(ctx, people.HashOf(token), s.now())
	if errors.Is(err, people.ErrNotFound) || err == nil && l.Kind != kind {
		return Link{}, badLink(kind)
	}
	if err != nil {
		return Link{}, fmt.Errorf("find link: %w", err)
	}
	return l, nil
}

func badLink(kind people.LinkKind) error {
	if kind == people.SetupLink {
		return llm.Errorf(llm.CodeNotFound, "This link is invalid: it was used, it is too old, or a newer link "+
			"replaced it. If this installation is set up, sign in. Otherwise run \"weir operators add EMAIL\", with "+
			"your address, on the gateway's machine: it prints a link for an operator.")
	}
	return llm.Errorf(llm.CodeNotFound, "This link is invalid or has expired: it was used, it is too old, or a "+
		"newer link replaced it. Ask for a new one.")
}

// used converts an error of using a link: the link may have been used up, or its user created, while the person filled
// in the form.
func used(doing string, kind people.LinkKind, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, people.ErrNotFound):
		return badLink(kind)
	case errors.Is(err, people.ErrDisabled):
		return disabled()
	case errors.Is(err, people.ErrExists):
		return llm.Invalid("email", "A user with this e-mail address already exists. Sign in.")
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// SetUp creates the first operator, who also owns the account account.DefaultName, and returns a session. It uses up
// the token of the set-up link. If passwords are off, p's password is ignored.
func (s *Links) SetUp(ctx context.Context, token string, p Person, o people.Origin) (llm.Secret, error) {
	if _, err := s.Find(ctx, token, people.SetupLink); err != nil {
		return llm.Secret{}, err
	}
	email, err := people.CheckEmail(p.Email)
	if err != nil {
		return llm.Secret{}, err
	}
	session, a, err := s.newcomer(ctx, token, email, p, people.BySetup, o)
	if err != nil {
		return llm.Secret{}, err
	}
	return session, used("set up", people.SetupLink, s.stores.Admissions.UseSetup(ctx, a))
}

// newcomer builds the admission of a new user.
func (s *Links) newcomer(ctx context.Context, token, email string, p Person, method string, o people.Origin) (
	session llm.Secret, a Admission, err error,
) {
	u := people.User{ID: account.NewID(), Email: email, Password: s.directory.Passwords(), Created: s.now()}
	if u.Name, err = people.CheckName(p.Name); err != nil {
		return session, a, err
	}
	var hash llm.Secret
	if u.Password {
		if err := checkPassword(p.Password, email); err != nil {
			return session, a, err
		}
		if hash, err = s.passwords.hasher.hash(ctx, p.Password); err != nil {
			return session, a, err
		}
	}
	session, n := s.newSession(u.ID, method, o)
	return session, Admission{
		Link: people.HashOf(token), User: u, Password: hash, Session: &n, By: actorOf(&u, o), At: s.now(),
	}, nil
}

// Accept uses an invitation and returns a session. A new user gets the invitation's address and p's name and password.
// A known user enters their password. If an operator invited a user with an unproven address, p's password replaces the
// old one, all sessions end and the address counts as proven. The e-mail address in p is ignored.
func (s *Links) Accept(ctx context.Context, token string, p Person, o people.Origin) (llm.Secret, error) {
	l, err := s.Find(ctx, token, people.InviteLink)
	if err != nil {
		return llm.Secret{}, err
	}
	if !s.directory.Passwords() {
		return llm.Secret{}, people.NoPasswords()
	}
	if l.Unsaid { // apply the same checks to known and new users
		if _, err := people.CheckName(p.Name); err != nil {
			return llm.Secret{}, err
		}
		if err := checkPassword(p.Password, l.Email); err != nil {
			return llm.Secret{}, err
		}
	}
	var session llm.Secret
	var a Admission
	switch {
	case l.Known:
		session, a, err = s.comeback(ctx, token, l.Email, p.Password, o)
	case l.Claims:
		session, a, err = s.renewal(ctx, token, l.Email, p.Password, people.ByInvitation, o)
	default:
		session, a, err = s.newcomer(ctx, token, l.Email, p, people.ByInvitation, o)
	}
	if err != nil {
		return llm.Secret{}, err
	}
	return session, used("accept invitation", people.InviteLink, s.stores.Admissions.UseInvitation(ctx, a))
}

// comeback builds the admission of an existing user. It checks the password, because the inviter has the link too.
func (s *Links) comeback(ctx context.Context, token, email string, password llm.Secret, o people.Origin) (
	session llm.Secret, a Admission, err error,
) {
	l, err := s.passwords.authenticate(ctx, email, password, o)
	if err != nil {
		return session, a, err
	}
	session, n := s.newSession(l.ID, people.ByInvitation, o)
	return session, Admission{
		Link: people.HashOf(token), User: l.User, Session: &n, By: actorOf(&l.User, o), At: s.now(),
	}, nil
}

// Follow signs in the operator of a link, and uses the link up.
func (s *Links) Follow(ctx context.Context, token string, o people.Origin) (llm.Secret, error) {
	link, err := s.Find(ctx, token, people.SignInLink)
	if err != nil {
		return llm.Secret{}, err
	}
	l, err := s.stores.Users.Login(ctx, link.Email)
	if err != nil {
		return llm.Secret{}, used("find user", people.SignInLink, err)
	}
	session, n := s.newSession(l.ID, people.ByLink, o)
	a := Admission{Link: people.HashOf(token), User: l.User, Session: &n, By: actorOf(&l.User, o), At: s.now()}
	return session, used("sign in by a link", people.SignInLink, s.stores.Admissions.UseReset(ctx, a))
}

// Reset sets a new password for the user of the link, ends all their sessions and returns a new one. It also proves
// their address, because the link was mailed to it or came from an operator.
func (s *Links) Reset(ctx context.Context, token string, next llm.Secret, o people.Origin) (llm.Secret, error) {
	l, err := s.Find(ctx, token, people.ResetLink)
	if err != nil {
		return llm.Secret{}, err
	}
	session, a, err := s.renewal(ctx, token, l.Email, next, people.ByReset, o)
	if err != nil {
		return llm.Secret{}, err
	}
	return session, used("reset password", people.ResetLink, s.stores.Admissions.UseReset(ctx, a))
}

// renewal builds the admission of a user with a new password.
func (s *Links) renewal(ctx context.Context, token, email string, next llm.Secret, method string, o people.Origin) (
	session llm.Secret, a Admission, err error,
) {
	if err := checkPassword(next, email); err != nil {
		return session, a, err
	}
	l, err := s.stores.Users.Login(ctx, email)
	if err != nil {
		return session, a, used("find user", people.ResetLink, err)
	}
	hash, err := s.passwords.hasher.hash(ctx, next)
	if err != nil {
		return session, a, err
	}
	session, n := s.newSession(l.ID, method, o)
	return session, Admission{
		Link: people.HashOf(token), User: l.User, Password: hash, Session: &n, By: actorOf(&l.User, o), At: s.now(),
	}, nil
}
