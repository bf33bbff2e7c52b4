package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"weir/internal/budget"
	"weir/internal/webhook"
)

const (
	tryPatience = 20 * time.Second // longer than a try
	tryEvery    = 100 * time.Millisecond
	// silentFor is how long a node without a heartbeat counts as busy, if it has not reported that it stops.
	silentFor = time.Minute
)

// Webhooks returns the service that manages webhook endpoints.
func (d *Data) Webhooks() (*webhook.Service, error) {
	ring, err := newRing(&d.cfg)
	if err != nil {
		return nil, err
	}
	return newWebhooks(&d.cfg, d.store, ring), nil
}

// AllWebhooks returns the endpoints of the installation and then those of all accounts, in the order of their
// creation.
func (d *Data) AllWebhooks(ctx context.Context) ([]webhook.Endpoint, error) {
	return d.store.Webhooks.AllWebhooks(ctx)
}

// AwaitTry waits up to 20 seconds until a delivery has been tried, and returns it. Its error says why it was not
// tried.
func (d *Data) AwaitTry(ctx context.Context, delivery string) (webhook.Detail, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, tryPatience, errUntried)
	defer cancel()
	every := time.NewTicker(tryEvery)
	defer every.Stop()
	for {
		w, err := d.store.Webhooks.Delivery(ctx, delivery)
		if err == nil && w.Last == nil {
			err = d.checkRunning(ctx)
		}
		switch {
		case ctx.Err() != nil:
			return w, fmt.Errorf("delivery %s is pending: %w", delivery, context.Cause(ctx))
		case err != nil:
			return w, fmt.Errorf("delivery %s: %w", delivery, err)
		case w.Last != nil:
			return w, nil
		}
		select {
		case <-ctx.Done():
		case <-every.C:
		}
	}
}

var (
	errUntried = fmt.Errorf("it was not tried within %s: its receiver asked for a pause, other deliveries are queued, "+
		"or the log of the gateway has the reason", tryPatience)
	errNoGateway = errors.New("no gateway is running: start one to send it")
)

// checkRunning returns errNoGateway if no gateway runs on the database.
func (d *Data) checkRunning(ctx context.Context) error {
	nodes, err := d.store.Leases.Nodes(ctx)
	if err != nil {
		return err
	}
	running := func(n budget.KnownNode) bool {
		return n.Alive || n.Stopped == nil && time.Since(n.Seen) < silentFor
	}
	if !slices.ContainsFunc(nodes, running) {
		return errNoGateway
	}
	return nil
}
