package people

import (
	"context"
	"errors"
	"fmt"
	"time"

	"weir/internal/audit"
	"weir/internal/llm"
)

// SetUp creates the first operator, who also owns the account account.DefaultName, and returns a session. It uses up
// the token of the set-up link. If passwords are off, p's password is ignored.
func (s *Service) SetUp(ctx context.Context, token string, p Person, o Origin) (llm.Secret, error) {
	if _, err := s.Link(ctx, token, SetupLink); err != nil {
		return llm.Secret{}, err
	}
	email, err := checkEmail(p.Email)
	if err != nil {
		return llm.Secret{}, err
	}
	session, a, err := s.newcomer(ctx, token, email, p, BySetup, o)
	if err != nil {
		return llm.Secret{}, err
	}
	return session, used("set up", SetupLink, s.stores.Admissions.UseSetup(ctx, a))
}

// newcomer builds the admission of a new user.
func (s *Service) newcomer(ctx context.Context, token, email string, p Person, method string, o Origin) (
	session llm.Secret, a Admission, err error,
) {
	u := User{ID: newID(), Email: email, Password: !s.passwordsOff, Created: s.now()}
	if u.Name, err = checkPersonName(p.Name); err != nil {
		return session, a, err
	}
	var hash llm.Secret
	if u.Password {
		if err := checkPassword(p.Password, email); err != nil {
			return session, a, err
		}
		if hash, err = s.hasher.hash(ctx, p.Password); err != nil {
			return session, a, err
		}
	}
	session, n := s.newSession(u.ID, method, o)
	return session, Admission{
		Link: hashOf(token), User: u, Password: hash, Session: &n, By: actorOf(&u, o), At: s.now(),
	}, nil
}

// checkRole returns an error for an unknown role.
func checkRole(r Role) error {
	if _, ok := rights[r]; !ok {
		return llm.Invalidf("role", "%q is not a role. Use %q, %q or %q.", r, Owner, Member, Viewer)
	}
	return nil
}

// Invite creates an invitation to an account or to operate the installation, which is valid for 7 days, and returns the
// token for the link /invite/TOKEN. If mail is configured, it mails the link; if that fails, it returns the invitation,
// which stays valid, and the error. It replaces an earlier invitation of the same person to the same place. It reads
// only the fields Email, AccountID, Role, Operator and Untrusted of i.
func (s *Service) Invite(ctx context.Context, by audit.Actor, i Invitation) (llm.Secret, Invitation, error) {
	token, n, err := newInvitation(by, i, s.now())
	if err == nil && !i.Operator && i.AccountID == "" {
		err = llm.Invalid("account", "The invitation names no account. Set the account's name or id.")
	}
	if err != nil {
		return llm.Secret{}, i, err
	}
	i, err = s.stores.Invitations.Invite(ctx, by, n.Invitation, n.Link)
	if err != nil {
		return llm.Secret{}, i, inviting(n.Email, err)
	}
	return token, i, s.mailInvitation(ctx, &i, token)
}

// newInvitation builds an invitation from i, and the token of its link.
func newInvitation(by audit.Actor, i Invitation, now time.Time) (llm.Secret, NewInvitation, error) {
	email, err := checkEmail(i.Email)
	if err == nil && !i.Operator {
		err = checkRole(i.Role)
	}
	if err != nil {
		return llm.Secret{}, NewInvitation{}, err
	}
	if i.Operator {
		i.AccountID, i.Role = "", ""
	}
	token, hash := newToken()
	i.ID, i.Email, i.By, i.Created, i.Expires = newID(), email, by.Name, now, now.Add(inviteFor)
	return token, NewInvitation{i, hash}, nil
}

// inviting converts a store's error of an invitation into an error for people.
func inviting(email string, err error) error {
	switch {
	case errors.Is(err, ErrExists):
		return llm.Invalid("email", email+" is already a member or operator.")
	case errors.Is(err, ErrNotFound):
		return llm.Errorf(llm.CodeNotFound, "There is no such account.").At("account")
	case errors.Is(err, audit.ErrNotAllowed):
		return notAllowed()
	}
	return fmt.Errorf("invite: %w", err)
}

// Invitations returns an account's unused invitations, newest first, or those of operators if accountID is empty.
func (s *Service) Invitations(ctx context.Context, accountID string) ([]Invitation, error) {
	list, err := s.stores.Invitations.Invitations(ctx, accountID, s.now())
	if err != nil {
		return nil, fmt.Errorf("list invitations: %w", err)
	}
	return list, nil
}

// CancelInvitation deletes an unused invitation to an account, or of an operator if accountID is empty. The error is a
// *llm.Error with CodeNotFound if there is none.
func (s *Service) CancelInvitation(ctx context.Context, by audit.Actor, accountID, id string) error {
	err := s.stores.Invitations.CancelInvitation(ctx, by, accountID, id)
	if errors.Is(err, ErrNotFound) {
		return llm.Errorf(llm.CodeNotFound, "There is no such invitation, or it was already used.")
	}
	if err != nil {
		return fmt.Errorf("cancel invitation: %w", err)
	}
	return nil
}

// Accept uses an invitation and returns a session. A new user gets the invitation's address and p's name and password.
// A known user enters their password. If an operator invited a user with an unproven address, p's password replaces the
// old one, all sessions end and the address counts as proven. The e-mail address in p is ignored.
func (s *Service) Accept(ctx context.Context, token string, p Person, o Origin) (llm.Secret, error) {
	l, err := s.Link(ctx, token, InviteLink)
	if err != nil {
		return llm.Secret{}, err
	}
	if s.passwordsOff {
		return llm.Secret{}, noPasswords()
	}
	if l.Unsaid { // apply the same checks to known and new users
		if _, err := checkPersonName(p.Name); err != nil {
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
		session, a, err = s.renewal(ctx, token, l.Email, p.Password, ByInvitation, o)
	default:
		session, a, err = s.newcomer(ctx, token, l.Email, p, ByInvitation, o)
	}
	if err != nil {
		return llm.Secret{}, err
	}
	return session, used("accept invitation", InviteLink, s.stores.Admissions.UseInvitation(ctx, a))
}

// comeback builds the admission of an existing user. It checks the password, because the inviter has the link too.
func (s *Service) comeback(ctx context.Context, token, email string, password llm.Secret, o Origin) (session llm.Secret,
	a Admission, err error,
) {
	l, err := s.authenticate(ctx, email, password, o)
	if err != nil {
		return session, a, err
	}
	session, n := s.newSession(l.ID, ByInvitation, o)
	return session, Admission{Link: hashOf(token), User: l.User, Session: &n, By: actorOf(&l.User, o), At: s.now()}, nil
}
