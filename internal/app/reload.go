package app

import (
	"context"
	"time"
)

// retain deletes request rows that have lived long enough.
func (g *instance) retain(ctx context.Context) {
	every := time.NewTicker(retainEvery)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		before := g.store.Now().Add(-g.options.Config.Retention.Requests)
		deleted, err := g.store.Ledger.Retain(ctx, before, before.Add(-g.options.Config.Retention.Requests))
		if err != nil && ctx.Err() == nil {
			g.options.Log.Error("old request rows could not be deleted", "err", err)
		}
		if deleted.Rows > 0 {
			g.options.Log.Info("request rows deleted after retention; their sums are kept", "rows", deleted.Rows)
		}
		if deleted.Unresolved > 0 {
			g.options.Log.Warn("unresolved request rows deleted after retention: their upper bounds stay in the sums",
				"rows", deleted.Unresolved)
		}
		explained := g.store.Now().Add(-g.options.Config.Retention.Explanations)
		if err := g.store.Ledger.RetainExplanations(ctx, explained); err != nil && ctx.Err() == nil {
			g.options.Log.Error("old cost explanations could not be deleted", "err", err)
		}
		if err := g.store.Webhooks.RetainEvents(ctx); err != nil && ctx.Err() == nil {
			g.options.Log.Error("old events could not be deleted", "err", err)
		}
		if err := g.store.Ledger.RetainQuestions(ctx); err != nil && ctx.Err() == nil {
			g.options.Log.Error("expired questions to providers could not be deleted", "err", err)
		}
		if err := g.store.Leases.RetainBudgets(ctx); err != nil && ctx.Err() == nil {
			g.options.Log.Error("expired budget leases could not be deleted", "err", err)
		}
		if _, err := g.store.Kept.IdempotencySweep(ctx); err != nil && ctx.Err() == nil {
			g.options.Log.Error("expired replies could not be deleted", "err", err)
		}
		if _, err := g.store.Kept.SweepResponses(ctx); err != nil && ctx.Err() == nil {
			g.options.Log.Error("expired responses could not be deleted", "err", err)
		}
	}
}

// reload puts the changed configuration in force, as far as it can change
// while the gateway runs: providers, models, prices, aliases, limits.
func (g *instance) reload(ctx context.Context) {
	look := time.NewTicker(priceFilesEvery)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
			g.reloadPrices()
			continue
		case <-g.options.ReloadSignals:
		}
		if err := g.reloadOnce(ctx); err != nil {
			g.options.Log.Error("the new configuration is invalid; the running one stays in force", "err", err)
			continue
		}
		g.options.Log.Info("configuration reloaded: providers, models, prices, aliases and limits are in force; the " +
			"rest needs a restart")
	}
}

func (g *instance) reloadOnce(ctx context.Context) error {
	cfg, err := g.options.Reload()
	if err != nil {
		return err
	}
	table, err := g.fleet.table(ctx, &cfg)
	if err != nil {
		return err
	}
	old := g.router.Table()
	g.router.Use(table)
	g.limits.Use(policyOf(&cfg))
	g.reloaded.Store(&cfg)
	old.Close()
	return nil
}
