package signin

import (
	"context"
	"time"

	"weir/internal/audit"
	"weir/internal/llm"
	"weir/internal/people"
)

// Stores holds the stores of sign-in. Every change writes the audit log in the same transaction.
type Stores struct {
	Users      UserStore
	Passwords  PasswordStore
	Sessions   SessionStore
	Admissions AdmissionStore
	Throttles  ThrottleStore
	Factors    FactorStore
	Logouts    LogoutStore
}

// UserStore stores users.
type UserStore interface {
	// Login returns the user with that id or e-mail address, or people.ErrNotFound.
	Login(ctx context.Context, idOrEmail string) (people.Login, error)
}

// NewSession is a session to start, and the hash of its token. It is pending if its user has a second factor and it
// begins with a password or a mailed link, unless Passed is set.
type NewSession struct {
	people.Session
	Token  people.Hash
	SID    string // the single sign-on provider's id of the session; empty for none
	Passed bool   // the session that it replaces has passed the second factor
}

// Passing is an accepted second factor: the pending session, and the one that replaces it.
type Passing struct {
	Pending  string // id of the session
	Step     int64  // of the entered code; 0 for a recovery code
	Recovery people.Hash
	Passkey  *Passkey // that signed; nil for a code
	Session  NewSession
}

// Admission admits a person by a one-time link.
type Admission struct {
	Link     people.Hash // used up by the admission
	User     people.User // with a new ID, or that of an existing user
	Password llm.Secret  // PHC string; empty to leave it unchanged
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
	Roles    map[string]people.Role // by the account's name; empty for no role
}

// Ending selects the sessions of a user to end.
type Ending struct {
	Only   string // id; empty for all
	Except string // id; empty for none
}

// FactorStore stores second factors and passkeys.
type FactorStore interface {
	// SetFactor sets or replaces a user's second factor, or removes it with all passkeys if f has no secret. It ends
	// all sessions except keep. It returns ErrNotFound for an unknown user, or if keep is set and has ended.
	SetFactor(ctx context.Context, by audit.Actor, userID string, f people.Factor, keep string) error
	// PassFactor marks a code as used, or stores the updated passkey, and replaces the pending session. It returns
	// ErrNotFound if the code was used or the session is over.
	PassFactor(ctx context.Context, by audit.Actor, p Passing) error
	// Passkeys returns the passkeys of a user, oldest first.
	Passkeys(ctx context.Context, userID string) ([]Passkey, error)
	// AddPasskey adds a passkey to a user who has a second factor. It returns ErrTaken if any user has it, or
	// ErrNotFound.
	AddPasskey(ctx context.Context, by audit.Actor, userID string, p Passkey) error
	// RemovePasskey removes a passkey of a user, or returns ErrNotFound.
	RemovePasskey(ctx context.Context, by audit.Actor, userID, id string) error
}

// PasswordStore stores password hashes.
type PasswordStore interface {
	// SetPassword sets the password of a session's user, ends all their sessions and starts n. It returns ErrNotFound
	// if the session has ended.
	SetPassword(ctx context.Context, by audit.Actor, session string, hash llm.Secret, n NewSession) error
	// Rehash replaces a password hash with another one of the same password, unless it has changed in the meantime.
	Rehash(ctx context.Context, userID string, old, hash llm.Secret) error
}

// SessionStore stores sessions.
type SessionStore interface {
	// StartSession starts a session and deletes expired ones.
	StartSession(ctx context.Context, by audit.Actor, n NewSession) error
	// VisitorBySession returns the visitor with that session token, even if the session is over, or ErrNotFound.
	VisitorBySession(ctx context.Context, token people.Hash) (*people.Visitor, error)
	// TouchSession records the time and address of a session's last use.
	TouchSession(ctx context.Context, s people.Session) error
	// Sessions returns the sessions of a user, last used first.
	Sessions(ctx context.Context, userID string) ([]people.Session, error)
	// EndSessions ends sessions of a user and returns their number.
	EndSessions(ctx context.Context, by audit.Actor, userID string, e Ending) (int, error)
}

// AdmissionStore admits people by one-time links or single sign-on. If several use a link at once, one succeeds and the
// others get ErrNotFound.
type AdmissionStore interface {
	// LinkByHash returns a valid link, or ErrNotFound.
	LinkByHash(ctx context.Context, link people.Hash, now time.Time) (Link, error)
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
	Arrive(ctx context.Context, a Arrival) (people.User, error)
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

// Person holds the data that a new person enters.
type Person struct {
	Email, Name string
	Password    llm.Secret
}

// Link is a valid one-time link.
type Link struct {
	Kind  people.LinkKind
	Email string // address of the recipient; empty for the set-up link
	Known bool   // the recipient is already a user and must enter their password
	// Claims reports that the recipient is a user with an unproven address and that an operator's link proves it: they
	// choose a new password.
	Claims bool
	// Unsaid reports that the page must not reveal whether the recipient is a user, because the inviter, an account's
	// owner, has the link too.
	Unsaid     bool
	Invitation *people.Invitation
	Expires    time.Time
}
