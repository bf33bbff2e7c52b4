package app

import (
	"context"
	"time"

	"weir/internal/config"
	"weir/internal/route"
)

// reload puts the changed configuration in force, as far as it can change
// while the gateway runs: providers, models, prices, aliases, limits, origins of CORS, retention.
func (g *instance) reload(ctx context.Context) {
	look, lookManaged := time.NewTicker(priceFilesEvery), time.NewTicker(managedEvery)
	defer look.Stop()
	defer lookManaged.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
			if book := g.fleet.prices.Renew(g.options.Log); book != nil {
				g.router.Use(g.router.Table().Priced(book))
			}
			continue
		case <-lookManaged.C:
			if g.options.Reload == nil || !g.managed.isOther(ctx) {
				continue
			}
		case <-g.options.ReloadSignals:
		}
		g.manager.Reload(func() string { return g.reloadLogged(ctx) })
	}
}

// reloadLogged reads the configuration again and logs what came of it. What it returns is for the service
// manager: empty where all is well.
func (g *instance) reloadLogged(ctx context.Context) (status string) {
	if err := g.reloadOnce(ctx); err != nil {
		g.options.Log.Error("the new configuration is invalid; the running one stays in force", "err", err)
		return "The new configuration is invalid, and the one before it stays in force: see the log."
	}
	g.options.Log.Info("configuration reloaded: providers, models, prices, aliases, limits, cors and retention are in force; " +
		"the rest needs a restart")
	return ""
}

// retentionOf is how long data lives, as the configuration in force says.
func retentionOf(g *instance) config.Retention {
	if now := g.reloaded.Load(); now != nil {
		return now.Retention
	}
	return g.options.Config.Retention
}

func (g *instance) reloadOnce(ctx context.Context) error {
	cfg, seq, err := g.managed.load(ctx, g.options.Reload)
	var table *route.Table
	if err == nil {
		table, err = g.fleet.table(ctx, &cfg)
	}
	if g.managed.note(seq, err); err != nil {
		return err
	}
	old := g.router.Table()
	g.router.Use(table)
	g.limits.Use(policyOf(&cfg))
	g.cors.Store(newCORS(&cfg, g.fleet.dialects))
	g.reloaded.Store(&cfg)
	old.Close()
	return nil
}
