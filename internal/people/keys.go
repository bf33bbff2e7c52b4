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
	case v.May(Manage, k.AccountID) == nil:
		return nil
	case k.IsPlayground():
		return llm.Errorf(llm.CodeForbidden, "Only owners of the account and operators can change a key that stands for "+
			"somebody in the playground.")
	case u != nil && k.Creator == u.ID && v.May(Use, k.AccountID) == nil:
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

// MayMakeServiceKey refuses whoever may make no key in the account that belongs to no person: it is for owners and
// operators. Such a key does not administer the installation, as it would not end with its maker's role. The error is a
// *llm.Error with CodeForbidden or CodeInvalidRequest.
func (v *Visitor) MayMakeServiceKey(accountID string, permissions []account.Permission) error {
	if v.May(Manage, accountID) != nil {
		return llm.Errorf(llm.CodeForbidden, "Only owners of the account and operators can create a service key. "+
			"Create a key of your own, or ask an owner.").At("service")
	}
	if slices.Contains(permissions, account.Admin) {
		return llm.Invalid("service", `A service key cannot have the permission "admin". Create a key of your own.`)
	}
	return nil
}
