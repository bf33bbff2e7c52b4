package account

import (
	"time"

	"weir/internal/budget"
	"weir/internal/llm"
)

// OnDisconnect says what happens to a provider's answer when the client leaves
// before its end.
type OnDisconnect string

// The ways. A drained answer is read to its end, so that the provider's own numbers are
// known; of a cancelled one nobody knows what it cost, and budgets count the most that
// it can be. By default whole answers are drained, since most vendors charge for them
// anyway, and streams are cancelled, unless the provider charges for all of them.
const (
	DisconnectDefault OnDisconnect = "default"
	DisconnectCancel  OnDisconnect = "cancel"
	DisconnectDrain   OnDisconnect = "drain"
)

// Budget is what may be spent in a period. The zero value is no budget.
type Budget struct {
	Limit  llm.Money     // 0 for no budget
	Period budget.Period // empty for no budget
}

// Account is what usage belongs to.
type Account struct {
	ID           string // UUID, version 7
	Name         string // unique; 1 to 64 letters, digits, dashes, underscores, dots
	Suspended    bool   // none of its keys may do anything
	OnDisconnect OnDisconnect
	Limits       Limits
	Budget       Budget
	Per          []Per       // what each end user, and each value of a tag, may use
	Credit       *Credit     // nil for an account that does not pay beforehand
	Goodwill     llm.Money   // given while it did not pay beforehand: it owes so much less, and may spend no more
	PriceLists   []PriceList // in the order of their moments; none for an account that is charged what it costs
	Created      time.Time   // UTC, whole microseconds
	Closed       *time.Time  // when it was closed, for good; nil while it is open
}

// Limits are what may be asked for in any 60 seconds, and at a time; 0 for no
// limit.
type Limits struct {
	RPM         int64 // requests a minute
	TPM         int64 // tokens a minute, of input and output
	Concurrency int64 // requests at a time
}

// Credit is what an account has paid beforehand.
type Credit struct {
	Paid llm.Money // all that was ever paid in, or given
	From llm.Money // what the account had spent in all when the first of it came
}

// Permission is something that a key may do.
type Permission string

// The permissions. A key has the first two unless it was made with others; the
// third one is given to a key by name alone, and contains no other.
const (
	Chat  Permission = "chat"  // send messages to models
	Uses  Permission = "uses"  // read the account's usage
	Admin Permission = "admin" // administer the whole installation through /admin/v1
)

// Key is an API key as it is kept: everything but the secret.
type Key struct {
	ID          string // UUID, version 7
	AccountID   string
	Label       string // 1 to 100 printable characters
	Last4       string // the last four characters of the token
	Permissions []Permission
	Models      []string   // patterns of the models it may use, see Principal.MayUse; empty for all
	Created     time.Time  // UTC, whole microseconds
	Expires     *time.Time // nil for never
	Revoked     *time.Time // nil while it is good
	Limits      Limits
	Budget      Budget
	Per         []Per
	Creator     string // id of the user who made it; empty for a service key, which belongs to no person
	Tags        KeyTags

	// FormerLast4 are the last four characters of the token that it had before, which is good until FormerUntil; nil
	// for none.
	FormerLast4 string
	FormerUntil *time.Time
}

// KeyTags are what a key says of the tags of its requests. A Key shares them: they are read, not changed.
type KeyTags struct {
	Defaults []llm.Tag // of requests that have no tag of that name
	Required []string  // names of tags without which a request is refused
}

// KeyState is whether a key may be used.
type KeyState string

// The states.
const (
	KeyActive  KeyState = "active"
	KeyExpired KeyState = "expired"
	KeyRevoked KeyState = "revoked" // expired or not
)

// State is whether the key may be used at a moment.
func (k *Key) State(now time.Time) KeyState {
	switch {
	case k.Revoked != nil:
		return KeyRevoked
	case k.Expires != nil && !now.Before(*k.Expires):
		return KeyExpired
	}
	return KeyActive
}
