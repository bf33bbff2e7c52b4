package app

import (
	"context"
	"time"

	"weir/internal/admin"
	"weir/internal/config"
	"weir/internal/route"
)

// priceFilesEvery is the interval at which a running gateway checks the price files for changes.
const priceFilesEvery = 2 * time.Second

// managedEvery is the interval for checking for a new version, which is in force within a second.
const managedEvery = 400 * time.Millisecond

// reload puts a changed configuration in force, as far as it can change while the gateway runs: providers, models,
// prices, aliases, MCP servers and bundles, limits, CORS origins, retention, limits of alerts.
func (g *instance) reload(ctx context.Context) {
	look, lookManaged := time.NewTicker(priceFilesEvery), time.NewTicker(managedEvery)
	defer look.Stop()
	defer lookManaged.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
			if book := g.upstream.Prices().Renew(g.options.Log); book != nil {
				g.router.Use(g.router.Table().Priced(book))
			}
			continue
		case <-lookManaged.C:
			if g.options.Reload == nil || !g.admin.Configuration.IsOther(ctx) {
				continue
			}
		case <-g.options.ReloadSignals:
		}
		g.manager.Reload(func() string { return g.reloadLogged(ctx) })
	}
}

// reloadLogged reloads the configuration and logs the result. It returns a status for the service manager, which is
// empty on success.
func (g *instance) reloadLogged(ctx context.Context) (status string) {
	if err := g.reloadOnce(ctx); err != nil {
		g.options.Log.Error("the new configuration is invalid; the running one stays in force", "err", err)
		return "The new configuration is invalid, and the running one stays in force: see the log."
	}
	g.options.Log.Info("configuration reloaded: providers, models, prices, aliases, MCP servers and bundles, " +
		"limits, cors, retention and alerts are in force; the rest needs a restart")
	return ""
}

// retentionOf returns the retention of the configuration in force.
func retentionOf(g *instance) config.Retention {
	if now := g.reloaded.Load(); now != nil {
		return now.Retention
	}
	return g.options.Config.Retention
}

func (g *instance) reloadOnce(ctx context.Context) error {
	cfg, seq, err := g.admin.Configuration.Load(ctx, g.options.Reload)
	var table *route.Table
	if err == nil {
		table, err = g.upstream.Table(ctx, &cfg)
	}
	if g.admin.Configuration.Note(seq, err); err != nil {
		return err
	}
	if err := g.tools.Use(g.upstream.Tools(&cfg)); err != nil {
		table.Close()
		return err
	}
	old := g.router.Table()
	g.router.Use(table)
	g.limits.Use(admin.PolicyOf(&cfg))
	g.site.cors.Store(newCORS(&cfg, g.site.dialects))
	g.reloaded.Store(&cfg)
	old.Close()
	return nil
}
