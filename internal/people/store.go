package people

import (
	"context"
	"errors"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/llm"
)

// These errors are returned by stores.
var (
	ErrNotFound = errors.New("people: not found")
	ErrExists   = errors.New("people: already exists")
	// ErrLast is returned if an account would lose its last owner, or the installation its last operator.
	ErrLast = errors.New("people: the last owner or operator must stay")
	// ErrTaken is returned if another identity of the same provider already uses this e-mail address.
	ErrTaken = errors.New("people: the address belongs to another identity")
	// ErrUnproven is returned for a user with an unproven address.
	ErrUnproven = errors.New("people: the address is not proven")
	// ErrNoOperator is returned if a user must be an operator and is not.
	ErrNoOperator = errors.New("people: the user is not an operator")
	// ErrOperator is returned if a user must not be an operator and is one.
	ErrOperator = errors.New("people: the user is an operator")
	// ErrDisabled is returned for a user who may not sign in.
	ErrDisabled = errors.New("people: the user is disabled")
)

// Hash is the SHA-256 of a secret. The secret itself is not stored.
type Hash = account.Hash

// Login is a user with their password hash, as a PHC string, and their second factor; each empty for none.
type Login struct {
	User
	Hash   llm.Secret
	Factor Factor
}

// Factor is a second factor: an authenticator app.
type Factor struct {
	Secret string // sealed; empty for none
	Step   int64  // the last time step with an accepted code
	// Recovery holds the hashes of the recovery codes, which replace the app once each. Login does not fill them in.
	Recovery []Hash
}

// NewInvitation is an invitation and the hash of its link.
type NewInvitation struct {
	Invitation
	Link Hash
}

// NewReset is a link by which a user sets a new password, or an operator signs in.
type NewReset struct {
	UserID           string
	Mailed           bool // mailed to the user: using it proves the address
	SignIn           bool // signs an operator in and changes no password
	Created, Expires time.Time
}

// Stores holds the stores of people. Every change writes the audit log in the same transaction.
type Stores struct {
	Users       UserStore
	Access      AccessStore
	Members     MemberStore
	Invitations InvitationStore
	Resets      ResetStore
	Factors     FactorStore
}

// AccessStore stores which users may sign in.
type AccessStore interface {
	// SetDisabled disables a user and ends all their sessions, or enables the user. It returns ErrNotFound, ErrOperator
	// for an operator who would be disabled, and audit.ErrNotAllowed if by is not an operator.
	SetDisabled(ctx context.Context, by audit.Actor, userID string, disabled bool) error
	// RemoveUser deletes a user with all their data. It returns ErrNotFound, ErrOperator, ErrLast for the last owner of
	// an account, and audit.ErrNotAllowed if by is not an operator.
	RemoveUser(ctx context.Context, by audit.Actor, userID string) error
}

// UserStore stores users.
type UserStore interface {
	// HasOperator reports whether an operator exists.
	HasOperator(ctx context.Context) (bool, error)
	// Login returns the user with that id or e-mail address, or ErrNotFound.
	Login(ctx context.Context, idOrEmail string) (Login, error)
	// Users returns all users, sorted by e-mail address.
	Users(ctx context.Context) ([]User, error)
	// RenameUser changes the name of a user, or returns ErrNotFound.
	RenameUser(ctx context.Context, by audit.Actor, id, name string) error
	// SetOperator grants or removes the operator role. It returns ErrLast, ErrNotFound, ErrUnproven for a user with an
	// unproven address, and audit.ErrNotAllowed if by is not an operator.
	SetOperator(ctx context.Context, by audit.Actor, userID string, on bool) error
}

// ResetStore stores links that let a user in.
type ResetStore interface {
	// CreateReset adds a link for a new password or to sign in. It returns ErrNotFound for an unknown user,
	// ErrNoOperator if a sign-in link's user is not an operator, and audit.ErrNotAllowed if by is not an operator and
	// the link is not mailed.
	CreateReset(ctx context.Context, by audit.Actor, r NewReset, link Hash) error
}

// FactorStore stores second factors.
type FactorStore interface {
	// SetFactor sets or replaces a user's second factor, or removes it with all passkeys if f has no secret. It ends
	// all sessions except keep. It returns ErrNotFound for an unknown user, or if keep is set and has ended.
	SetFactor(ctx context.Context, by audit.Actor, userID string, f Factor, keep string) error
}

// MemberStore stores the members of accounts.
type MemberStore interface {
	// Members returns the members of an account, sorted by e-mail address.
	Members(ctx context.Context, accountID string) ([]Membership, error)
	// SetRole changes the role of a member. It returns ErrLast, ErrNotFound, and audit.ErrNotAllowed if by is neither
	// an owner of the account nor an operator.
	SetRole(ctx context.Context, by audit.Actor, accountID, userID string, r Role) error
	// RemoveMember removes a member from an account, with the errors of SetRole.
	RemoveMember(ctx context.Context, by audit.Actor, accountID, userID string) error
}

// InvitationStore stores invitations.
type InvitationStore interface {
	// Invite adds an invitation, which replaces an earlier one of the same person to the same place, and returns it
	// with the name of its account. It returns ErrExists if the person already has a role there, ErrNotFound for an
	// unknown account, and audit.ErrNotAllowed if by is neither an operator nor, for an invitation to an account, its
	// owner.
	Invite(ctx context.Context, by audit.Actor, i Invitation, link Hash) (Invitation, error)
	// CreateAccount creates an account with its credit and invitations in one transaction, and returns it. It returns
	// account.ErrExists if the name is taken, and audit.ErrNotAllowed if there are invitations and by is not an
	// operator.
	CreateAccount(ctx context.Context, by audit.Actor, d account.Draft, invited []NewInvitation) (
		account.Account, error,
	)
	// Invitations returns the unused invitations of an account, newest first, or those of operators if it is empty.
	Invitations(ctx context.Context, accountID string, now time.Time) ([]Invitation, error)
	// CancelInvitation deletes an invitation, or returns ErrNotFound.
	CancelInvitation(ctx context.Context, by audit.Actor, accountID, id string) error
}
