package account

import (
	"time"

	"weir/internal/budget"
	"weir/internal/llm"
)

// OnDisconnect says what happens to a provider's answer when the client disconnects before its end.
type OnDisconnect string

// These are the choices. A drained answer is read to its end, so that the provider reports its usage. The cost of a
// cancelled answer stays unknown, and budgets count its upper bound. By default complete answers are drained, because
// most vendors charge for them anyway, and streams are cancelled, unless the provider charges for the whole stream.
const (
	DisconnectDefault OnDisconnect = "default"
	DisconnectCancel  OnDisconnect = "cancel"
	DisconnectDrain   OnDisconnect = "drain"
)

// Budget is the maximum spending in a period. The zero value means no budget.
type Budget struct {
	Limit  llm.Money     // 0 for no budget
	Period budget.Period // empty for no budget
}

// Account owns keys, usage and budgets.
type Account struct {
	ID           string // UUID, version 7
	Name         string // unique; 1 to 64 letters, digits, dashes, underscores, dots
	Suspended    bool   // its keys are refused
	OnDisconnect OnDisconnect
	Limits       Limits
	Budget       Budget
	Per          []Per       // limits and budget of each end user, and of each value of a tag
	Credit       *Credit     // nil for an account without prepaid credit
	Goodwill     llm.Money   // granted while the account had no prepaid credit: reduces its debt, but not its limits
	PriceLists   []PriceList // ordered by start time; none for an account that is charged the cost
	Created      time.Time   // UTC, whole microseconds
	Closed       *time.Time  // when it was closed for good; nil while open

	// ContentPercent is the percentage of requests whose content is logged, 0 to 100.
	ContentPercent int64
}

// Limits are the maximum use in any 60 seconds, and at a time; 0 for no limit.
type Limits struct {
	RPM         int64 // requests a minute
	TPM         int64 // tokens a minute, input plus output
	Concurrency int64 // concurrent requests
}

// Credit is an account's prepaid credit.
type Credit struct {
	Paid llm.Money // sum of all payments and grants
	From llm.Money // the account's total spending when the first credit was added
}

// Permission is a right of a key.
type Permission string

// These are the permissions. A key has the first two unless it was created with others. The others must be granted
// explicitly, and include no other.
const (
	Chat  Permission = "chat"  // send messages to models
	Uses  Permission = "uses"  // read the account's usage
	Tools Permission = "tools" // list and call the tools of MCP servers
	Admin Permission = "admin" // administer the whole installation through /admin/v1
)

// Key is an API key as it is stored: everything except the secret.
type Key struct {
	ID          string // UUID, version 7
	AccountID   string
	Label       string // 1 to 100 printable characters
	Last4       string // the last four characters of the token
	Permissions []Permission
	Models      []string   // patterns of permitted models, see Principal.MayUse; empty for all
	Created     time.Time  // UTC, whole microseconds
	Expires     *time.Time // nil for never
	Revoked     *time.Time // nil while it is valid
	Limits      Limits
	Budget      Budget
	Per         []Per
	Creator     string // id of the user who created it; empty for a service key, which belongs to no person
	// Client is the host that identifies the program that acts for the creator by OAuth: its token is an access token,
	// which the program renews itself. Empty for other keys.
	Client string
	// Resource is the only path at which the key is valid; empty for any.
	Resource string
	// Person is the id of the user whose connections to MCP servers the key uses: the creator, until somebody else
	// rotates the key and has its token. Empty for nobody.
	Person    string
	Tags      KeyTags
	NoContent bool // the content of its requests is not logged, whatever the account's setting
	// AnswerCache is the greatest age of stored answers to its requests, in whole seconds; 0 for no stored answers.
	AnswerCache time.Duration

	// FormerLast4 holds the last four characters of the previous token, which is valid until FormerUntil; empty and nil
	// for none.
	FormerLast4 string
	FormerUntil *time.Time
}

// KeyTags holds a key's rules for the tags of its requests. Several Keys share it, so it must not be changed.
type KeyTags struct {
	Defaults []llm.Tag // added to requests without a tag of that name
	Required []string  // names of tags that each request must have
}

// KeyState is the state of a key.
type KeyState string

// These are the states.
const (
	KeyActive  KeyState = "active"
	KeyExpired KeyState = "expired"
	KeyRevoked KeyState = "revoked" // whether expired or not
)

// State returns the state of the key at a time.
func (k *Key) State(now time.Time) KeyState {
	switch {
	case k.Revoked != nil:
		return KeyRevoked
	case k.Expires != nil && !now.Before(*k.Expires):
		return KeyExpired
	}
	return KeyActive
}
