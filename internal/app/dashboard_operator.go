package app

import (
	"context"
	"runtime"
	"slices"
	"time"

	"github.com/google/uuid"

	"weir/internal/config"
	"weir/internal/dashboard"
	"weir/internal/ledger"
	"weir/internal/provider"
	"weir/internal/route"
	"weir/internal/store"
	"weir/internal/upstream"
)

// installationOf returns the services of the operators' pages. Started is the start time of this node.
func installationOf(g *instance, started time.Time) *dashboard.Installation {
	known, _ := provider.LoadCatalogue() // the builder has already loaded it without error
	return &dashboard.Installation{
		Providers:  func() []route.ProviderCondition { return g.router.Table().Providers(g.options.Now()) },
		Models:     modelsOf(g.router, g.options.Now),
		Model:      func(name string) (route.Model, bool) { return g.router.Table().Model(name, g.options.Now()) },
		UnseenDays: func() int { return 2 * int(retentionOf(g).Requests.Hours()/24) },
		Unmatched: func(patterns []string) []string {
			return route.Unmatched(g.router.Table(), patterns, g.options.Now())
		},
		PriceSources: func() dashboard.PriceSources { return priceSourcesOf(g) },
		Dialects:     g.upstream.Dialects().OfProviders(),
		Known:        upstream.KnownProviders(&config.Config{}, known),
		System:       func(ctx context.Context) (dashboard.System, error) { return systemOf(ctx, g, started) },
		Settings:     func() dashboard.Settings { return settingsOf(g.configInForce()) },
	}
}

// configInForce returns the configuration in force: the reloaded values of settings that can change at runtime, and
// the values from the start for all others.
func (g *instance) configInForce() *config.Config {
	cfg := g.options.Config
	if now := g.reloaded.Load(); now != nil {
		cfg = cfg.Reloaded(now)
	}
	return &cfg
}

func settingsOf(cfg *config.Config) dashboard.Settings {
	s := dashboard.Settings{File: cfg.File, Warnings: cfg.Warnings}
	for _, value := range cfg.Settings() {
		s.Values = append(s.Values, dashboard.Setting(value))
	}
	return s
}

// systemOf returns the state of the installation, as this node sees it.
func systemOf(ctx context.Context, g *instance, started time.Time) (s dashboard.System, err error) {
	s = dashboard.System{Started: started, Journal: journalState(g.ledger), Versions: []dashboard.Fact{
		{Label: "Go", Value: runtime.Version()},
		{Label: "Platform", Value: runtime.GOOS + "/" + runtime.GOARCH},
		{Label: "Prices", Value: upstream.PriceData()},
		{Label: "Abilities of models", Value: upstream.AbilityData()},
	}}
	if s.Valkey.Used = g.limits.Shared(); s.Valkey.Used {
		if err := g.limits.Degraded(); err != nil {
			s.Valkey.Problem = err.Error()
		}
	}
	if s.Database.Engine, err = g.store.Version(ctx); err != nil {
		return s, err
	}
	schema, err := g.store.MigrationStatus(ctx)
	if err != nil {
		return s, err
	}
	s.Database.Schema, s.Database.Current = schema.Current, schema.Target
	s.Nodes, err = nodesOf(ctx, g.store.Leases, g.ledger.Journal())
	return s, err
}

func journalState(l *ledger.Ledger) dashboard.JournalState {
	j := dashboard.JournalState{Lost: l.Lost(), SetAside: l.SetAside(), Open: l.InFlight(), Unknown: l.Unknown()}
	if err := l.Problem(); err != nil {
		j.Problem = err.Error()
	}
	var err error
	if j.Behind, err = l.Lag(); err != nil {
		j.Database = err.Error()
	}
	return j
}

// nodesOf returns the nodes that share the database, with a mark on the one that has the journal.
func nodesOf(ctx context.Context, leases *store.Leases, journal uuid.UUID) (all []dashboard.Node, err error) {
	list, err := leases.Nodes(ctx)
	for i := range list {
		all = append(all, dashboard.Node{KnownNode: list[i], Here: list[i].Journal == journal})
	}
	return all, err
}

// modelsOf returns a function that returns a copy of the list of all models.
func modelsOf(r *route.Router, now func() time.Time) func() []route.Model {
	return func() []route.Model { return slices.Clone(r.Models(now()).All) }
}

// priceSourcesOf returns the sources of the prices in force, for the operators' pages.
func priceSourcesOf(g *instance) dashboard.PriceSources {
	now := g.upstream.Prices().Now()
	day, _ := g.upstream.Prices().Age()
	return dashboard.PriceSources{
		Overrides: g.configInForce().Prices, Data: now.Book.Source(), Day: now.Book.Day(), Files: now.Book.Files(),
		Problem: now.Problem(), Age: int(g.options.Now().Sub(day).Hours() / 24),
	}
}
