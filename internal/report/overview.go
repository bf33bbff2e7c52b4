package report

import (
	"time"

	"weir/internal/llm"
)

// MaxDays is the maximum number of days of an overview or a list of keys' spending.
const MaxDays = 1100

// OverviewQuery selects an account's usage. Dates are UTC calendar dates of the form YYYY-MM-DD, both inclusive, at
// most MaxDays from first to last.
type OverviewQuery struct {
	Account string // account id
	From    string
	To      string
	Model   string // "<provider>/<model-name>"; empty for every model
	Models  int    // maximum number of listed models, from 0
}

// Sum adds up settled attempts and their corrections.
type Sum struct {
	Usage     llm.Usage
	Cost      llm.Money // the account's charge
	Requests  int64
	Attempts  int64
	Errors    int64     // refused, rejected, failed or cut attempts
	Unpriced  int64     // attempts partly without a price, which adds 0 to Cost
	Uncertain llm.Money // amount by which the true cost may exceed Cost
	Estimated int64     // attempts with usage that was counted here
	Unknown   int64     // unresolved attempts of unknown outcome
	Speed     Speed     // of complete answers only
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
	Date string // in the form YYYY-MM-DD
	Sum
}

// ModelSum is the sum of a model.
type ModelSum struct {
	Model string      // "<provider>/<model-name>"
	Costs []llm.Money // of each day of the range; their sum is Cost
	Sum
}

// Overview summarizes an account's usage between two dates.
type Overview struct {
	Days   []DaySum   // every day of the range, in order
	Models []ModelSum // the most expensive models, most expensive first
	More   bool       // further models were used
	Total  Sum
}

// KeySum sums up a key's usage.
type KeySum struct {
	Key       string // key id
	Requests  int64
	Cost      llm.Money
	Uncertain llm.Money // as in Sum
	Unpriced  int64     // as in Sum
}

// AccountSum sums up an account's usage in a month.
type AccountSum struct {
	Account   string // account id
	Requests  int64
	Cost      llm.Money
	Uncertain llm.Money // as in Sum
	Errors    int64     // refused, rejected, failed or cut attempts
	Unpriced  int64     // attempts without a price, which add 0 to Cost
	Used      time.Time // last use of any of its keys, in any month; zero for never
	Margin
}

// UnseenSum sums up an account's unresolved attempts without an observed end. Their cost is an estimate or their upper
// bound.
type UnseenSum struct {
	Account  string // account id
	Attempts int64
	// amount by which the true cost of the account's attempts may exceed their cost, including those without a price
	Uncertain llm.Money
	First     string // their first date, in the form YYYY-MM-DD
}

// UnpricedQuery selects models that were used without a price. Dates are as in UsesQuery.
type UnpricedQuery struct {
	From  string
	To    string
	After string // last name of the previous page; empty for the first page
	Limit int    // from 1
}

// UnpricedModel is a model that was used without a price.
type UnpricedModel struct {
	Model    string // "<provider>/<model-name>"
	Attempts int64  // without a price
	Accounts int64  // with such attempts
	First    string // first and last date of the attempts, in the form YYYY-MM-DD
	Last     string
}
