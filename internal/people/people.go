// Package people manages the people who may sign in: users, their memberships in accounts, their rights there, and the
// links that let them in. Package signin lets them in.
package people

import "time"

// User is a person who signs in.
type User struct {
	ID       string // UUID, version 7
	Email    string // unique, in lower case
	Name     string // as people write it; may be empty
	Operator bool   // administers the whole installation
	Password bool   // has a password; without one the user signs in by single sign-on
	// Proven reports that the address belongs to the user: they used a link that was mailed to it or that an operator
	// gave them, came by single sign-on, or set the installation up. An account's owner can see the links of people
	// whom they invite, and could use one.
	Proven bool
	// SecondFactor reports that the user has an authenticator app, so that a password is not enough to sign in.
	SecondFactor bool
	Disabled     *time.Time // when the user was disabled; nil if enabled
	Created      time.Time
	Seen         *time.Time // when a session was last used; nil for never
}

// Role is a member's role in an account.
type Role string

// These are the roles. Each includes the rights of the next one.
const (
	Owner  Role = "owner"  // manages members, keys and webhooks
	Member Role = "member" // makes their own keys and uses the playground
	Viewer Role = "viewer" // sees usage and requests
)

// Membership is a user's membership in an account.
type Membership struct {
	AccountID, AccountName string
	UserID, Email, Name    string
	Role                   Role
	Since                  time.Time
}

// Session is a signed-in browser.
type Session struct {
	ID      string // UUID, version 7; not the secret
	UserID  string
	Method  string // password, invitation, reset, setup, link or oidc
	Address string // of its last request
	Agent   string // the header User-Agent
	Created time.Time
	Seen    time.Time
	Expires time.Time // at the latest
	Pending bool      // the second factor is missing: the session has no rights yet
}

// These are the ways in which a session begins.
const (
	ByPassword   = "password"
	ByInvitation = "invitation"
	ByReset      = "reset"
	BySetup      = "setup"
	ByLink       = "link"
	ByOIDC       = "oidc"
)

// Invitation admits a person to an account or, if AccountID is empty and Operator is set, as an operator.
type Invitation struct {
	ID                     string
	Email                  string
	AccountID, AccountName string
	Role                   Role
	Operator               bool
	By                     string // name of the inviter
	// Untrusted reports that the inviter was not an operator in their session. Using the link then does not prove the
	// address.
	Untrusted        bool
	Created, Expires time.Time
}

// Origin describes the source of a request.
type Origin struct {
	Address string // IP
	Agent   string // the header User-Agent
	Request string // id
	Tool    string // MCP tool of the administration that a model called; empty for none
}

// LinkKind is the purpose of a one-time link.
type LinkKind string

const (
	SetupLink  LinkKind = "setup"
	InviteLink LinkKind = "invite"
	ResetLink  LinkKind = "reset"
	SignInLink LinkKind = "link" // for an operator, made on the gateway's machine
)
