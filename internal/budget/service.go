package budget

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Options is what a Service is made of. Flush returns once all that this node settled so far is in
// the database, Position is how far that has come, and WentBack is told where the database has
// gone back to.
type Options struct {
	Leases   Leases // nil where there are no budgets
	Node     Node
	Flush    func(context.Context) error
	Position func() Position
	WentBack func(Position)
	Log      *slog.Logger
	// Now is this machine's clock, SharedNow the one by which attempts are dated.
	Now, SharedNow func() time.Time
}

// Service has what this node leased of budgets, and reserves amounts of that for attempts.
type Service struct {
	leases   Leases
	node     Node
	flush    func(context.Context) error
	position func() Position
	wentBack func(Position)
	log      *slog.Logger

	now, sharedNow func() time.Time

	accounts sync.Map // *accountLeases by account id
	valid    atomic.Pointer[validity]
	alive    atomic.Int64
	untold   atomic.Bool  // some account's leases are
	changes  sync.Map     // when accounts and keys last changed, by id; for changesFor
	failed   error        // what the last beat gave
	loading  sync.RWMutex // held to write by who takes away leases that nobody has loaded

	mu         sync.Mutex
	reconciled bool
	changed    map[string]bool // see Changed
}

// NewService makes a service. It leases nothing before Join.
func NewService(o Options) *Service {
	return &Service{
		leases: o.Leases, node: o.Node, flush: o.Flush, position: o.Position, wentBack: o.WentBack, log: o.Log,
		now: o.Now, sharedNow: o.SharedNow,
	}
}
