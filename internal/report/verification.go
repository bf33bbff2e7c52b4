package report

import (
	"time"

	"weir/internal/ledger"
)

// Exported is a settled attempt as exports have it: with what was corrected later
// added in, and the names of what it belongs to, empty for what is gone.
type Exported struct {
	ledger.Entry
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
