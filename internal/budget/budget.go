// Package budget keeps to what accounts and keys may spend, on any number of nodes. The database
// leases each node a part of a budget; the node reserves amounts of its leases for attempts, in
// memory, and asks for more near the end.
package budget

import (
	"context"
	"time"

	"github.com/google/uuid"

	"weir/internal/llm"
)

// Period is the stretch of time that a budget is for, in UTC.
type Period string

// The periods.
const (
	PeriodDay   Period = "day"
	PeriodMonth Period = "month"
	PeriodTotal Period = "total"
)

// Number names the period that a moment is in: yyyymmdd, yyyymm, or 0 for all
// time. No two kinds of period have a number in common.
func (p Period) Number(t time.Time) int64 {
	year, month, day := t.UTC().Date()
	switch p {
	case PeriodDay:
		return int64(year)*1e4 + int64(month)*100 + int64(day)
	case PeriodMonth:
		return int64(year)*100 + int64(month)
	}
	return 0
}

// FirstDayNumber is the least number of a day: those of months are less.
const FirstDayNumber int64 = 10_000_000

// PeriodOf is the kind of period that has that number.
func PeriodOf(number int64) Period {
	switch {
	case number == 0:
		return PeriodTotal
	case number < FirstDayNumber:
		return PeriodMonth
	}
	return PeriodDay
}

// DaysOf are the first and the last day, as yyyymmdd, of the period with that
// number.
func DaysOf(number int64) (first, last int64) {
	switch PeriodOf(number) {
	case PeriodDay:
		return number, number
	case PeriodMonth:
		return number * 100, number*100 + 99
	}
	return 0, 99_99_99_99
}

// Ends is when the period that a moment is in is over; false for all time.
func (p Period) Ends(t time.Time) (time.Time, bool) {
	year, month, day := t.UTC().Date()
	switch p {
	case PeriodDay:
		return time.Date(year, month, day+1, 0, 0, 0, 0, time.UTC), true
	case PeriodMonth:
		return time.Date(year, month+1, 1, 0, 0, 0, 0, time.UTC), true
	}
	return time.Time{}, false
}

// Starts is when the period that a moment is in began; the zero time for all time.
func (p Period) Starts(t time.Time) time.Time {
	year, month, day := t.UTC().Date()
	switch p {
	case PeriodDay:
		return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	case PeriodMonth:
		return time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
	}
	return time.Time{}
}

// Budget is what an account or a key may spend in a period. An account's
// credit is a budget for all time: what was paid in beforehand, on top of what
// was spent before.
type Budget struct {
	Scope  string // account or key id, or a part of it
	Of     string // "account" or "API key", or a part of it, for people
	Period Period
	Limit  llm.Money
}

// ID names what nodes share of a budget: its scope and its period.
type ID struct {
	Scope  string
	Period int64 // see Period.Number
}

// Leases is the database as it deals out budget leases to nodes. What all
// nodes may come to, by their leases, never passes a budget's limit.
type Leases interface {
	// Lease changes the lease that a journal's node has of a budget.
	Lease(ctx context.Context, r LeaseRequest) (Lease, error)
	// Reconcile takes back what earlier lives of the journal's node had leased
	// and not spent. The journal is in the database up to its present epoch.
	Reconcile(ctx context.Context, journal uuid.UUID) error
	// Beat says that the node is alive, and tells what it has to know of the
	// others.
	Beat(ctx context.Context, n Node) (Beat, error)
	// Leave says that the node stops, and gives back its leases.
	Leave(ctx context.Context, journal uuid.UUID) error
}

// LeaseRequest asks for a lease. The node may come to Used and what it is
// granted beyond that.
type LeaseRequest struct {
	Journal uuid.UUID
	Budget  ID
	// Used is what the node's attempts of the period have come to, with those
	// under way at their holds. Unknown says that it is not known yet: then it
	// is what the database has.
	Used    llm.Money
	Unknown bool
	// Least is how much more is needed; when it is not to be had, nothing more
	// is granted. Most is how much would be of use. Both zero gives back
	// everything that is not used.
	Least, Most llm.Money
}

// GivesBack reports whether nothing more is asked for.
func (r *LeaseRequest) GivesBack() bool { return r.Least == 0 && r.Most == 0 }

// Lease is the answer to a LeaseRequest.
type Lease struct {
	Limit llm.Money // the budget's; 0 when there is none any more
	// Changing says that nothing more is granted because the budget was changed a moment ago, and not every node has
	// told yet what is under way there.
	Changing bool
	// Beside is another budget of the scope, of another period, of which a request may not know that came
	// before it was set; a limit of 0 for none.
	Beside  Budget
	Granted llm.Money // what the node's attempts of the period may come to
	// Spent is what the database has of this journal's in the period, up to At.
	Spent llm.Money
	At    Position
	// Left is what nobody has. Idle is what other live nodes have and had not
	// spent when the database last heard of them: they give back what they do
	// not hold when they see that it is wanted.
	Left, Idle llm.Money
	// Excess is by how much all nodes may come to more than the limit, such as after it was
	// lowered: of what the node was granted, so much is not to be spent.
	Excess llm.Money
}

// Node is a gateway process to the others.
type Node struct {
	Journal uuid.UUID
	Name    string // of its host
	Address string // where it listens
	Version string
	Started time.Time
	// Incarnation of the database in which the node has told all that it holds;
	// empty leaves what the database has of that.
	Incarnation string
}

// KnownNode is a node as the database knows it.
type KnownNode struct {
	Node
	Seen    time.Time  // when it was last heard of
	Stopped *time.Time // nil for one that has not said that it stops
	Alive   bool
}

// NodeState is whether a node runs.
type NodeState string

// The states.
const (
	NodeAlive   NodeState = "alive"
	NodeSilent  NodeState = "silent"  // it is not heard of, and has not said that it stops
	NodeStopped NodeState = "stopped" // it has said so
)

// State is whether the node runs.
func (n *KnownNode) State() NodeState {
	switch {
	case n.Stopped != nil:
		return NodeStopped
	case n.Alive:
		return NodeAlive
	}
	return NodeSilent
}

// Beat is what a node has to know of the others.
type Beat struct {
	// Alive is how many nodes are, this one too; at least 1.
	Alive int
	// For is how long from before the question on the node may spend its
	// leases; 0 for ever, where no other node can be.
	For time.Duration
	// Wanted are the budgets of which some node found too little left.
	Wanted []ID
	// At is how far the database is in this node's journal.
	At Position
	// Incarnation changes when the database may have lost commits: a standby
	// took over. Told is the one in which the node has told all that it holds.
	Incarnation, Told string
}

// Position is a place in a node's journal. It only grows, over restarts too.
type Position int64
