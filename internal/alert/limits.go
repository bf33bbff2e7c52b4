package alert

import (
	"maps"
	"time"

	"weir/internal/llm"
)

// Limits holds the limits that an account has set itself, by kind and in the unit of the kind; 0 switches the kind off.
// A kind without one has the limit of the installation.
type Limits map[Kind]int64

// MostLimit bounds the limits that accounts set.
const MostLimit = 1_000_000

// CheckLimit refuses a limit that an account cannot set for a kind. The error is a *llm.Error about the kind.
func CheckLimit(k Kind, limit int64) error {
	if _, err := ParseKind(string(k)); err != nil {
		return err
	}
	switch {
	case !k.OfAccounts():
		return llm.Invalidf(string(k), "Alerts of the kind %s concern the installation. Only the operator sets their "+
			"limit.", k)
	case k == SpendJump && limit > 0 && limit < percent:
		return llm.Invalidf(string(k), "The limit of the alert %s must be at least 100 percent; 0 switches it off.", k)
	case k == ErrorRate && limit > percent:
		return llm.Invalidf(string(k), "The limit of the alert %s must be at most 100 percent; 0 switches it off.", k)
	case limit < 0 || limit > MostLimit:
		return llm.Invalidf(string(k), "The limit of the alert %s must be a whole number from 0 to %d, where 0 "+
			"switches it off.", k, MostLimit)
	}
	return nil
}

// Changes holds changes of an account's limits by kind; nil returns a kind to the limit of the installation.
type Changes map[Kind]*int64

// With returns the limits after the changes.
func (l Limits) With(c Changes) Limits {
	changed := Limits{}
	maps.Copy(changed, l)
	for k, limit := range c {
		if delete(changed, k); limit != nil {
			changed[k] = *limit
		}
	}
	return changed
}

// Limit returns the limit in force for an account with limits of its own, in the unit of the kind; 0 if the kind is
// switched off.
func (l Limits) Limit(k Kind, r *Rules) int64 {
	if limit, ok := l[k]; ok && k.OfAccounts() {
		return limit
	}
	return r.Limit(k)
}

// Own holds the accounts with limits of their own, and the facts of these accounts. The zero value has none.
type Own struct {
	Limits map[string]Limits // by the account's id
	Facts  *Facts
}

// Widest returns rules with the lowest limit of each kind that these accounts have switched on.
func (o *Own) Widest(r *Rules) Rules {
	lowest := Limits{}
	for _, limits := range o.Limits {
		for k, limit := range limits {
			if least := lowest[k]; limit > 0 && (least == 0 || limit < least) {
				lowest[k] = limit
			}
		}
	}
	w := Rules{SpendLeast: r.SpendLeast, ErrorLeast: r.ErrorLeast}
	w.BudgetPercent, w.ErrorPercent, w.Refusals = lowest[BudgetForecast], lowest[ErrorRate], lowest[KeyRefusals]
	if limit := lowest[SpendJump]; limit > 0 {
		w.SpendFactor = max(1, limit/percent)
	}
	return w
}

// AllConditions returns the values of all kinds that are switched on, for the installation by the rules, and for each
// account by its own limits or by the rules.
func (r *Rules) AllConditions(f *Facts, now time.Time) []Condition {
	all, own := r.Conditions(f, now), &f.Own
	for _, c := range all {
		if _, set := own.Limits[c.Account][c.Kind]; c.Kind.OfAccounts() && !set {
			c.Own = true
			all = append(all, c)
		}
	}
	if own.Facts == nil {
		return all
	}
	for _, c := range r.conditions(own.Facts, now, func(k Kind, account string) int64 {
		return own.Limits[account][k]
	}) {
		c.Own = true
		all = append(all, c)
	}
	return all
}
