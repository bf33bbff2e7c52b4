// Package report is what the ledger tells when it is read: usage by date and model, overviews,
// requests with their attempts and the arithmetic of their cost, and what verification finds.
// It holds the questions and the answers. The database answers them.
package report

import (
	"slices"

	"github.com/google/uuid"

	"weir/internal/llm"
)

// UsesQuery selects usage of one account. Dates are UTC calendar dates of
// the form YYYY-MM-DD, both inclusive; empty for no bound.
type UsesQuery struct {
	Account string // account id
	All     bool   // all accounts, where Account is empty
	From    string
	To      string
	Model   string      // "<provider>/<model-name>"; empty for every model
	Key     string      // id of a key; empty for all
	By      []Dimension // each once; empty for date and model
	Tags    []llm.Tag   // all of which a request has to have
	ByCost  bool        // the dearest first; else the newest first, then by the other dimensions
	Limit   int         // 1 to 1000
	Offset  int         // from 0
}

// ByAttribution reports whether the query is about end users or tags, of which there are sums only some time later.
func (q *UsesQuery) ByAttribution() bool {
	return len(q.Tags) > 0 || slices.ContainsFunc(q.By, func(d Dimension) bool { return d == ByUser || d.Tag() != "" })
}

// Use is the usage of one account, date and model, or of a group.
type Use struct {
	Date     string    // empty where it is of a group
	Model    string    // as Date
	Group    []*string // the values of UsesQuery.By, in its order; nil where a request has none
	Usage    llm.Usage
	Requests int64
	Cost     llm.Money // what the account is charged
	Unpriced int64     // attempts of which something has no price and adds 0 to Cost
	// Uncertain is what attempts of which nobody knows the cost may have cost beyond it.
	Uncertain llm.Money
	Unseen    int64 // attempts whose usage nobody told, those among them that have been resolved, and whose process died
	Margin
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
	Unpriced  int64     // as in Use
	Margin
}

// Add adds the sums of o to t.
func (t *Totals) Add(o *Totals) {
	t.Tokens += o.Tokens
	t.Requests += o.Requests
	t.Cost += o.Cost
	t.Uncertain += o.Uncertain
	t.Unpriced += o.Unpriced
	t.add(o.Margin)
}

// AtMost is the upper bound of the cost.
func (t *Totals) AtMost() llm.Money { return t.Cost + t.Uncertain }

// UsesPage is one page of usage, newest date first, then model A to Z; groups with the newest first, then
// by their other values A to Z, those without a value last.
type UsesPage struct {
	Uses  []Use
	Total Totals // over all matching entries
	Count int    // of all matching entries
}
