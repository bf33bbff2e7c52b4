package ledger

import (
	"time"

	"github.com/google/uuid"

	"weir/internal/llm"
)

// DateLayout is the form of a calendar date, always UTC.
const DateLayout = "2006-01-02"

// UsesQuery selects usage of one account. Dates are UTC calendar dates in
// DateLayout, both inclusive; empty for no bound.
type UsesQuery struct {
	Account string // account id
	From    string
	To      string
	Model   string // "<provider>/<model-name>"; empty for every model
	Limit   int    // 1 to 1000
	Offset  int    // from 0
}

// Use is the usage of one account, date and model.
type Use struct {
	Date     string
	Model    string
	Usage    llm.Usage
	Requests int64
	Cost     llm.Money
	Unpriced bool // some of it has no price and adds 0 to Cost
	// Uncertain is what attempts of which nobody knows the cost may have cost beyond it.
	Uncertain llm.Money
}

// AtMost is the upper bound of the cost.
func (u *Use) AtMost() llm.Money { return u.Cost + u.Uncertain }

// ID is stable: the same account, date and model give the same id for ever.
func (u *Use) ID(account string) string {
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte("weir:use:"+account+"/"+u.Date+"/"+u.Model)).String()
}

// Totals adds up all matching entries.
type Totals struct {
	Tokens    int64
	Requests  int64
	Cost      llm.Money
	Uncertain llm.Money // as in Use
}

// AtMost is the upper bound of the cost.
func (t *Totals) AtMost() llm.Money { return t.Cost + t.Uncertain }

// UsesPage is one page of usage, newest date first, then model A to Z.
type UsesPage struct {
	Uses  []Use
	Total Totals // over all matching entries
	Count int    // of all matching entries
}

// Exported is a settled attempt as exports have it: with what was corrected later
// added in, and the names of what it belongs to, empty for what is gone.
type Exported struct {
	Entry
	AccountName string
	KeyLabel    string
}

// What stands in the place of a price's version in an Explanation.
const (
	PriceForgotten   = "-"           // explanations are not kept any more
	PriceCorrections = "corrections" // what was corrected later
)

// Explanation is the part of a day's sum of an account and a model that came about by one
// version of the price: of all prices together they are the Use of that day.
type Explanation struct {
	Date    string
	Account string // account id
	Model   string // "<provider>/<model-name>"
	Price   string // version; empty for none, PriceForgotten or PriceCorrections
	// Terms is the price as JSON: its rates in pico-dollars, tiers and modes. It is empty
	// where there is none.
	Terms string
	Sum   // without speed
}

// Difference is a place where the rollups do not say what the rows say.
type Difference struct {
	Rollup  string // "hour", "day" or "uses" (days without keys); "row", "balance" or "explanation"
	Account string
	Period  string // the date, or the hour as RFC 3339
	Model   string
	Key     string
	What    string    // the column that differs
	Rows    int64     // what the rows add up to; nano-USD for a cost
	Rolled  int64     // what the rollup says
	Checked time.Time // when this was seen
}

// Retained is what retention has deleted.
type Retained struct {
	Rows       int64 // attempts
	Unresolved int64 // of them, those of which nobody knows the cost: their bounds count for good
}

// Verification is the result of recomputing every rollup from the rows.
type Verification struct {
	Rows        int64 // attempts read
	Open        int64 // of them, still open
	Unknown     int64 // of them, settled as unknown
	Rollups     int64 // rollup rows compared
	Differences []Difference
}
