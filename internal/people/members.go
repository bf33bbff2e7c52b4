package people

import (
	"context"
	"errors"
	"fmt"

	"weir/internal/audit"
	"weir/internal/llm"
)

// Members returns the members of an account, sorted by e-mail address.
func (d *Directory) Members(ctx context.Context, accountID string) ([]Membership, error) {
	list, err := d.stores.Members.Members(ctx, accountID)
	if err != nil {
		return nil, fmt.Errorf("list members: %w", err)
	}
	return list, nil
}

// SetRole changes a member's role in an account. The error is a *llm.Error: CodeNotFound for an unknown member,
// CodeInvalidRequest for the last owner, who keeps the role.
func (d *Directory) SetRole(ctx context.Context, by audit.Actor, accountID, userID string, r Role) error {
	if err := checkRole(r); err != nil {
		return err
	}
	return changed("change role", "role", "This is the last owner of the account. Make another member an owner first.",
		d.stores.Members.SetRole(ctx, by, accountID, userID, r))
}

// RemoveMember removes a member from an account, with the errors of SetRole. The user continues to exist even without
// any membership.
func (d *Directory) RemoveMember(ctx context.Context, by audit.Actor, accountID, userID string) error {
	return changed("remove member", "user",
		"This is the last owner of the account. Make another member an owner first.",
		d.stores.Members.RemoveMember(ctx, by, accountID, userID))
}

// SetOperator grants or removes the operator role. The error is a *llm.Error: CodeNotFound for an unknown user,
// CodeForbidden if by is no longer an operator, CodeInvalidRequest for the last operator, who keeps the role, and for a
// user with an unproven address: the owner of an account may have invited an address and used the link themselves.
func (d *Directory) SetOperator(ctx context.Context, by audit.Actor, userID string, on bool) error {
	err := d.stores.Users.SetOperator(ctx, by, userID, on)
	if err == nil && !on {
		d.demoted()
	}
	switch {
	case errors.Is(err, ErrUnproven):
		return llm.Invalid("user", "This user's e-mail address is not proven: the person who invited them may have "+
			"used the link. "+
			"Invite the user as an operator, or create a link for a new password and send it over a channel that you "+
			"trust. Using the link proves the address.")
	case errors.Is(err, ErrDisabled):
		return llm.Invalid("user", "This user is disabled. Enable the user first.")
	}
	return changed("change operator", "user", "This is the last operator. Make another user an operator first.", err)
}

func notAllowed() error {
	return llm.Errorf(llm.CodeForbidden, "You may no longer do this, because your role was removed.")
}

// changed converts an error of a change into one for people.
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
