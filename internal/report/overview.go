package report

import (
	"time"

	"weir/internal/llm"
)

// MaxDays is the most days that an overview or a list of keys' spending
// goes over.
const MaxDays = 1100

// OverviewQuery selects what an account used. Dates are UTC calendar dates of
// the form YYYY-MM-DD, both inclusive, at most MaxDays from first to last.
type OverviewQuery struct {
	Account string // account id
	From    string
	To      string
	Model   string // "<provider>/<model-name>"; empty for every model
	Models  int    // how many models are listed at most, from 0
}

// Sum adds up settled attempts, with what was corrected later.
type Sum struct {
	Usage     llm.Usage
	Cost      llm.Money // what the account is charged
	Requests  int64
	Attempts  int64
	Errors    int64     // attempts that were refused, rejected, failed or cut
	Unpriced  int64     // attempts of which some has no price, and adds 0 to Cost
	Uncertain llm.Money // what attempts of which nobody knows the cost may have cost beyond it
	Estimated int64     // attempts whose usage was counted here
	Unknown   int64     // attempts of unknown outcome that nobody has resolved
	Speed     Speed     // of whole answers alone
	Margin
}

// Add adds o to s.
func (s *Sum) Add(o *Sum) {
	s.Usage.Add(&o.Usage)
	s.Cost += o.Cost
	s.Requests += o.Requests
	s.Attempts += o.Attempts
	s.Errors += o.Errors
	s.Unpriced += o.Unpriced
	s.Uncertain += o.Uncertain
	s.add(o.Margin)
	s.Estimated += o.Estimated
	s.Unknown += o.Unknown
	s.Speed.Add(&o.Speed)
}

// DaySum is the sum of a UTC day.
type DaySum struct {
	Date string // as YYYY-MM-DD
	Sum
}

// ModelSum is the sum of a model.
type ModelSum struct {
	Model string      // "<provider>/<model-name>"
	Costs []llm.Money // of each day of the range, which add up to the sum's
	Sum
}

// Overview is what an account used between two dates.
type Overview struct {
	Days   []DaySum   // every day of the range, the first one first
	Models []ModelSum // the dearest of those that were used, the dearest first
	More   bool       // more models were used
	Total  Sum
}

// KeySum is what a key used.
type KeySum struct {
	Key       string // key id
	Requests  int64
	Cost      llm.Money
	Uncertain llm.Money // as in Sum
	Unpriced  int64     // as in Sum
}

// AccountSum is what an account used in a month.
type AccountSum struct {
	Account   string // account id
	Requests  int64
	Cost      llm.Money
	Uncertain llm.Money // as in Sum
	Errors    int64     // attempts that were refused, rejected, failed or cut
	Unpriced  int64     // attempts without a price, which add 0 to Cost
	Used      time.Time // when any of its keys was used last, in any month; zero for never
	Margin
}

// UnseenSum is what an account has of attempts whose end nobody saw and that nobody has
// resolved: their cost is an estimate, or their upper bound.
type UnseenSum struct {
	Account   string // account id
	Attempts  int64
	Uncertain llm.Money // what the account's attempts may have cost beyond their cost, those without a price included
	First     string    // the first date of them, as YYYY-MM-DD
}

// UnpricedQuery selects models that were used without a price. Dates are as UsesQuery has them.
type UnpricedQuery struct {
	From  string
	To    string
	After string // the name where the page before ended; empty for the first
	Limit int    // from 1
}

// UnpricedModel is a model that was used without a price.
type UnpricedModel struct {
	Model    string // "<provider>/<model-name>"
	Attempts int64  // without a price
	Accounts int64  // that made them
	First    string // the first and the last date of them, as YYYY-MM-DD
	Last     string
}
