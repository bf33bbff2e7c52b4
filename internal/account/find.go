package account

import (
	"context"

	"github.com/google/uuid"

	"weir/internal/llm"
)

// FindKey returns the key with that id, or else the only key with that label that is not revoked: of the account with
// that name or id, or of all accounts if it is empty. The error is a *llm.Error: CodeNotFound if there is none,
// CodeInvalidRequest if several keys have the label.
func (s *Service) FindKey(ctx context.Context, account, ref string) (Key, error) {
	if uuid.Validate(ref) == nil {
		return s.Key(ctx, ref)
	}
	accounts := []string{account}
	if account == "" {
		all, err := s.Accounts(ctx)
		if err != nil {
			return Key{}, err
		}
		accounts = nil
		for i := range all {
			accounts = append(accounts, all[i].ID)
		}
	}
	var found []Key
	for _, of := range accounts {
		list, err := s.Keys(ctx, of)
		if err != nil {
			return Key{}, err
		}
		for i := range list {
			if list[i].Label == ref && list[i].Revoked == nil {
				found = append(found, list[i])
			}
		}
	}
	switch len(found) {
	case 0:
		return Key{}, notFound("key", ref)
	case 1:
		return found[0], nil
	}
	return Key{}, llm.Invalidf("key", "%d keys have the label %q. Name the account, or give the key's id.",
		len(found), ref)
}
