package people

import (
	"context"
	"errors"
	"fmt"

	"weir/internal/audit"
	"weir/internal/llm"
)

// Users are all users, by e-mail.
func (s *Service) Users(ctx context.Context) ([]User, error) {
	list, err := s.stores.Users.Users(ctx)
	if err != nil {
		return nil, fmt.Errorf("list users: %w", err)
	}
	return list, nil
}

// User is the user of that id or e-mail. The error is a *llm.Error with
// CodeNotFound when there is none.
func (s *Service) User(ctx context.Context, idOrEmail string) (User, error) {
	l, err := s.stores.Users.Login(ctx, normalEmail(idOrEmail))
	if errors.Is(err, ErrNotFound) {
		return User{}, noUser()
	}
	if err != nil {
		return User{}, fmt.Errorf("find user: %w", err)
	}
	return l.User, nil
}

// Members are the members of the account of that id, by e-mail.
func (s *Service) Members(ctx context.Context, accountID string) ([]Membership, error) {
	list, err := s.stores.Members.Members(ctx, accountID)
	if err != nil {
		return nil, fmt.Errorf("list members: %w", err)
	}
	return list, nil
}

// SetRole changes what a member is in an account. The error is a *llm.Error:
// CodeNotFound for no member, CodeInvalidRequest for the last owner, who stays one.
func (s *Service) SetRole(ctx context.Context, by audit.Actor, accountID, userID string, r Role) error {
	if err := checkRole(r); err != nil {
		return err
	}
	return changed("change role", "role", "This is the last owner of the account. Make somebody else an owner first.",
		s.stores.Members.SetRole(ctx, by, accountID, userID, r))
}

// RemoveMember takes a member out of an account, with the errors of SetRole. The
// user stays, whatever they are a member of.
func (s *Service) RemoveMember(ctx context.Context, by audit.Actor, accountID, userID string) error {
	return changed("remove member", "user", "This is the last owner of the account. Make somebody else an owner first.",
		s.stores.Members.RemoveMember(ctx, by, accountID, userID))
}

// SetOperator makes a user an operator, or none. The error is a *llm.Error:
// CodeNotFound for no user, CodeInvalidRequest for the last operator, who stays
// one, and for a user whose address is not proven: an owner of an account may have
// invited somebody else's address, and come in their place. CodeForbidden where by is no
// operator any more.
func (s *Service) SetOperator(ctx context.Context, by audit.Actor, userID string, on bool) error {
	err := s.stores.Users.SetOperator(ctx, by, userID, on)
	if err == nil && !on {
		s.demoted()
	}
	switch {
	case errors.Is(err, ErrUnproven):
		return llm.Invalid("user", "Nobody has proven that this address is the user's own: whoever invited them may "+
			"have come in their place. "+
			"Invite them as an operator, or make them a link for a new password, and hand it over in a way you "+
			"trust; its use proves the address.")
	case errors.Is(err, ErrDisabled):
		return llm.Invalid("user", "This user is disabled. Enable them first.")
	}
	return changed("change operator", "user", "This is the last operator. Make somebody else an operator first.", err)
}

func notAllowed() error {
	return llm.Errorf(llm.CodeForbidden, "You may not do this any more: your role was taken away.")
}

// changed says for people why a change was not made.
func changed(doing, param, last string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, audit.ErrNotAllowed):
		return notAllowed()
	case errors.Is(err, ErrLast):
		return llm.Invalid(param, last)
	case errors.Is(err, ErrNotFound):
		return noUser()
	}
	return fmt.Errorf("%s: %w", doing, err)
}
