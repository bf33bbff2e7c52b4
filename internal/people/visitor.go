package people

import (
	"slices"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/llm"
)

// Right is a right that a page or an administration request requires.
type Right string

// These are the rights. Read, Use, Manage and ReadContent apply to one account.
const (
	Open     Right = "open" // everybody, signed in or not
	SignedIn Right = "signed_in"
	Read     Right = "read"
	Use      Right = "use"
	Manage   Right = "manage"
	Operate  Right = "operate"
	// ReadContent is the right to read the content of an account's requests. Operators do not have it, unless the
	// configuration gives it to them.
	ReadContent Right = "read_content"
)

// rights lists the rights of each role in its account. Operators have all rights but ReadContent.
var rights = map[Role][]Right{
	Owner:  {Read, Use, Manage, ReadContent},
	Member: {Read, Use},
	Viewer: {Read},
}

// Visitor is a signed-in person, or a program with an operator's key. Its zero value, and nil, have no rights.
type Visitor struct {
	user     *User
	session  *Session
	in       []Membership
	key      *account.Key // of a program with an operator's key; then user is nil
	confined bool
	content  bool // an operator may read content
}

// Confined reports whether the visitor has roles by single sign-on that do not apply to this session, because it began
// in another way.
func (v *Visitor) Confined() bool { return v != nil && v.confined }

// AllowContent gives an operator the right ReadContent in all accounts.
func (v *Visitor) AllowContent() { v.content = true }

// Confine removes roles that do not apply to the visitor's session: the operator role if operator is set, and the
// memberships in the accounts with those names.
func (v *Visitor) Confine(operator bool, gives func(account string) bool) {
	removed := func(m Membership) bool { return gives(m.AccountName) }
	v.confined = v.user.Operator && operator || slices.ContainsFunc(v.in, removed)
	v.user.Operator = v.user.Operator && !operator
	v.in = slices.DeleteFunc(v.in, removed)
}

// User returns the signed-in user; nil for the zero value.
func (v *Visitor) User() *User {
	if v == nil {
		return nil
	}
	return v.user
}

// Session returns the signed-in session; nil for the zero value.
func (v *Visitor) Session() *Session {
	if v == nil {
		return nil
	}
	return v.session
}

// Memberships returns the visitor's memberships, sorted by account name.
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

// Key returns the operator's key of a program; nil for a person.
func (v *Visitor) Key() *account.Key {
	if v == nil {
		return nil
	}
	return v.key
}

// Role returns the visitor's role in an account; empty for none.
func (v *Visitor) Role(accountID string) Role {
	for _, m := range v.Memberships() {
		if m.AccountID == accountID {
			return m.Role
		}
	}
	return ""
}

// May returns nil if the visitor has the right, in that account if the right applies to one. Otherwise the error is a
// *llm.Error: CodeAuthentication if nobody is signed in, CodeNotFound for an account that is not the visitor's, so that
// other accounts stay hidden, CodeForbidden if the visitor's role lacks the right.
func (v *Visitor) May(right Right, accountID string) error {
	switch {
	case right == Open:
		return nil
	case v == nil || v.user == nil && v.key == nil:
		return llm.Errorf(llm.CodeAuthentication, "You are not signed in. Sign in first.")
	case right == SignedIn, v.Operator() && (right != ReadContent || v.content):
		return nil
	case right == ReadContent && v.Operator() && v.Role(accountID) != Owner:
		return llm.Errorf(llm.CodeForbidden, "Operators may not read the content of requests. Ask an owner of the "+
			"account, or set content.operators in the configuration.")
	case right == Operate:
		return llm.Errorf(llm.CodeForbidden, "Only operators may do this. Ask an operator of this installation.")
	}
	role := v.Role(accountID)
	if role == "" {
		return llm.Errorf(llm.CodeNotFound, "There is no such account, or you are not a member of it.")
	}
	for _, has := range rights[role] {
		if has == right {
			return nil
		}
	}
	return llm.Errorf(llm.CodeForbidden, "A %s of this account may not do this. Ask an owner of the account.", role)
}

// Actor returns the visitor as an actor of the audit log.
func (v *Visitor) Actor(o Origin) audit.Actor {
	a := audit.Actor{Kind: audit.Nobody, Address: o.Address, Request: o.Request, Tool: o.Tool}
	if u := v.User(); u != nil {
		a.Kind, a.ID, a.Name = audit.User, u.ID, u.Email
	} else if k := v.Key(); k != nil {
		a.Kind, a.ID, a.Name = audit.Key, k.ID, k.Label
	}
	return a
}

// NewVisitor returns the visitor of a session.
func NewVisitor(u User, s *Session, in []Membership) *Visitor {
	return &Visitor{user: &u, session: s, in: in}
}

// KeyHolder returns the visitor of a program with an operator's key. The key must be valid and have the permission
// account.Admin.
func KeyHolder(k *account.Key) *Visitor { return &Visitor{key: k} }
