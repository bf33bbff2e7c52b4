package people

import (
	"slices"

	"weir/internal/account"
	"weir/internal/llm"
)

// MayChangeKey returns an error unless the visitor may change all keys of the account or created this one. Only
// operators may change a key that administers the installation. The error is a *llm.Error with CodeForbidden.
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
		return llm.Errorf(llm.CodeForbidden, "Only owners of the account and operators can change a key of "+
			"the playground.")
	case u != nil && k.Creator == u.ID && v.May(Use, k.AccountID) == nil:
		return nil
	}
	return llm.Errorf(llm.CodeForbidden, "Members can change and revoke only keys that they created. Ask an owner of "+
		"the account.")
}

// MayRevokeKey returns an error unless the visitor may revoke all keys of the account or may change this one. Owners
// may revoke every key of their account.
func (v *Visitor) MayRevokeKey(k *account.Key) error {
	if v.May(Manage, k.AccountID) == nil {
		return nil
	}
	return v.MayChangeKey(k)
}

// MayMakeServiceKey returns an error unless the visitor may create service keys in the account; only owners and
// operators may. A service key cannot administer the installation, because it would not end with its creator's role.
// The error is a *llm.Error with CodeForbidden or CodeInvalidRequest.
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
