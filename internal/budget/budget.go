// Package budget enforces the spending limits of accounts and keys, on any number of nodes. The database leases each
// node an amount of a budget. The node reserves amounts of its leases for attempts, in memory, and leases more when
// they run low.
package budget

import (
	"context"
	"time"

	"github.com/google/uuid"

	"weir/internal/llm"
)

// Period is the kind of period of a budget, in UTC.
type Period string

// Kinds of periods.
const (
	PeriodDay   Period = "day"
	PeriodMonth Period = "month"
	PeriodTotal Period = "total"
)

// Number returns the number of the period that contains t: yyyymmdd, yyyymm, or 0 for all time. Numbers of different
// kinds differ.
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

// FirstDayNumber is less than the number of any day and greater than that of any month.
const FirstDayNumber int64 = 10_000_000

// PeriodOf returns the kind of the period with that number.
func PeriodOf(number int64) Period {
	switch {
	case number == 0:
		return PeriodTotal
	case number < FirstDayNumber:
		return PeriodMonth
	}
	return PeriodDay
}

// DaysOf returns the first and the last day, as yyyymmdd, of the period with that number.
func DaysOf(number int64) (first, last int64) {
	switch PeriodOf(number) {
	case PeriodDay:
		return number, number
	case PeriodMonth:
		return number * 100, number*100 + 99
	}
	return 0, 99_99_99_99
}

// Ends returns when the period that contains t ends; false for all time.
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

// Starts returns when the period that contains t started; the zero time for all time.
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

// Budget limits the spending of an account or a key in a period. An account's credit is a budget for all time: the
// amount paid in advance plus the spending before it.
type Budget struct {
	Scope  string // account or key id, or a part of it
	Of     string // "account" or "API key", or a part of it, for messages
	Period Period
	Limit  llm.Money
}

// ID identifies a budget that nodes share: its scope and its period.
type ID struct {
	Scope  string
	Period int64 // see Period.Number
}

// Leases leases budgets to nodes; the database implements it. The sum of all nodes' leases never exceeds a budget's
// limit.
type Leases interface {
	// Lease changes the lease that a journal's node has of a budget.
	Lease(ctx context.Context, r LeaseRequest) (Lease, error)
	// Reconcile takes back the leases that earlier processes of the journal's node did not spend. The database must
	// have the journal up to its current epoch.
	Reconcile(ctx context.Context, journal uuid.UUID) error
	// Beat records a heartbeat of the node, and returns the state of the others.
	Beat(ctx context.Context, n Node) (Beat, error)
	// Leave records that the node stops, and returns its leases.
	Leave(ctx context.Context, journal uuid.UUID) error
}

// LeaseRequest requests a lease. The node may spend Used plus the amount granted beyond it.
type LeaseRequest struct {
	Journal uuid.UUID
	Budget  ID
	// Used is the cost of the node's attempts in the period, including the holds of those in progress. Unknown means
	// that it is not known yet: then the database's amount applies.
	Used    llm.Money
	Unknown bool
	// Least is how much more is needed; if less is available, nothing more is granted. Most is how much more is
	// useful. If both are zero, the request returns everything unused.
	Least, Most llm.Money
}

// GivesBack reports whether the request only returns the unused amount.
func (r *LeaseRequest) GivesBack() bool { return r.Least == 0 && r.Most == 0 }

// Lease is the answer to a LeaseRequest.
type Lease struct {
	Limit llm.Money // the budget's; 0 if it does not exist any more
	// Changing means that nothing more is granted because the budget has changed, and not every node has reported its
	// attempts in progress yet.
	Changing bool
	// Beside is another budget of the scope, for another period. Requests that arrived before it was set do not know
	// it. A limit of 0 means none.
	Beside  Budget
	Granted llm.Money // how much the node's attempts may cost in the period
	// Spent is this journal's spending of the period in the database, up to At.
	Spent llm.Money
	At    Position
	// Left is the amount that no node has. Idle is the unspent part of other live nodes' leases, as of their last
	// report: they return the part that they do not hold when they see that it is wanted.
	Left, Idle llm.Money
	// Excess is by how much all leases together exceed the limit, for example after it was lowered. The node must not
	// spend that part of its grant.
	Excess llm.Money
}

// Node describes a gateway process to the others.
type Node struct {
	Journal uuid.UUID
	Name    string // of its host
	Address string // where it listens
	Version string
	Started time.Time
	// Incarnation is the last incarnation of the database that received all leases of the node; empty leaves the
	// stored one unchanged.
	Incarnation string
}

// KnownNode is a node with its state in the database.
type KnownNode struct {
	Node
	Seen    time.Time  // last heartbeat
	Stopped *time.Time // nil if it has not reported that it stops
	Alive   bool
}

// NodeState describes whether a node is running.
type NodeState string

// States of a node.
const (
	NodeAlive   NodeState = "alive"
	NodeSilent  NodeState = "silent"  // no heartbeats, and no report that it stops
	NodeStopped NodeState = "stopped" // it reported that it stops
)

// State returns the node's state.
func (n *KnownNode) State() NodeState {
	switch {
	case n.Stopped != nil:
		return NodeStopped
	case n.Alive:
		return NodeAlive
	}
	return NodeSilent
}

// Beat is the state of the other nodes.
type Beat struct {
	// Alive is how many nodes are alive, including this one; at least 1.
	Alive int
	// For is how long after the heartbeat was sent the node may spend its leases; 0 for ever, if there cannot be
	// other nodes.
	For time.Duration
	// Wanted are the budgets that another node has too little of.
	Wanted []ID
	// At is how far the database is in this node's journal.
	At Position
	// Incarnation changes when the database may have lost commits, because a standby took over. Told is the one to
	// which the node has reported all its leases.
	Incarnation, Told string
}

// Position is a place in a node's journal. It only grows, also over restarts.
type Position int64
