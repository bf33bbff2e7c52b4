package people

import (
	"slices"

	"weir/internal/account"
	"weir/internal/llm"
)

// MayChangeKey refuses whoever may neither change all keys of the account nor made this one. A key that administers the
// installation is for operators alone. The error is a *llm.Error with CodeForbidden.
func (v *Visitor) MayChangeKey(k *account.Key) error {
	u := v.User()
	switch {
	case v.Operator():
		return nil
	case slices.Contains(k.Permissions, account.Admin):
		return llm.Errorf(llm.CodeForbidden, `Only operators can change a key with the permission "admin".`)
	case v.May(Manage, k.AccountID) == nil, u != nil && k.Creator == u.ID && v.May(Use, k.AccountID) == nil:
		return nil
	}
	return llm.Errorf(llm.CodeForbidden, "Members can change and revoke only keys that they created. Ask an owner of "+
		"the account.")
}

// MayRevokeKey refuses whoever may neither revoke all keys of the account nor change this one. Owners may revoke
// whatever is in their account.
func (v *Visitor) MayRevokeKey(k *account.Key) error {
	if v.May(Manage, k.AccountID) == nil {
		return nil
	}
	return v.MayChangeKey(k)
}
