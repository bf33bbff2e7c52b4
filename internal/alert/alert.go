// Package alert decides which conditions of an installation need somebody's attention: spending that will exceed a
// budget or has jumped, failures, refusals, usage without a price, and old prices.
//
// An alert fires once, and again only after it has ended. It ends when its value has fallen clearly below the limit, so
// that a value near the limit does not fire again and again.
package alert

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"weir/internal/llm"
)

// Kind is a kind of alert.
type Kind string

// The kinds.
const (
	BudgetForecast Kind = "budget_forecast" // percent of a budget that will be spent at this rate
	SpendJump      Kind = "spend_jump"      // percent of the highest spending in the same hour of the 7 days before
	ErrorRate      Kind = "error_rate"      // percent of an account's attempts that failed
	KeyRefusals    Kind = "key_refusals"    // refused requests of a key in the last hour
	UnpricedUsage  Kind = "unpriced_usage"  // attempts of a model without a price in the last two hours
	PricesOld      Kind = "prices_old"      // age of the newest price data in days
)

// Kinds returns all kinds.
func Kinds() []Kind {
	return []Kind{BudgetForecast, SpendJump, ErrorRate, KeyRefusals, UnpricedUsage, PricesOld}
}

// ParseKind parses the name of a kind.
func ParseKind(name string) (Kind, error) {
	if k := Kind(name); slices.Contains(Kinds(), k) {
		return k, nil
	}
	var names []string
	for _, k := range Kinds() {
		names = append(names, string(k))
	}
	return "", llm.Errorf(llm.CodeNotFound, "There is no alert %.60q. Choose from: %s.", name,
		strings.Join(names, ", ")).At("kind")
}

// About returns when alerts of the kind fire, in a sentence.
func (k Kind) About() string {
	switch k {
	case BudgetForecast:
		return "At the rate of its period so far, the budget of an account or a key will be exceeded."
	case SpendJump:
		return "An account spent far more in an hour than in the same hour of the seven days before."
	case ErrorRate:
		return "Many attempts of an account fail."
	case KeyRefusals:
		return "Many requests of a key are refused."
	case UnpricedUsage:
		return "A model without a price is used, so its cost is unknown."
	case PricesOld:
		return "The newest price data is old."
	}
	return ""
}

// OfAccounts reports whether alerts of the kind concern a single account.
func (k Kind) OfAccounts() bool { return k != UnpricedUsage && k != PricesOld }

// Unit returns the unit of values and limits of the kind.
func (k Kind) Unit() string {
	switch k {
	case BudgetForecast, SpendJump, ErrorRate:
		return "%"
	case KeyRefusals:
		return "refusals"
	case UnpricedUsage:
		return "attempts"
	}
	return "days"
}

// Source identifies a condition: at most one alert of it is active.
type Source struct {
	Kind    Kind
	Account string // id; empty for a condition of the installation
	Subject string // id of a key, or name of a model; empty for the account or the installation itself
	// Own selects the condition by the limits in force for the account, of which only the account is notified. The
	// other one has the limits of the installation.
	Own bool
}

// whole returns the source without its subject.
func (s Source) whole() Source {
	s.Subject = ""
	return s
}

// Condition is the value of a source at a time, in the unit of its kind.
type Condition struct {
	Source
	Value, Limit int64
	Text         string // explains the value in a sentence
}

// endPart is the part of a limit by which a value must fall below it to end an alert.
const endPart = 5

func (c *Condition) fires() bool { return c.Limit > 0 && c.Value >= c.Limit }

// holds reports whether an active alert goes on.
func (c *Condition) holds() bool { return c.Limit > 0 && c.Value > c.Limit-max(1, c.Limit/endPart) }

// Alert is a condition that fired.
type Alert struct {
	ID string // UUIDv7
	Condition
	Label string // of the key that it is about; empty for none
	Fired time.Time
	Ended *time.Time // nil while it is active
}

const (
	// MostActive bounds the active alerts of the installation, and those of all accounts by their own limits.
	// MostOfAccount bounds those of a kind and an account, or of a kind and the installation. Further ones do not fire.
	MostActive    = 1000
	MostOfAccount = 50
	// MostListed bounds a list of alerts.
	MostListed = 200
	// KeepFor is how long alerts are stored after their end.
	KeepFor = 90 * 24 * time.Hour
)

// Decide compares conditions with the active alerts. It returns the alerts that fire and those that end now; an alert
// without a condition ends.
func Decide(active []Alert, all []Condition, now time.Time) (fired, ended []Alert) {
	current := make(map[Source]*Condition, len(all))
	for i := range all {
		current[all[i].Source] = &all[i]
	}
	going := make(map[Source]bool, len(active))
	count, share := map[bool]int{}, map[Source]int{} // counted by Own; shares are counted without subjects
	for _, a := range active {
		going[a.Source] = true
		if c := current[a.Source]; c == nil || !c.holds() {
			a.Ended = new(now)
			ended = append(ended, a)
			continue
		}
		count[a.Own]++
		share[a.whole()]++
	}
	for i := range all {
		c := &all[i]
		of := c.whole()
		if c.fires() && !going[c.Source] && count[c.Own] < MostActive && share[of] < MostOfAccount {
			going[c.Source] = true
			count[c.Own]++
			share[of]++
			fired = append(fired, Alert{ID: uuid.Must(uuid.NewV7()).String(), Condition: *c, Fired: now})
		}
	}
	return fired, ended
}
