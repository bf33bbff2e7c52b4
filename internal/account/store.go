package account

import (
	"context"
	"errors"
	"time"

	"weir/internal/audit"
	"weir/internal/llm"
)

// What a store says of a row that should or should not be there.
var (
	ErrNotFound = errors.New("account: not found")
	ErrExists   = errors.New("account: exists already")
	// ErrOverdrawn says that more credit would be taken away than there is.
	ErrOverdrawn = errors.New("account: not so much credit was paid in")
	// ErrTooMuch says that the credit would come to more than MaxAmount.
	ErrTooMuch = errors.New("account: more credit than there may be")
	// ErrRevoked says that the key is revoked, and stays as it is.
	ErrRevoked = errors.New("account: the key is revoked")
)

// Stores is where accounts and keys live. Every change is in the feed of changes,
// and in the audit log as that of the actor, written in the same transaction.
type Stores struct {
	Lookups  LookupStore
	Accounts AccountStore
	Keys     KeyStore
	Setup    SetupStore
}

// LookupStore serves requests.
type LookupStore interface {
	// KeyByHash is the key whose token has that hash, revoked and expired ones
	// too, and its account; or ErrNotFound.
	KeyByHash(ctx context.Context, hash Hash) (Account, Key, error)
	// Changes is what changed after a place in the feed.
	Changes(ctx context.Context, after int64) (Changes, error)
	// Imported are the hashes of the tokens that keys of another gateway had when they were taken over.
	Imported(ctx context.Context) ([]Hash, error)
}

// AccountStore administers accounts.
type AccountStore interface {
	// List is all accounts by name; or the one of that name or id, if
	// there is one.
	List(ctx context.Context, nameOrID string) ([]Account, error)
	// CreateAccount adds an account; ErrExists when its name is taken.
	CreateAccount(ctx context.Context, by audit.Actor, a Account) error
	// UpdateAccount changes the account of that id and returns it as it is
	// then; or ErrNotFound. What is so already is no change.
	UpdateAccount(ctx context.Context, by audit.Actor, id string, u Update) (Account, error)
	// CloseAccount closes the account of that id for good, with all that is in it, and returns it as it is then; or
	// ErrNotFound. One that is closed stays as it is.
	CloseAccount(ctx context.Context, by audit.Actor, id string, at time.Time) (Account, error)
	// AddCredit adds at most MaxAmount to the credit of an account, or to its goodwill
	// where it is given to one that does not pay beforehand, and returns it as it is then; ErrOverdrawn when the credit would come to less than 0, and ErrTooMuch
	// when it would come to more than MaxAmount, with the account as it stays.
	AddCredit(ctx context.Context, by audit.Actor, e CreditEntry) (Account, error)
}

// KeyStore administers keys.
type KeyStore interface {
	// CreateKey adds a key whose token has that hash. audit.ErrNotAllowed where it is to have the
	// permission Admin, and by is no operator any more, or their key is revoked.
	CreateKey(ctx context.Context, by audit.Actor, k Key, hash Hash) error
	// Keys are the keys of the account of that id, oldest first.
	Keys(ctx context.Context, accountID string) ([]Key, error)
	// Key is the key of that id, revoked and expired ones too; or ErrNotFound.
	Key(ctx context.Context, id string) (Key, error)
	// UpdateKey changes the key of that id and returns it as it is then; or
	// ErrNotFound, ErrRevoked, or what Loosened says. What is so already is no
	// change.
	UpdateKey(ctx context.Context, by audit.Actor, id string, u KeyUpdate) (Key, error)
	// RevokeKey revokes the key of that id, unless it is revoked, and returns
	// it as it is then; or ErrNotFound.
	RevokeKey(ctx context.Context, by audit.Actor, id string, at time.Time) (Key, error)
}

// SetupStore serves the first start.
type SetupStore interface {
	// Bootstrap adds the account if there is none at all, and reports whether
	// it did. Of many callers at once one is told so.
	Bootstrap(ctx context.Context, by audit.Actor, a Account) (bool, error)
	// CreateSetupToken keeps the hash of a token that is good once, until it
	// expires.
	CreateSetupToken(ctx context.Context, by audit.Actor, hash Hash, created, expires time.Time) error
}

// Update changes the fields of an account that are not nil.
type Update struct {
	Suspended    *bool
	OnDisconnect *OnDisconnect
	Budget       *Budget
	Limits       *Limits
	Per          *[]Per
	EndCredit    bool
	PriceList    *PriceList // a further one, see Account.WithPriceList
}

// KeyUpdate changes the fields of a key that are not nil.
type KeyUpdate struct {
	Label    *string    // 1 to 100 printable characters
	Models   *[]string  // see Principal.MayUse; empty for all
	Expires  *time.Time // after now; the zero time for never
	Limits   *Limits
	Budget   *Budget
	Per      *[]Per
	Tags     *[]llm.Tag // of requests that have no tag of that name
	Required *[]string  // names of tags without which a request is refused
	Tighten  bool       // refuse what Loosened does
	// Permissions are at least one. audit.ErrNotAllowed where Admin is added by somebody who is no operator.
	Permissions *[]Permission
	Rotate      *Rotation
}

// Rotation gives a key another token.
type Rotation struct {
	Hash        Hash
	Last4       string
	FormerUntil time.Time // until when the token of before is good; zero for no longer
}

// CreditEntry is a payment into an account's credit, or a correction of one.
type CreditEntry struct {
	ID        string // UUID, version 7
	AccountID string
	Amount    llm.Money // other than 0
	Goodwill  bool      // it was given, and not paid
	At        time.Time
}

// ChangeKind says what a change was made to.
type ChangeKind string

// The kinds of change.
const (
	ChangedAccount ChangeKind = "account"
	ChangedKey     ChangeKind = "key"
	ChangedAttempt ChangeKind = "attempt" // a correction in the ledger, or of an opening balance, by the account
	ChangedImport  ChangeKind = "import"  // keys of an account were taken over from another gateway
)

// Change says that something is not what it was.
type Change struct {
	Seq  int64 // its place in the feed
	Kind ChangeKind
	ID   string // of the account or key
}

// Changes is a stretch of the feed, in which changes become visible in the
// order of their places.
type Changes struct {
	List []Change
	Last int64 // the place to ask from next
	// Lost says that the feed does not reach back to the place asked for, or
	// does not know it: anything may have changed.
	Lost bool
}
