package people

import (
	"context"
	"errors"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/llm"
)

// What a store says of what should or should not be there.
var (
	ErrNotFound = errors.New("people: not found")
	ErrExists   = errors.New("people: exists already")
	// ErrLast says that nobody would be left: the last owner of an account, or
	// the last operator.
	ErrLast = errors.New("people: the last one")
	// ErrTaken says that somebody else of the same provider of identities came
	// with this e-mail address before.
	ErrTaken = errors.New("people: the address belongs to another identity")
	// ErrUnproven says that nobody has proven that the user's address is theirs.
	ErrUnproven = errors.New("people: the address is not proven")
	// ErrNoOperator says that a user is no operator, where one is needed.
	ErrNoOperator = errors.New("people: no operator")
	// ErrOperator says that a user is an operator, where none may be.
	ErrOperator = errors.New("people: an operator")
	// ErrDisabled says that a user may not sign in.
	ErrDisabled = errors.New("people: the user is disabled")
)

// Hash is the SHA-256 of a secret that is kept as nothing else.
type Hash = account.Hash

// Login is a user with the password, as a PHC string, and the second factor; empty for none.
type Login struct {
	User
	Hash   llm.Secret
	Factor Factor
}

// Factor is a second factor: an authenticator app.
type Factor struct {
	Secret string // sealed; empty for none
	Step   int64  // the last time step whose code was taken
	// Recovery are the hashes of codes that stand in for the app, each once. Login has none of them.
	Recovery []Hash
}

// NewSession is a session that begins, and the hash of its token. It is pending where its user has a second factor and
// it begins with what a password or a mailed link proves, unless Passed.
type NewSession struct {
	Session
	Token  Hash
	SID    string // what the provider of single sign-on calls it; empty for none
	Passed bool   // the second factor was given in the session in whose place it comes
}

// Passing is a second factor that was given: a session that is pending, and the one in its place.
type Passing struct {
	Pending  string // id of the session
	Step     int64  // whose code was given; 0 for a recovery code
	Recovery Hash
	Passkey  *Passkey // that has signed; nil for a code
	Session  NewSession
}

// Admission is somebody who comes in by a one-time link.
type Admission struct {
	Link     Hash       // which is used up
	User     User       // whose ID is new, or that of a user who is there
	Password llm.Secret // PHC string; empty where it stays as it is
	Session  *NewSession
	By       audit.Actor
	At       time.Time
}

// Arrival is somebody who comes in by single sign-on.
type Arrival struct {
	Issuer, Subject string
	Email           string // which the provider has verified; empty for none
	Name            string
	NewID           string // of the user, where one is made
	SignUp          bool   // whoever is not known and not invited may come in too
	Grants          Grants
	Session         NewSession // without its user
	By              audit.Actor
}

// Grants are the roles that groups give. What they do not name stays as it is.
type Grants struct {
	Operator *bool
	Roles    map[string]Role // by name of the account; empty for none
}

// Ending selects sessions of a user that end.
type Ending struct {
	Only   string // id; empty for all
	Except string // id; empty for none
}

// NewInvitation is an invitation, and the hash of its link.
type NewInvitation struct {
	Invitation
	Link Hash
}

// NewReset is a link by which a user gets a new password, or an operator signs in.
type NewReset struct {
	UserID           string
	Mailed           bool // to the user: whoever uses it has the address
	SignIn           bool // it signs an operator in, and changes no password
	Created, Expires time.Time
}

// Stores is where people live. Every change is in the audit log, written in the
// same transaction.
type Stores struct {
	Users       UserStore
	Passwords   PasswordStore
	Members     MemberStore
	Sessions    SessionStore
	Invitations InvitationStore
	Admissions  AdmissionStore
	Throttles   ThrottleStore
	Access      AccessStore
	Factors     FactorStore
	Passkeys    PasskeyStore
	Logouts     LogoutStore
}

// AccessStore keeps who may sign in at all.
type AccessStore interface {
	// SetDisabled lets a user sign in no more, and ends all sessions, or lets them in again. ErrNotFound, ErrOperator
	// for one who is to be kept out, and audit.ErrNotAllowed where by is no operator.
	SetDisabled(ctx context.Context, by audit.Actor, userID string, disabled bool) error
	// RemoveUser forgets a user with all that is theirs. ErrNotFound, ErrOperator, ErrLast for the last owner of an
	// account, and audit.ErrNotAllowed where by is no operator.
	RemoveUser(ctx context.Context, by audit.Actor, userID string) error
}

// FactorStore keeps second factors.
type FactorStore interface {
	// SetFactor gives a user a second factor in place of what there was, or takes it away where f has no secret, with
	// all passkeys, and ends all sessions but the one to keep; ErrNotFound for no user, or where their own session to
	// keep has ended.
	SetFactor(ctx context.Context, by audit.Actor, userID string, f Factor, keep string) error
	// PassFactor uses a code up, or keeps what a passkey has become, and starts a session in place of the one that is pending; ErrNotFound where the
	// code was used, or the session is over.
	PassFactor(ctx context.Context, by audit.Actor, p Passing) error
}

// PasskeyStore keeps passkeys.
type PasskeyStore interface {
	// Passkeys are those of a user, the first one made first.
	Passkeys(ctx context.Context, userID string) ([]Passkey, error)
	// AddPasskey adds one to a user who has a second factor; ErrTaken where anybody has it, ErrNotFound.
	AddPasskey(ctx context.Context, by audit.Actor, userID string, p Passkey) error
	// RemovePasskey removes one of a user; ErrNotFound.
	RemovePasskey(ctx context.Context, by audit.Actor, userID, id string) error
}

