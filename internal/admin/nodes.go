package admin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"weir/internal/audit"
	"weir/internal/budget"
	"weir/internal/store"
)

// Nodes lists the gateways that share the database, and forgets those that are gone.
type Nodes struct{ store *store.DB }

// List returns the nodes that share the database.
func (n *Nodes) List(ctx context.Context) ([]budget.KnownNode, error) {
	return n.store.Leases.Nodes(ctx)
}

// Forget forgets a node that will never come back.
func (n *Nodes) Forget(ctx context.Context, by audit.Actor, journal uuid.UUID) error {
	err := n.store.Leases.ForgetNode(ctx, by, journal)
	if errors.Is(err, store.ErrNoNode) {
		return fmt.Errorf("there is no node %s: weir nodes list shows the nodes", journal)
	}
	return err
}

var errNoGateway = errors.New("no gateway is running: start one to send it")

// silentFor is how long a node without a heartbeat counts as busy, if it has not reported that it stops.
const silentFor = time.Minute

// checkRunning returns errNoGateway if no gateway runs on the database.
func (n *Nodes) checkRunning(ctx context.Context) error {
	nodes, err := n.List(ctx)
	if err != nil {
		return err
	}
	running := func(k budget.KnownNode) bool {
		return k.Alive || k.Stopped == nil && time.Since(k.Seen) < silentFor
	}
	if !slices.ContainsFunc(nodes, running) {
		return errNoGateway
	}
	return nil
}
