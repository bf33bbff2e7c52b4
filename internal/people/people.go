// Package people is who signs in: users with their passwords, sessions and
// single sign-on, the accounts that they are members of, and what each may do
// there.
package people

import (
	"time"

	"weir/internal/llm"
)

// User is a person who signs in.
type User struct {
	ID       string // UUID, version 7
	Email    string // unique, in lower case
	Name     string // as people write it; may be empty
	Operator bool   // administers the whole installation
	Password bool   // has one; without it the way in is single sign-on
	// Proven says that the address is theirs: they came by what was mailed to it, by
	// single sign-on, by a link that an operator handed over, or set up. An account's
	// owner has the links of those who are invited there, and may use one.
	Proven bool
	// SecondFactor says that a password alone does not let them in: they have an authenticator app.
	SecondFactor bool
	Disabled     *time.Time // since when they may not sign in; nil for those who may
	Created      time.Time
	Seen         *time.Time // when the last session was used; nil for never
}

// Role is what a member is in an account.
type Role string

// The roles. Each may do what the one after it may.
const (
	Owner  Role = "owner"  // manages members, keys and webhooks
	Member Role = "member" // makes keys of their own and uses the playground
	Viewer Role = "viewer" // sees usage and requests
)

// Membership is a user in an account.
type Membership struct {
	AccountID, AccountName string
	UserID, Email, Name    string
	Role                   Role
	Since                  time.Time
}

// Session is one browser that is signed in.
type Session struct {
	ID      string // UUID, version 7; not the secret
	UserID  string
	Method  string // password, invitation, reset, setup, link or oidc
	Address string // of its last request
	Agent   string // the browser, as it calls itself
	Created time.Time
	Seen    time.Time
	Expires time.Time // at the latest
	Pending bool      // the second factor is still to be given: until then it is nobody's
}

// Invitation lets somebody in. The zero AccountID with Operator set is of an
// operator.
type Invitation struct {
	ID                     string
	Email                  string
	AccountID, AccountName string
	Role                   Role
	Operator               bool
	By                     string // who invited, for people
	// Untrusted says that whoever invites is no operator in their session: whoever uses
	// the link has not proven the address.
	Untrusted        bool
	Created, Expires time.Time
}

// Person is what somebody says of themselves when they come in for the first
// time.
type Person struct {
	Email, Name string
	Password    llm.Secret
}

// Origin is where a request comes from.
type Origin struct {
	Address string // IP
	Agent   string // the header User-Agent
	Request string // id
}

// LinkKind says what a one-time link is for.
type LinkKind string

// The kinds of link.
const (
	SetupLink  LinkKind = "setup"
	InviteLink LinkKind = "invite"
	ResetLink  LinkKind = "reset"
	SignInLink LinkKind = "link" // of an operator, made on the gateway's machine
)

// Link is a one-time link that is good.
type Link struct {
	Kind  LinkKind
	Email string // whom it is for; empty for the set-up link
	Known bool   // they have a user already, whose password they give
	// Claims says that they have a user whose address nobody has proven, which an
	// operator's link does: they choose a password in place of the one there is.
	Claims bool
	// Unsaid says that the page is not to tell whether they have a user: whoever invited, an account's owner, has the
	// link too, and is not to learn who is a user of the installation.
	Unsaid     bool
	Invitation *Invitation
	Expires    time.Time
}