// UserStore keeps users.
type UserStore interface {
	// HasOperator reports whether there is any operator.
	HasOperator(ctx context.Context) (bool, error)
	// Login is the user of that id or e-mail; or ErrNotFound.
	Login(ctx context.Context, idOrEmail string) (Login, error)
	// Users are all users, by e-mail.
	Users(ctx context.Context) ([]User, error)
	// RenameUser changes the name of a user; or ErrNotFound.
	RenameUser(ctx context.Context, by audit.Actor, id, name string) error
	// SetOperator makes a user an operator or none; ErrLast, ErrNotFound,
	// ErrUnproven for one who is not to be one, and audit.ErrNotAllowed where by is none.
	SetOperator(ctx context.Context, by audit.Actor, userID string, on bool) error
}

// PasswordStore keeps hashes of passwords, and links for new ones.
type PasswordStore interface {
	// SetPassword gives the user of a session a password, ends all sessions and starts one; ErrNotFound where the
	// session has ended.
	SetPassword(ctx context.Context, by audit.Actor, session string, hash llm.Secret, n NewSession) error
	// Rehash replaces the hash of a password by another one of the same
	// password, unless it changed meanwhile.
	Rehash(ctx context.Context, userID string, old, hash llm.Secret) error
	// CreateReset adds a link for a new password, or to sign in; ErrNotFound without
	// the user, ErrNoOperator for one who is none and is to sign in by it, audit.ErrNotAllowed
	// where by is none and the link is not mailed.
	CreateReset(ctx context.Context, by audit.Actor, r NewReset, link Hash) error
}

// MemberStore keeps who is in which account.
type MemberStore interface {
	// Members are the members of an account, by e-mail.
	Members(ctx context.Context, accountID string) ([]Membership, error)
	// SetRole changes the role of a member; ErrLast, ErrNotFound, and audit.ErrNotAllowed where by
	// neither owns the account nor is an operator.
	SetRole(ctx context.Context, by audit.Actor, accountID, userID string, r Role) error
	// RemoveMember takes a member out of an account, with the errors of SetRole.
	RemoveMember(ctx context.Context, by audit.Actor, accountID, userID string) error
}

// SessionStore keeps sessions.
type SessionStore interface {
	// StartSession starts a session, and forgets those whose time is over.
	StartSession(ctx context.Context, by audit.Actor, n NewSession) error
	// VisitorBySession is whose session has that token, over or not; or
	// ErrNotFound.
	VisitorBySession(ctx context.Context, token Hash) (*Visitor, error)
	// TouchSession notes when and from where a session was last used.
	TouchSession(ctx context.Context, s Session) error
	// Sessions are the sessions of a user, the one used last first.
	Sessions(ctx context.Context, userID string) ([]Session, error)
	// EndSessions ends sessions of a user and returns how many.
	EndSessions(ctx context.Context, by audit.Actor, userID string, e Ending) (int, error)
}

// InvitationStore keeps invitations.
type InvitationStore interface {
	// Invite adds an invitation, in place of an earlier one of the same person to
	// the same place, and returns it with the name of its account. ErrExists when
	// the person is there already, ErrNotFound when the account is not, audit.ErrNotAllowed
	// where by is no operator, nor, for an invitation to an account, an owner of it.
	Invite(ctx context.Context, by audit.Actor, i Invitation, link Hash) (Invitation, error)
	// CreateAccount makes an account with its credit and with invitations to it, or nothing, and returns it as it is
	// then. account.ErrExists when its name is taken, and audit.ErrNotAllowed where somebody is invited by who is no
	// operator.
	CreateAccount(ctx context.Context, by audit.Actor, d account.Draft, invited []NewInvitation) (account.Account, error)
	// Invitations are those of an account that nobody used, the newest first; of
	// operators where it is empty.
	Invitations(ctx context.Context, accountID string, now time.Time) ([]Invitation, error)
	// CancelInvitation takes an invitation back; or ErrNotFound.
	CancelInvitation(ctx context.Context, by audit.Actor, accountID, id string) error
}

// AdmissionStore lets in whoever uses a one-time link or comes by single sign-on. Of
// all who use a link at once, one succeeds and the others get ErrNotFound.
type AdmissionStore interface {
	// LinkByHash is a link that is good; or ErrNotFound.
	LinkByHash(ctx context.Context, link Hash, now time.Time) (Link, error)
	// UseSetup makes the first operator, owner of the account account.DefaultName;
	// ErrExists when the address is a user's already.
	UseSetup(ctx context.Context, a Admission) error
	// UseInvitation makes the user, where there is none, and does what the
	// invitation says. A password for a user who is there is taken where an operator
	// invited and the address was not proven, which it is then, and ends all
	// sessions; else it is ErrExists.
	UseInvitation(ctx context.Context, a Admission) error
	// UseReset changes the password and ends all sessions of the user, whose address
	// is proven then. Without a password it uses a link to sign in, and changes nothing.
	UseReset(ctx context.Context, a Admission) error
	// Arrive lets in somebody who comes by single sign-on, takes up the
	// invitations of a verified address, and makes roles follow groups, but for
	// the last operator and the last owner of an account, who stay. ErrNotFound
	// for somebody who is neither known nor invited, ErrTaken.
	Arrive(ctx context.Context, a Arrival) (User, error)
}

// ThrottleStore counts attempts to sign in, for all nodes together.
type ThrottleStore interface {
	// TrySignIn counts an attempt as failed in all marks, unless one of them says
	// to wait: then it counts nothing, and returns how long. Where the first mark
	// has seen a success lately, it is known, and the others do not make it wait.
	TrySignIn(ctx context.Context, marks []Mark, now time.Time) (wait time.Duration, known bool, err error)
	// PassSignIn takes back what TrySignIn counted, because it was a success.
	PassSignIn(ctx context.Context, marks []Mark, now time.Time) error
}
