package alert

import (
	"fmt"
	"time"

	"weir/internal/budget"
	"weir/internal/llm"
)

// Rules holds the limits of alerts; 0 switches a kind off.
type Rules struct {
	BudgetPercent int64 // of a budget that will be spent
	SpendFactor   int64 // times the highest spending in the same hour of the seven days before
	SpendLeast    llm.Money
	ErrorPercent  int64 // of attempts
	ErrorLeast    int64 // attempts below which their share says little
	Refusals      int64 // of a key in an hour
	Unpriced      int64 // attempts of a model
	PricesDays    int64
}

// Limit returns the limit of a kind, in its unit; 0 if it is switched off.
func (r *Rules) Limit(k Kind) int64 {
	switch k {
	case BudgetForecast:
		return r.BudgetPercent
	case SpendJump:
		return r.SpendFactor * percent
	case ErrorRate:
		return r.ErrorPercent
	case KeyRefusals:
		return r.Refusals
	case UnpricedUsage:
		return r.Unpriced
	case PricesOld:
		return r.PricesDays
	}
	return 0
}

// Facts is what an installation knows at a time.
type Facts struct {
	Budgets  []Budget
	Spend    []Spend
	Errors   []Errors
	Refusals []Refusals
	Unpriced []Unpriced
	Prices   time.Time // day of the newest price data; zero if it is not known
	Own      Own
}

// Budget is a budget of a day or a month, and what is spent of it in the current period.
type Budget struct {
	Account, Key string // ids; Key is empty for the account's
	Period       budget.Period
	Limit, Spent llm.Money
}

// Spend is what an account spent in the last full hour, and at most in the same hour of the seven days before.
type Spend struct {
	Account     string
	Hour, Usual llm.Money
}

// Errors counts attempts of an account in the current hour and the one before.
type Errors struct {
	Account          string
	Attempts, Failed int64
}

// Refusals counts the refused requests of a key in the last hour.
type Refusals struct {
	Account, Key string
	Count        int64
}

// Unpriced counts attempts of a model without a price in the current hour and the one before.
type Unpriced struct {
	Model string
	Count int64
}

const (
	percent = 100
	// leastPart is the part of a period after which its rate counts, so that an hour does not stand for a month.
	leastPart = 10
	oneDay    = 24 * time.Hour
)

// Conditions returns the values of all kinds that are switched on.
func (r *Rules) Conditions(f *Facts, now time.Time) []Condition {
	return r.conditions(f, now, func(k Kind, _ string) int64 { return r.Limit(k) })
}

// conditions returns the values of all kinds that have a limit in the account concerned.
func (r *Rules) conditions(f *Facts, now time.Time, limitOf func(k Kind, account string) int64) (all []Condition) {
	add := func(k Kind, account, subject string, value int64, format string, args ...any) {
		if limit := limitOf(k, account); limit > 0 {
			source := Source{Kind: k, Account: account, Subject: subject}
			all = append(all, Condition{source, value, limit, fmt.Sprintf(format, args...)})
		}
	}
	for i := range f.Budgets {
		b := &f.Budgets[i]
		if value, ok := b.forecast(now); ok {
			add(BudgetForecast, b.Account, b.Key, value,
				"At the rate of this %s so far, %d %% of its budget of $%s will be spent; $%s is spent already.",
				b.Period, value, b.Limit, b.Spent)
		}
	}
	for _, s := range f.Spend {
		value := share(int64(s.Hour), int64(max(s.Usual, r.SpendLeast)))
		add(SpendJump, s.Account, "", value, "$%s was spent in the last full hour, and at most $%s in the same hour "+
			"of the seven days before.", s.Hour, s.Usual)
	}
	for _, e := range f.Errors {
		if e.Attempts >= max(1, r.ErrorLeast) {
			add(ErrorRate, e.Account, "", share(e.Failed, e.Attempts), "%d of %d attempts failed in this hour and the "+
				"one before.", e.Failed, e.Attempts)
		}
	}
	for _, x := range f.Refusals {
		add(KeyRefusals, x.Account, x.Key, x.Count, "%d requests of the key were refused in the last hour.", x.Count)
	}
	for _, u := range f.Unpriced {
		add(UnpricedUsage, "", u.Model, u.Count, "Attempts of %s without a price: %d. Their cost is unknown.",
			u.Model, u.Count)
	}
	if !f.Prices.IsZero() {
		days := int64(now.Sub(f.Prices) / oneDay)
		add(PricesOld, "", "", days, "The newest price data is %d days old: update Weir, or write a price file.", days)
	}
	return all
}

// forecast returns the percentage of the budget that will be spent in its period at the rate so far; false if it is too
// early to say.
func (b *Budget) forecast(now time.Time) (int64, bool) {
	ends, ok := b.Period.Ends(now)
	if !ok || b.Limit <= 0 {
		return 0, false
	}
	starts := b.Period.Starts(now)
	whole, passed := ends.Sub(starts), now.Sub(starts)
	if passed < whole/leastPart {
		return 0, false
	}
	return int64(float64(b.Spent) / float64(b.Limit) * float64(whole) / float64(passed) * percent), true
}

// share returns a part in percent of a whole; 0 if there is none.
func share(part, whole int64) int64 {
	if whole <= 0 || part <= 0 {
		return 0
	}
	return int64(float64(part) / float64(whole) * percent)
}
