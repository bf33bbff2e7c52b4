package refusal

import (
	"slices"
	"strings"
	"time"

	"weir/internal/llm"
)

// Group is a column by which counts are added up.
type Group string

// The groups. Counts older than two days are stored by hour: their minute is the hour's start.
const (
	ByAccount Group = "account"
	ByKey     Group = "key"
	ByReason  Group = "reason"
	ByModel   Group = "model"
	ByMinute  Group = "minute"
	ByHour    Group = "hour"
	ByDay     Group = "day"
)

// Groups returns all groups.
func Groups() []Group {
	return []Group{ByAccount, ByKey, ByReason, ByModel, ByMinute, ByHour, ByDay}
}

// ParseGroups parses a comma-separated list of groups; an empty text has none.
func ParseGroups(text string) (by []Group, err error) {
	if text == "" {
		return nil, nil
	}
	for name := range strings.SplitSeq(text, ",") {
		g := Group(strings.TrimSpace(name))
		if !slices.Contains(Groups(), g) {
			return nil, llm.Invalid("group_by", "A group is not known. Use account, key, reason, model, minute, hour "+
				"or day, with commas between them.")
		}
		if !slices.Contains(by, g) {
			by = append(by, g)
		}
	}
	return by, nil
}

// MostSums is the number of sums that a query returns at most, the largest or latest.
const MostSums = 1000

// Query selects refusals.
type Query struct {
	// Account is an account's id; empty for requests without one. All selects all accounts, and those requests.
	Account string
	All     bool
	Key     string // id; empty for all
	Model   string // as requested; empty for all
	Reason  llm.Code
	// From and Until bound the time, Until exclusively. They are rounded down to minutes; zero means no bound.
	From, Until time.Time
	By          []Group // of sums; without groups there is one sum
}

// Check returns an error if the reason is not known.
func (q *Query) Check() error {
	if q.Reason == "" || slices.Contains(Reasons(), q.Reason) {
		return nil
	}
	return llm.Invalid("reason", "The reason is not an error code. Use a code such as RATE_LIMITED, BUDGET_EXCEEDED "+
		"or MODEL_NOT_FOUND.")
}

// Value returns the value of a group that is not a time.
func (b *Bucket) Value(g Group) string {
	switch g {
	case ByAccount:
		return b.Account
	case ByKey:
		return b.Key
	case ByModel:
		return b.Model
	}
	return string(b.Reason)
}

// Series holds the refusals of a query by one group, and by time.
type Series struct {
	Total  int64
	Groups []Sum // the largest first, up to MostSums
	Times  []Sum // of all groups
	Apart  []Sum // by time, of the largest groups that have a value
}

// Sum is the number of refusals in a group. Fields that are not part of the group are empty.
type Sum struct {
	Bucket
	KeyLabel string
	N        int64
}

// Report holds the answer to a Query.
type Report struct {
	Total int64
	Sums  []Sum // by time if they are grouped by it, else the largest first
	// Latest holds the latest refusals, newest first, up to MostLatest; only the last MostLatest of each account are
	// stored.
	Latest []Refusal
}
