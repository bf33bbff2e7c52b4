// Package webhook sends events to people's programs by the Standard Webhooks specification
// (https://www.standardwebhooks.com): events, the endpoints that subscribe to them, signatures, and deliveries that are
// retried for three days.
package webhook

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/google/uuid"

	"weir/internal/budget"
)

// Type is the type of an event.
type Type string

// These are the types.
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
	ModelSubstituted    Type = "model.substituted"
	UsageDrift          Type = "usage.drift"
	ToolsHeld           Type = "tools.held"
	AlertFired          Type = "alert.fired"
	AlertEnded          Type = "alert.ended"
	Test                Type = "webhook.test"
)

// Version is the version of the payloads. It changes only if a field is removed or changes its meaning; new fields may
// be added at any time.
const Version = 1

// Event is an occurrence to report. It is written in the transaction of the change that it reports, together with its
// deliveries.
type Event struct {
	ID      uuid.UUID // the same at every try, and after a database was restored
	Type    Type
	Account string // id of the account concerned; empty for none
	At      time.Time
	Data    Data
	// Once identifies the occurrence if it must be reported only once until a time; empty to report each written event.
	Once  string
	Until time.Time
	// Internal hides an event from the endpoints of accounts, whatever its type.
	Internal bool
	// Own hides an event of an account from the endpoints of the installation.
	Own bool
}

// NewEvent returns an event with a new id.
func NewEvent(t Type, account string, at time.Time, d Data) Event {
	return Event{ID: uuid.Must(uuid.NewV7()), Type: t, Account: account, At: at, Data: d}
}

// TellOnce limits an event to one report until a time, even if the occurrence is found again. Its id is derived from
// the occurrence (RFC 9562, version 5).
func (e *Event) TellOnce(until time.Time, of ...string) {
	text, _ := json.Marshal(append([]string{string(e.Type)}, of...)) // never fails for strings
	e.ID = uuid.NewSHA1(uuid.NameSpaceURL, text)
	e.Once, e.Until = e.ID.String(), until
}

// Data is the content of an event; its type determines the fields. Amounts are decimals of US dollars, times are RFC
// 3339 in UTC.
type Data struct {
	Account   *Account   `json:"account,omitempty"`
	Key       *Key       `json:"key,omitempty"`
	Budget    *Budget    `json:"budget,omitempty"`
	Threshold int64      `json:"threshold_percent,omitempty"` // 50, 80, 95 or 100
	RateLimit *RateLimit `json:"rate_limit,omitempty"`
	Target    *Target    `json:"target,omitempty"`
	Model     string     `json:"model,omitempty"`        // "<provider>/<model-name>"
	Served    string     `json:"served_model,omitempty"` // the model that answered, in the same form
	Usage     *Usage     `json:"usage,omitempty"`
	Drift     *Drift     `json:"drift,omitempty"`
	Held      *Held      `json:"held,omitempty"`
	Alert     *Alert     `json:"alert,omitempty"`
	WebhookID string     `json:"webhook_id,omitempty"`
}

// Alert is a condition that needs attention. The unit of Value and Limit depends on the kind: docs/alerts.md.
type Alert struct {
	ID    string     `json:"id"`
	Kind  string     `json:"kind"`
	Text  string     `json:"text"`
	Value int64      `json:"value"`
	Limit int64      `json:"limit"`
	Unit  string     `json:"unit"`
	Fired time.Time  `json:"fired"`
	Ended *time.Time `json:"ended,omitempty"` // absent while it is active
	Test  bool       `json:"test,omitempty"`  // it was sent by hand
}

// title names the alert and its state.
func (a *Alert) title() string {
	name := strings.ReplaceAll(a.Kind, "_", " ")
	switch {
	case a.Test:
		return "Weir: test of the alert " + name
	case a.Ended != nil:
		return "Weir: ended: " + name
	}
	return "Weir: alert: " + name
}

// Held names the tools of an MCP server that wait for an approval.
type Held struct {
	Server string   `json:"server"`
	Count  int64    `json:"count"`
	Tools  []string `json:"tools"` // the first 20 of them
}

// Drift is a difference between a provider's report of a UTC day and the ledger.
type Drift struct {
	Provider string      `json:"provider"`
	Date     string      `json:"date"`
	Rows     int64       `json:"rows"`   // unexplained differences
	Models   []DriftedOf `json:"models"` // the first 20 of them
}

// DriftedOf is a model with a difference.
type DriftedOf struct {
	Model     string  `json:"model"`
	Finding   string  `json:"finding"` // see docs/metering.md
	OursUSD   string  `json:"ours_usd"`
	TheirsUSD *string `json:"theirs_usd"` // null if the provider reports no cost of the model
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
	Of       string        `json:"of"` // "account", "key", "user", "tag", or "credit" for prepaid credit
	Part     *Part         `json:"part,omitempty"`
	Period   budget.Period `json:"period"`       // "day", "month" or "total"
	From     *string       `json:"period_start"` // UTC date; null for a total
	LimitUSD string        `json:"limit_usd"`
	SpentUSD string        `json:"spent_usd"` // settled when the event was written
}

// Part names the end user or the tag value of a budget of "user" or "tag".
type Part struct {
	Tag   string `json:"tag,omitempty"` // its name
	Value string `json:"value"`         // of the tag, or the id of the end user
}

// RateLimit is the limit that a request would have exceeded.
type RateLimit struct {
	Of    string `json:"of"`    // "key", "account" or "installation"
	What  string `json:"what"`  // "rpm", "tpm", "concurrency" or "rejected"
	Limit int64  `json:"limit"` // requests or tokens a minute, or requests at a time
}

// Target is a model at a provider, as seen by one node.
type Target struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Node     string `json:"node"`             // the observing node; each node observes separately
	Reason   string `json:"reason,omitempty"` // the last failure; only for provider.unavailable
}

// Usage is an account's usage on a UTC day, as far as it was settled at AsOf.
type Usage struct {
	Date     string    `json:"date"`
	AsOf     time.Time `json:"as_of"`
	Requests int64     `json:"requests"`
	Tokens   int64     `json:"tokens"`
	CostUSD  string    `json:"cost_usd"`
	Unpriced int64     `json:"unpriced_requests"` // with an unknown cost
}

// payload is the JSON document of an event.
type payload struct {
	ID        uuid.UUID `json:"id"`
	Type      Type      `json:"type"`
	Version   int       `json:"version"`
	Timestamp time.Time `json:"timestamp"` // of the event, not of the try
	Data      Data      `json:"data"`
}

// Payload returns the body that every try of the event sends.
func (e *Event) Payload() ([]byte, error) {
	return json.Marshal(payload{ID: e.ID, Type: e.Type, Version: Version, Timestamp: e.At.UTC().Truncate(
		time.Microsecond), Data: e.Data})
}
