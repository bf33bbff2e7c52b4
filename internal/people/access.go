package people

import (
	"context"
	"errors"

	"weir/internal/audit"
	"weir/internal/llm"
)

// SetDisabled disables or enables a user. It ends a disabled user's sessions and refuses new ones; memberships stay.
// The error is a *llm.Error: CodeNotFound for an unknown user, CodeInvalidRequest for an operator, CodeForbidden if by
// is no longer an operator.
func (d *Directory) SetDisabled(ctx context.Context, by audit.Actor, userID string, disabled bool) error {
	return changedAccess("change access", d.stores.Access.SetDisabled(ctx, by, userID, disabled))
}

// RemoveUser deletes a user with their name, address, password, sessions and roles. API keys of accounts and entries of
// the audit log stay. It returns the errors of SetDisabled, and CodeInvalidRequest for the last owner of an account.
func (d *Directory) RemoveUser(ctx context.Context, by audit.Actor, userID string) error {
	return changedAccess("remove user", d.stores.Access.RemoveUser(ctx, by, userID))
}

// RemoveFactor removes the second factor of a user who has lost the app and the recovery codes, with all passkeys, and
// ends their sessions. The error is a *llm.Error with CodeNotFound for an unknown user.
func (d *Directory) RemoveFactor(ctx context.Context, by audit.Actor, userID string) error {
	return changedAccess("reset second factor", d.stores.Factors.SetFactor(ctx, by, userID, Factor{}, ""))
}

func changedAccess(doing string, err error) error {
	if errors.Is(err, ErrOperator) {
		return llm.Invalid("user", "This user is an operator. Remove that role first.")
	}
	return changed(doing, "user", "This user is the last owner of an account. Make another member its owner first.",
		err)
}
