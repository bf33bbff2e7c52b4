package people

import (
	"context"
	"errors"

	"weir/internal/audit"
	"weir/internal/llm"
)

func disabled() error {
	return llm.Errorf(llm.CodeForbidden, "Your user is disabled. Ask an operator of this installation.")
}

// SetDisabled disables or enables a user. It ends a disabled user's sessions and refuses new ones; memberships stay.
// The error is a *llm.Error: CodeNotFound for an unknown user, CodeInvalidRequest for an operator, CodeForbidden if by
// is no longer an operator.
func (s *Service) SetDisabled(ctx context.Context, by audit.Actor, userID string, disabled bool) error {
	return changedAccess("change access", s.stores.Access.SetDisabled(ctx, by, userID, disabled))
}

// RemoveUser deletes a user with their name, address, password, sessions and roles. API keys of accounts and entries of
// the audit log stay. It returns the errors of SetDisabled, and CodeInvalidRequest for the last owner of an account.
func (s *Service) RemoveUser(ctx context.Context, by audit.Actor, userID string) error {
	return changedAccess("remove user", s.stores.Access.RemoveUser(ctx, by, userID))
}

func changedAccess(doing string, err error) error {
	if errors.Is(err, ErrOperator) {
		return llm.Invalid("user", "This user is an operator. Remove that role first.")
	}
	return changed(doing, "user", "This user is the last owner of an account. Make another member its owner first.",
		err)
}
