package budget

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Options configures a Service. Flush returns once everything that this node has settled is in the database. Position
// returns how far the database is in the journal. WentBack is called with its position after the database went back.
type Options struct {
	Leases   Leases // nil if there are no budgets
	Node     Node
	Flush    func(context.Context) error
	Position func() Position
	WentBack func(Position)
	Log      *slog.Logger
	// Now is this machine's clock, SharedNow the one that dates attempts.
	Now, SharedNow func() time.Time
}

// Service holds this node's leases of budgets, and reserves amounts of them for attempts.
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
	untold   atomic.Bool  // some accountLeases are untold
	changes  sync.Map     // time of the last change of accounts and keys, by id; for changesFor
	loading  sync.RWMutex // write-locked to return leases that no request has loaded

	mu         sync.Mutex
	reconciled bool
	changed    map[string]bool // see Changed
}

// NewService returns a Service. It leases nothing before Join.
func NewService(o Options) *Service {
	return &Service{
		leases: o.Leases, node: o.Node, flush: o.Flush, position: o.Position, wentBack: o.WentBack, log: o.Log,
		now: o.Now, sharedNow: o.SharedNow,
	}
}
