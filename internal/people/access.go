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

// SetDisabled keeps a user out: their sessions end, and nobody signs in as them, or it lets them in again. What they
// are a member of stays. The error is a *llm.Error: CodeNotFound for no user, CodeInvalidRequest for an operator,
// CodeForbidden where by is no operator any more.
func (s *Service) SetDisabled(ctx context.Context, by audit.Actor, userID string, disabled bool) error {
	return changedAccess("change access", s.stores.Access.SetDisabled(ctx, by, userID, disabled))
}

// RemoveUser forgets a user: their name, address, password, sessions and roles. API keys of accounts stay, and the
// audit log tells what they did. The errors are those of SetDisabled, and CodeInvalidRequest for the last owner of an
// account.
func (s *Service) RemoveUser(ctx context.Context, by audit.Actor, userID string) error {
	return changedAccess("remove user", s.stores.Access.RemoveUser(ctx, by, userID))
}

func changedAccess(doing string, err error) error {
	if errors.Is(err, ErrOperator) {
		return llm.Invalid("user", "This user is an operator. Take that role away first.")
	}
	return changed(doing, "user", "They are the last owner of an account. Make somebody else its owner first.", err)
}
