// Package report defines the reports on the ledger: usage by date and model, overviews, requests with their attempts
// and the calculation of their cost, and the results of verification. It holds the queries and their results; the
// database executes them.
package report

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"weir/internal/llm"
)

// UsesQuery selects usage of one account. Dates are UTC calendar dates of
// the form YYYY-MM-DD, both inclusive; empty for no bound.
type UsesQuery struct {
	Account string // account id
	All     bool   // all accounts; Account must be empty
	From    string
	To      string
	// Since and Until bound the time of arrival within the dates, Until exclusively. They are whole minutes; zero means
	// no bound. Other times than whole hours are only for the last MinutesFor.
	Since, Until time.Time
	Model        string      // "<provider>/<model-name>"; empty for every model
	Provider     string      // empty for every provider
	Key          string      // id of a key; empty for all
	User         string      // the end user; empty for all
	By           []Dimension // distinct; empty for date and model
	Tags         []llm.Tag   // a request must have all of them
	// Sort is the measure of which the groups with most come first; empty for newest first, then by the other
	// dimensions.
	Sort Measure
	// Top, from 1, is the number of values of the last dimension that have groups of their own: those with most of
	// Sort. The others are summed up as Other. It is 0 for all values.
	Top int
	// Apart are the values of that dimension with most of Sort, if they are known; nil if not.
	Apart  []*string
	Failed bool // also groups with nothing but failed attempts
	// Speeds counts times to first token, and nothing else. They are stored by day, account and model; other groups and
	// filters are only possible within a day and a night, see MostSpeeds.
	Speeds bool
	Limit  int // 1 to 1000
	Offset int // from 0
}

// MinutesFor is the age up to which usage can be reported by minute.
const MinutesFor = 48 * time.Hour

// ByAttribution reports whether the query is about end users or tags, which are summed up with a delay.
func (q *UsesQuery) ByAttribution() bool {
	isOne := func(d Dimension) bool { return d == ByUser || d.Tag() != "" }
	return len(q.Tags) > 0 || q.User != "" || slices.ContainsFunc(q.By, isOne)
}

// Use is the usage of an account by date and model, or of a group.
type Use struct {
	Date     string    // empty for a group
	Model    string    // as Date
	Group    []*string // the values of UsesQuery.By, in its order; nil for a missing value
	Usage    llm.Usage
	Requests int64
	Attempts int64
	Errors   int64     // refused, rejected, failed or cut attempts
	Speed    Speed     // only with UsesQuery.Speeds
	Cost     llm.Money // the account's charge
	Unpriced int64     // attempts partly without a price, which adds 0 to Cost
	// Uncertain is the amount by which the true cost may exceed Cost.
	Uncertain llm.Money
	Unseen    int64 // attempts without a reported usage, including resolved ones and those of a dead process
	Missed    Missed
	Cached    int64     // requests that were answered from the answer cache, as attempts of their own
	Saved     llm.Money // what their answers were charged the first time
	Margin
}

// Add adds the sums of o to u.
func (u *Use) Add(o *Use) {
	u.Usage.Add(&o.Usage)
	u.Requests += o.Requests
	u.Attempts += o.Attempts
	u.Errors += o.Errors
	u.Speed.Add(&o.Speed)
	u.Cost += o.Cost
	u.Unpriced += o.Unpriced
	u.Uncertain += o.Uncertain
	u.Unseen += o.Unseen
	u.Missed.Add(&o.Missed)
	u.Cached += o.Cached
	u.Saved += o.Saved
	u.add(o.Margin)
}

// AtMost returns the upper bound of the cost.
func (u *Use) AtMost() llm.Money { return u.Cost + u.Uncertain }

// ID returns a stable id: the same account, date and model always yield the same id.
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

// AtMost returns the upper bound of the cost.
func (t *Totals) AtMost() llm.Money { return t.Cost + t.Uncertain }

// UsesPage is one page of usage, newest date first, then model A to Z. Groups are sorted newest first, then by their
// other values A to Z; missing values are last.
type UsesPage struct {
	Uses  []Use
	Total Totals // over all matching entries
	Count int    // of all matching entries
}
