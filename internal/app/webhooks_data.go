package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"weir/internal/ledger"
	"weir/internal/webhook"
)

const (
	tryPatience = 20 * time.Second // longer than a try
	tryEvery    = 100 * time.Millisecond
	// silentFor is how long a node that has not said that it stops is taken to be
	// busy, not gone.
	silentFor = time.Minute
)

// Webhooks is what people do with webhook endpoints.
func (d *Data) Webhooks() (*webhook.Service, error) {
	ring, err := newRing(&d.cfg)
	if err != nil {
		return nil, err
	}
	return newWebhooks(&d.cfg, d.store, ring), nil
}

// AllWebhooks are the endpoints of the installation and then those of all accounts, in
// the order in which they were made.
func (d *Data) AllWebhooks(ctx context.Context) ([]webhook.Endpoint, error) {
	return d.store.Webhooks.AllWebhooks(ctx)
}

// AwaitTry waits for at most 20 seconds until a delivery has been tried, and returns
// it as it is then. An error says why nobody has tried it.
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
	errUntried = fmt.Errorf("nobody has tried it within %s: its receiver may want to hear nothing for a while, "+
		"others may be before it, or the log of the gateway says why", tryPatience)
	errNoGateway = errors.New("no gateway is running: it is sent when one is")
)

// checkRunning reports that no gateway runs on the database.
func (d *Data) checkRunning(ctx context.Context) error {
	nodes, err := d.store.Leases.Nodes(ctx)
	if err != nil {
		return err
	}
	running := func(n ledger.KnownNode) bool {
		return n.Alive || n.Stopped == nil && time.Since(n.Seen) < silentFor
	}
	if !slices.ContainsFunc(nodes, running) {
		return errNoGateway
	}
	return nil
}
