package report

import (
	"time"

	"weir/internal/ledger"
)

// Exported is a settled attempt in exports, including its corrections, with the names of its account and key; empty for
// deleted ones.
type Exported struct {
	ledger.Entry
	AccountName string
	KeyLabel    string
}

// These constants replace a price's version in an Explanation.
const (
	PriceForgotten   = "-"           // the explanations have been deleted
	PriceCorrections = "corrections" // later corrections
)

// Explanation is the part of an account's daily sum of a model at one version of the price. The parts of all prices add
// up to the Use of that day.
type Explanation struct {
	Date    string
	Account string // account id
	Model   string // "<provider>/<model-name>"
	Price   string // version; empty for none, PriceForgotten or PriceCorrections
	// Terms holds the price as JSON: its rates in pico-dollars, tiers and modes; empty without a price.
	Terms string
	Sum   // without speed
}

// Difference is a value that differs between the rollups and the rows.
type Difference struct {
	// Rollup is "hour", "day" or "uses" (days without keys); "row", "balance" or "explanation".
	Rollup  string    `json:"rollup"`
	Period  string    `json:"period"` // the date, or the hour as RFC 3339
	Account string    `json:"account"`
	Model   string    `json:"model"`
	Key     string    `json:"key"`
	What    string    `json:"what"`   // the column that differs
	Rolled  int64     `json:"rolled"` // value of the rollup
	Rows    int64     `json:"rows"`   // sum of the rows; nano-USD for a cost
	Checked time.Time `json:"-"`      // when it was found
}

// Retained counts the rows that retention has deleted.
type Retained struct {
	Rows       int64 // attempts
	Unresolved int64 // those with an unknown cost: their bounds count for good
}

// Verification is the result of recomputing all rollups from the rows.
type Verification struct {
	Rows        int64 // attempts read
	Open        int64 // of these, still open
	Unknown     int64 // of these, settled as unknown
	Rollups     int64 // rollup rows compared
	Differences []Difference
	SetAside    []SetAside // the oldest ones
}

// SetAside is a record of a journal that could not be stored as what it is, so that the sums lack it.
type SetAside struct {
	Journal  string    `json:"journal"`  // id
	Position int64     `json:"position"` // in the journal, after the record
	Record   string    `json:"record"`   // what it is, as far as it can be read
	Reason   string    `json:"reason"`
	At       time.Time `json:"at"` // when it was set aside
}
