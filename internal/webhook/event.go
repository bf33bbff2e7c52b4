// Package webhook tells people's programs what happens, as the Standard Webhooks
// specification has it (https://www.standardwebhooks.com): events, the endpoints
// that want to hear of them, signatures, and the delivery that does not give up for
// three days.
package webhook

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"weir/internal/budget"
)

// Type is what an event tells.
type Type string

// The types.
const (
	KeyCreated          Type = "key.created"
	KeyExpiring         Type = "key.expiring"
	KeyRevoked          Type = "key.revoked"
	AccountSuspended    Type = "account.suspended"
	AccountResumed      Type = "account.resumed"
	BudgetThreshold     Type = "budget.threshold_reached"
	BudgetExceeded      Type = "budget.exceeded"
	RateLimitExceeded   Type = "rate_limit.exceeded"
	UsageDaily          Type = "usage.daily"
	ProviderUnavailable Type = "provider.unavailable"
	ProviderRecovered   Type = "provider.recovered"
	ModelUnpriced       Type = "model.unpriced"
	UsageDrift          Type = "usage.drift"
	Test                Type = "webhook.test"
)

// Version is that of the payloads. It changes only where a field goes or comes to
// mean something else; new ones may come at any time.
const Version = 1

// Event is something that has happened. It is written in the transaction of what it
// tells, together with its deliveries.
type Event struct {
	ID      uuid.UUID // the same at every try, and after a database went back in time
	Type    Type
	Account string // id of the account that it concerns; empty for none
	At      time.Time
	Data    Data
	// Once is what the event is told of once until a time comes; empty where it is
	// told whenever it is written.
	Once  string
	Until time.Time
	// Internal keeps an event from the endpoints of accounts, whatever its type.
	Internal bool
}

// NewEvent is an event of now.
func NewEvent(t Type, account string, at time.Time, d Data) Event {
	return Event{ID: uuid.Must(uuid.NewV7()), Type: t, Account: account, At: at, Data: d}
}

// TellOnce makes an event one that is told once until a time, however often it is
// found: its id follows from what it is of (RFC 9562, version 5).
func (e *Event) TellOnce(until time.Time, of ...string) {
	text, _ := json.Marshal(append([]string{string(e.Type)}, of...)) // texts always have a JSON
	e.ID = uuid.NewSHA1(uuid.NameSpaceURL, text)
	e.Once, e.Until = e.ID.String(), until
}

// Data is what an event tells, in the parts that its type has. Amounts are decimals
// of US dollars, times RFC 3339 in UTC.
type Data struct {
	Account   *Account   `json:"account,omitempty"`
	Key       *Key       `json:"key,omitempty"`
	Budget    *Budget    `json:"budget,omitempty"`
	Threshold int64      `json:"threshold_percent,omitempty"` // 50, 80, 95 or 100
	RateLimit *RateLimit `json:"rate_limit,omitempty"`
	Target    *Target    `json:"target,omitempty"`
	Model     string     `json:"model,omitempty"` // "<provider>/<model-name>"
	Usage     *Usage     `json:"usage,omitempty"`
	Drift     *Drift     `json:"drift,omitempty"`
	WebhookID string     `json:"webhook_id,omitempty"`
}

// Drift is what a provider reports otherwise than the ledger has it, of a UTC day.
type Drift struct {
	Provider string      `json:"provider"`
	Date     string      `json:"date"`
	Rows     int64       `json:"rows"`   // differences that are not explained
	Models   []DriftedOf `json:"models"` // the first 20 of them
}

// DriftedOf is a model of which they differ.
type DriftedOf struct {
	Model     string  `json:"model"`
	Finding   string  `json:"finding"` // see docs/metering.md
	OursUSD   string  `json:"ours_usd"`
	TheirsUSD *string `json:"theirs_usd"` // null where the provider tells no cost of the model
}

// Account is the account that an event concerns.
type Account struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Key is an API key, without its secret.
type Key struct {
	ID      string     `json:"id"`
	Label   string     `json:"label"`
	Last4   string     `json:"last4"`
	Expires *time.Time `json:"expires"`
}

// Budget is a budget in one of its periods.
type Budget struct {
	Of       string        `json:"of"` // "account", "key", "user", "tag", or "credit" for what was paid beforehand
	Part     *Part         `json:"part,omitempty"`
	Period   budget.Period `json:"period"`       // "day", "month" or "total"
	From     *string       `json:"period_start"` // UTC date; null for a total
	LimitUSD string        `json:"limit_usd"`
	SpentUSD string        `json:"spent_usd"` // settled, when the event was written
}

// Part is whose budget it is, of "user" and "tag".
type Part struct {
	Tag   string `json:"tag,omitempty"` // its name
	Value string `json:"value"`         // of the tag, or the end user
}

// RateLimit is the limit that a request would have passed.
type RateLimit struct {
	Of    string `json:"of"`    // "key", "account" or "installation"
	What  string `json:"what"`  // "rpm", "tpm", "concurrency" or "rejected"
	Limit int64  `json:"limit"` // requests or tokens a minute, or requests at a time
}

// Target is a model at a provider, as a node found it.
type Target struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Node     string `json:"node"`             // that found it so: each looks for itself
	Reason   string `json:"reason,omitempty"` // how the last try failed; provider.unavailable alone
}

// Usage is what an account used on a UTC day, as far as it was settled by AsOf.
type Usage struct {
	Date     string    `json:"date"`
	AsOf     time.Time `json:"as_of"`
	Requests int64     `json:"requests"`
	Tokens   int64     `json:"tokens"`
	CostUSD  string    `json:"cost_usd"`
	Unpriced int64     `json:"unpriced_requests"` // whose cost nobody knows
}

// payload is what is sent.
type payload struct {
	ID        uuid.UUID `json:"id"`
	Type      Type      `json:"type"`
	Version   int       `json:"version"`
	Timestamp time.Time `json:"timestamp"` // of the event, not of the try
	Data      Data      `json:"data"`
}

// Payload is what every try of the event sends.
func (e *Event) Payload() ([]byte, error) {
	return json.Marshal(payload{ID: e.ID, Type: e.Type, Version: Version, Timestamp: e.At.UTC().Truncate(
		time.Microsecond), Data: e.Data})
}
