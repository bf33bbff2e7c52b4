package people

import (
	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/llm"
)

// Right is what a page or a call of the administration asks of whoever comes.
type Right string

// The rights. Those to read, use and manage are of one account.
const (
	Open     Right = "open" // everybody, signed in or not
	SignedIn Right = "signed_in"
	Read     Right = "read"
	Use      Right = "use"
	Manage   Right = "manage"
	Operate  Right = "operate"
)

// rights are what the roles may do in their account. Operators may do all.
var rights = map[Role][]Right{
	Owner:  {Read, Use, Manage},
	Member: {Read, Use},
	Viewer: {Read},
}

// Visitor is somebody who is signed in, or a program with an operator's key. Its zero value, and nil, may do nothing.
type Visitor struct {
	user     *User
	session  *Session
	in       []Membership
	key      *account.Key // of a program in an operator's place; then there is no user
	confined bool
}

// Confined reports whether the visitor had roles by single sign-on, which do not count
// in this session because it began in another way.
func (v *Visitor) Confined() bool { return v != nil && v.confined }

// User is who it is; nil for the zero value.
func (v *Visitor) User() *User {
	if v == nil {
		return nil
	}
	return v.user
}

// Session is the browser that is signed in; nil for the zero value.
func (v *Visitor) Session() *Session {
	if v == nil {
		return nil
	}
	return v.session
}

// Memberships are the accounts of the visitor, by name.
func (v *Visitor) Memberships() []Membership {
	if v == nil {
		return nil
	}
	return v.in
}

// Operator reports whether the visitor administers the installation.
func (v *Visitor) Operator() bool {
	return v != nil && (v.key != nil || v.user != nil && v.user.Operator)
}

// Key is the operator's key that came in place of a person; nil for a person.
func (v *Visitor) Key() *account.Key {
	if v == nil {
		return nil
	}
	return v.key
}

// Role is what the visitor is in an account; empty for nothing.
func (v *Visitor) Role(accountID string) Role {
	for _, m := range v.Memberships() {
		if m.AccountID == accountID {
			return m.Role
		}
	}
	return ""
}

// May returns nil when the visitor has the right, in that account where it is of
// one, and else a *llm.Error: CodeAuthentication for nobody, CodeNotFound for an
// account that is not the visitor's, so that nobody learns which ones there are,
// CodeForbidden for what the visitor's role does not allow.
func (v *Visitor) May(right Right, accountID string) error {
	switch {
	case right == Open:
		return nil
	case v == nil || v.user == nil && v.key == nil:
		return llm.Errorf(llm.CodeAuthentication, "Nobody is signed in.")
	case right == SignedIn, v.Operator():
		return nil
	case right == Operate:
		return llm.Errorf(llm.CodeForbidden, "Only operators may do this.")
	}
	role := v.Role(accountID)
	if role == "" {
		return llm.Errorf(llm.CodeNotFound, "There is no such account, or it is not one of yours.")
	}
	for _, has := range rights[role] {
		if has == right {
			return nil
		}
	}
	return llm.Errorf(llm.CodeForbidden, "A %s of this account may not do this.", role)
}

// Actor is the visitor as the audit log names it.
func (v *Visitor) Actor(o Origin) audit.Actor {
	a := audit.Actor{Kind: audit.Nobody, Address: o.Address, Request: o.Request}
	if u := v.User(); u != nil {
		a.Kind, a.ID, a.Name = audit.User, u.ID, u.Email
	} else if k := v.Key(); k != nil {
		a.Kind, a.ID, a.Name = audit.Key, k.ID, k.Label
	}
	return a
}

// NewVisitor is somebody who came in with a session, or without one.
func NewVisitor(u User, s *Session, in []Membership) *Visitor {
	return &Visitor{user: &u, session: s, in: in}
}

// KeyHolder is a program with an operator's key: one that was found good, and has
// the permission account.Admin.
func KeyHolder(k *account.Key) *Visitor { return &Visitor{key: k} }
