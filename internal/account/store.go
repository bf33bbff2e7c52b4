package account

import (
	"context"
	"errors"
	"time"

	"weir/internal/audit"
	"weir/internal/llm"
)

// These errors are returned by stores.
var (
	ErrNotFound = errors.New("account: not found")
	ErrExists   = errors.New("account: already exists")
	// ErrOverdrawn is returned for a reduction by more than the credit.
	ErrOverdrawn = errors.New("account: the reduction exceeds the credit")
	// ErrTooMuch is returned if the credit would exceed MaxAmount.
	ErrTooMuch = errors.New("account: the credit exceeds the maximum")
	// ErrRevoked is returned for changes of a revoked key.
	ErrRevoked = errors.New("account: the key is revoked")
)

// Stores holds the stores of accounts and keys. Every change writes the feed of changes and, with its actor, the audit
// log in the same transaction.
type Stores struct {
	Lookups  LookupStore
	Accounts AccountStore
	Keys     KeyStore
	Setup    SetupStore
}

// LookupStore serves the authentication of requests.
type LookupStore interface {
	// KeyByHash returns the key whose token has that hash, even if revoked or expired, and its account, or ErrNotFound.
	KeyByHash(ctx context.Context, hash Hash) (Account, Key, error)
	// Changes returns the changes after a place in the feed.
	Changes(ctx context.Context, after int64) (Changes, error)
	// Imported returns the token hashes of keys that were imported from other gateways.
	Imported(ctx context.Context) ([]Hash, error)
}

// AccountStore stores accounts.
type AccountStore interface {
	// List returns all accounts, sorted by name, or only the one with that name or id.
	List(ctx context.Context, nameOrID string) ([]Account, error)
	// CreateAccount adds an account, or returns ErrExists if its name is taken.
	CreateAccount(ctx context.Context, by audit.Actor, a Account) error
	// UpdateAccount changes the account with that id and returns the result, or ErrNotFound. An update to the present
	// values is not a change.
	UpdateAccount(ctx context.Context, by audit.Actor, id string, u Update) (Account, error)
	// CloseAccount closes the account with that id and its contents for good, and returns the result, or ErrNotFound.
	// For a closed account it does nothing.
	CloseAccount(ctx context.Context, by audit.Actor, id string, at time.Time) (Account, error)
	// AddCredit adds an amount to the credit of an account, or to the goodwill of an account without prepaid credit,
	// and returns the result. It returns ErrOverdrawn if the sum would be negative, and ErrTooMuch with the unchanged
	// account if it would exceed MaxAmount.
	AddCredit(ctx context.Context, by audit.Actor, e CreditEntry) (Account, error)
}

// KeyStore stores keys.
type KeyStore interface {
	// CreateKey adds a key whose token has that hash. For a key with the permission Admin it returns
	// audit.ErrNotAllowed if by is no longer an operator or a key that is revoked.
	CreateKey(ctx context.Context, by audit.Actor, k Key, hash Hash) error
	// Keys returns the keys of the account with that id, oldest first.
	Keys(ctx context.Context, accountID string) ([]Key, error)
	// Key returns the key with that id, even if revoked or expired, or ErrNotFound.
	Key(ctx context.Context, id string) (Key, error)
	// UpdateKey changes the key with that id and returns the result, or ErrNotFound, ErrRevoked, or the error of
	// Loosened. An update to the present values is not a change.
	UpdateKey(ctx context.Context, by audit.Actor, id string, u KeyUpdate) (Key, error)
	// RevokeKey revokes the key with that id, unless it is revoked, and returns the result, or ErrNotFound.
	RevokeKey(ctx context.Context, by audit.Actor, id string, at time.Time) (Key, error)
}

// SetupStore serves the first start.
type SetupStore interface {
	// Bootstrap adds the account if there is none yet, and reports whether it did. Of concurrent callers only one gets
	// true.
	Bootstrap(ctx context.Context, by audit.Actor, a Account) (bool, error)
	// CreateSetupToken stores the hash of a token that is valid once, until it expires.
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
	PriceList    *PriceList // an additional list, see Account.WithPriceList

	ContentPercent *int64 // 0 to 100
}

// KeyUpdate changes the fields of a key that are not nil.
type KeyUpdate struct {
	Label    *string    // 1 to 100 printable characters
	Models   *[]string  // see Principal.MayUse; empty for all
	Expires  *time.Time // after now; the zero time for never
	Limits   *Limits
	Budget   *Budget
	Per      *[]Per
	Tags     *[]llm.Tag // added to requests without a tag of that name
	Required *[]string  // names of tags that each request must have
	Tighten  bool       // refuse changes that Loosened refuses
	// Permissions must not be empty. The store returns audit.ErrNotAllowed if Admin is added by an actor who is not an
	// operator.
	Permissions *[]Permission
	NoContent   *bool
	AnswerCache *time.Duration // see Key
	Rotate      *Rotation
}

// Rotation gives a key a new token.
type Rotation struct {
	Hash        Hash
	Last4       string
	FormerUntil time.Time // end of the previous token's validity; zero to end it at once
}

// CreditEntry is a payment into an account's credit, or a correction of one.
type CreditEntry struct {
	ID        string // UUID, version 7
	AccountID string
	Amount    llm.Money // other than 0
	Goodwill  bool      // granted, not paid
	At        time.Time
}

// ChangeKind names the kind of object that changed.
type ChangeKind string

// These are the kinds of change.
const (
	ChangedAccount ChangeKind = "account"
	ChangedKey     ChangeKind = "key"
	ChangedAttempt ChangeKind = "attempt" // a correction in the ledger or of an opening balance; ID is the account
	ChangedImport  ChangeKind = "import"  // an account's keys were imported from another gateway
)

// Change reports that an object has changed.
type Change struct {
	Seq  int64 // place in the feed
	Kind ChangeKind
	ID   string // of the account or key
}

// Changes is a section of the feed. Changes become visible in the order of their places.
type Changes struct {
	List []Change
	Last int64 // the place to continue from
	// Lost reports that the feed does not reach back to the requested place or does not know it: any object may have
	// changed.
	Lost bool
}
