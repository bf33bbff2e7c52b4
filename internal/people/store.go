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

// NewSession is a session to start, and the hash of its token. It is pending if its user has a second factor and it
// begins with a password or a mailed link, unless Passed is set.
type NewSession struct {
	Session
	Token  Hash
	SID    string // the single sign-on provider's id of the session; empty for none
	Passed bool   // the session that it replaces has passed the second factor
}

// Passing is an accepted second factor: the pending session, and the one that replaces it.
type Passing struct {
	Pending  string // id of the session
	Step     int64  // of the entered code; 0 for a recovery code
	Recovery Hash
	Passkey  *Passkey // that signed; nil for a code
	Session  NewSession
}

// Admission admits a person by a one-time link.
type Admission struct {
	Link     Hash       // used up by the admission
	User     User       // with a new ID, or that of an existing user
	Password llm.Secret // PHC string; empty to leave it unchanged
	Session  *NewSession
	By       audit.Actor
	At       time.Time
}

// Arrival admits a person by single sign-on.
type Arrival struct {
	Issuer, Subject string
	Email           string // verified by the provider; empty for none
	Name            string
	NewID           string // of the user, if one is created
	SignUp          bool   // admits people who are neither known nor invited
	Grants          Grants
	Session         NewSession // UserID is empty
	By              audit.Actor
}

// Grants holds the roles that groups grant. Roles that it does not name are unchanged.
type Grants struct {
	Operator *bool
	Roles    map[string]Role // by the account's name; empty for no role
}

// Ending selects the sessions of a user to end.
type Ending struct {
	Only   string // id; empty for all
	Except string // id; empty for none
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
	Passwords   PasswordStore
	Members     MemberStore
	Sessions    SessionStore
	Invitations InvitationStore
	Admissions  AdmissionStore
	Resets      ResetStore
	Throttles   ThrottleStore
	Access      AccessStore
	Factors     FactorStore
	Passkeys    PasskeyStore
	Logouts     LogoutStore
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

// FactorStore stores second factors.
type FactorStore interface {
	// SetFactor sets or replaces a user's second factor, or removes it with all passkeys if f has no secret. It ends
	// all sessions except keep. It returns ErrNotFound for an unknown user, or if keep is set and has ended.
	SetFactor(ctx context.Context, by audit.Actor, userID string, f Factor, keep string) error
	// PassFactor marks a code as used, or stores the updated passkey, and replaces the pending session. It returns
	// ErrNotFound if the code was used or the session is over.
	PassFactor(ctx context.Context, by audit.Actor, p Passing) error
}

// PasskeyStore stores passkeys.
type PasskeyStore interface {
	// Passkeys returns the passkeys of a user, oldest first.
	Passkeys(ctx context.Context, userID string) ([]Passkey, error)
	// AddPasskey adds a passkey to a user who has a second factor. It returns ErrTaken if any user has it, or
	// ErrNotFound.
	AddPasskey(ctx context.Context, by audit.Actor, userID string, p Passkey) error
	// RemovePasskey removes a passkey of a user, or returns ErrNotFound.
	RemovePasskey(ctx context.Context, by audit.Actor, userID, id string) error
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

// PasswordStore stores password hashes.
type PasswordStore interface {
	// SetPassword sets the password of a session's user, ends all their sessions and starts n. It returns ErrNotFound
	// if the session has ended.
	SetPassword(ctx context.Context, by audit.Actor, session string, hash llm.Secret, n NewSession) error
	// Rehash replaces a password hash with another one of the same password, unless it has changed in the meantime.
	Rehash(ctx context.Context, userID string, old, hash llm.Secret) error
}

// ResetStore stores links that let a user in.
type ResetStore interface {
	// CreateReset adds a link for a new password or to sign in. It returns ErrNotFound for an unknown user,
	// ErrNoOperator if a sign-in link's user is not an operator, and audit.ErrNotAllowed if by is not an operator and
	// the link is not mailed.
	CreateReset(ctx context.Context, by audit.Actor, r NewReset, link Hash) error
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

// SessionStore stores sessions.
type SessionStore interface {
	// StartSession starts a session and deletes expired ones.
	StartSession(ctx context.Context, by audit.Actor, n NewSession) error
	// VisitorBySession returns the visitor with that session token, even if the session is over, or ErrNotFound.
	VisitorBySession(ctx context.Context, token Hash) (*Visitor, error)
	// TouchSession records the time and address of a session's last use.
	TouchSession(ctx context.Context, s Session) error
	// Sessions returns the sessions of a user, last used first.
	Sessions(ctx context.Context, userID string) ([]Session, error)
	// EndSessions ends sessions of a user and returns their number.
	EndSessions(ctx context.Context, by audit.Actor, userID string, e Ending) (int, error)
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

// AdmissionStore admits people by one-time links or single sign-on. If several use a link at once, one succeeds and the
// others get ErrNotFound.
type AdmissionStore interface {
	// LinkByHash returns a valid link, or ErrNotFound.
	LinkByHash(ctx context.Context, link Hash, now time.Time) (Link, error)
	// UseSetup creates the first operator, who owns the account account.DefaultName. It returns ErrExists if the
	// address belongs to a user.
	UseSetup(ctx context.Context, a Admission) error
	// UseInvitation creates the user if there is none, and grants the invitation's role. A password for an existing
	// user is accepted only if an operator invited and the address was not proven: then the address becomes proven and
	// all sessions end. Otherwise it returns ErrExists.
	UseInvitation(ctx context.Context, a Admission) error
	// UseReset changes the password, ends all sessions of the user and proves their address. Without a password it uses
	// up a sign-in link and changes nothing else.
	UseReset(ctx context.Context, a Admission) error
	// Arrive admits a person by single sign-on, accepts the invitations of a verified address, and sets the roles that
	// groups grant. The last operator and the last owner of an account keep their roles. It returns ErrNotFound for a
	// person who is neither known nor invited, or ErrTaken.
	Arrive(ctx context.Context, a Arrival) (User, error)
}

// ThrottleStore counts attempts to sign in, for all nodes together.
type ThrottleStore interface {
	// TrySignIn counts an attempt as failed in all marks, and returns whether the first mark has had a recent success
	// (known). If a mark requires a delay, it counts nothing and returns the delay. If known, only the first mark can
	// require one.
	TrySignIn(ctx context.Context, marks []Mark, now time.Time) (wait time.Duration, known bool, err error)
	// PassSignIn undoes the count of TrySignIn after a success.
	PassSignIn(ctx context.Context, marks []Mark, now time.Time) error
}
