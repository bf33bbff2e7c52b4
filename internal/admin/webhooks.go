package admin

import (
	"context"
	"fmt"
	"time"

	"weir/internal/store"
	"weir/internal/webhook"
)

const (
	tryPatience = 20 * time.Second // longer than a try
	tryEvery    = 100 * time.Millisecond
)

// Webhooks manages webhook endpoints and their deliveries.
type Webhooks struct {
	*webhook.Service
	store *store.DB
	nodes *Nodes
}

func newWebhooks(o *Options, keys *KeyRing, nodes *Nodes, mails bool) *Webhooks {
	return &Webhooks{webhook.NewService(webhook.Options{
		Stores: o.Store.WebhookStores(), Ring: keys.Ring, NewKey: keys.make,
		AllowPrivate: o.Config.Webhooks.AllowPrivate, Mails: mails, Now: o.Store.Now,
	}), o.Store, nodes}
}

// All returns the endpoints of the installation and then those of all accounts, in the order of their
// creation.
func (w *Webhooks) All(ctx context.Context) ([]webhook.Endpoint, error) {
	return w.store.Webhooks.AllWebhooks(ctx)
}

// AwaitTry waits up to 20 seconds until a delivery has been tried, and returns it. Its error says why it was not
// tried.
func (w *Webhooks) AwaitTry(ctx context.Context, delivery string) (webhook.Detail, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, tryPatience, errUntried)
	defer cancel()
	every := time.NewTicker(tryEvery)
	defer every.Stop()
	for {
		got, err := w.store.Deliveries.Delivery(ctx, delivery)
		if err == nil && got.Last == nil {
			err = w.nodes.checkRunning(ctx)
		}
		switch {
		case ctx.Err() != nil:
			return got, fmt.Errorf("delivery %s is pending: %w", delivery, context.Cause(ctx))
		case err != nil:
			return got, fmt.Errorf("delivery %s: %w", delivery, err)
		case got.Last != nil:
			return got, nil
		}
		select {
		case <-ctx.Done():
		case <-every.C:
		}
	}
}

var errUntried = fmt.Errorf("it was not tried within %s: its receiver asked for a pause, other deliveries are queued, "+
	"or the log of the gateway has the reason", tryPatience)
