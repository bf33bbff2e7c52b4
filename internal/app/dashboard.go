package app

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"weir/internal/admin"
	"weir/internal/config"
	"weir/internal/dashboard"
	"weir/internal/gateway"
	"weir/internal/llm"
	"weir/internal/route"
)

// openAdmin creates the operations on the installation.
func (g *instance) openAdmin() (err error) {
	o := g.options
	g.admin, err = admin.New(&admin.Options{
		Config: &o.Config, Store: g.store, Log: o.Log, Files: o.ConfigFrom, Getenv: o.Getenv, BaseURL: g.address,
		People: o.People, OAuth: o.OAuth, Pipeline: func(t *route.Table) admin.CallHandler { return handlerOver(g, t) },
		InForce:       func() (*config.Config, *route.Table) { return g.configInForce(), g.router.Table() },
		AwaitRefusals: g.pipeline.Refusals.Await,
		AwaitContent:  func(ctx context.Context) { g.content.Await(ctx) },
	})
	if err != nil {
		return err
	}
	g.onClose(func() error { g.admin.Release(); return nil })
	return nil
}

// beginManaged adds the managed configuration to the configuration of the options.
func beginManaged(ctx context.Context, o *Options, c *admin.Configuration) error {
	if o.Reload == nil {
		return nil
	}
	cfg, err := c.Begin(ctx, o.Reload)
	if cfg != nil {
		o.Config = *cfg
	}
	return err
}

// handlerOver returns the handler of the playground's format through a pipeline over other routes. It reports neither
// metrics nor refusals.
func handlerOver(g *instance, table *route.Table) admin.CallHandler {
	o := g.pipeline
	o.Router, o.Log = route.NewRouter(table), slog.New(slog.DiscardHandler)
	o.Metrics, o.Tracer, o.Refused, o.Refusals, o.Content, o.Answers = nil, nil, nil, nil, nil, nil
	d := g.upstream.Dialects().Usual()
	return gateway.New(o).HandlerAs("POST /admin/v1/config/test", d, d.For(llm.OpChat))
}

// newDashboard creates the pages.
func newDashboard(g *instance) (*dashboard.Server, error) {
	playground := g.upstream.Dialects().Usual()
	from := originOf(&g.options.Config)
	pages, err := dashboard.New(dashboard.Options{
		Admin: g.admin, PublicURL: from.base, Insecure: isPlain(g),
		DefaultModel: func() string { return g.router.Table().DefaultModel() },
		ExampleModel: func() string {
			name, _ := g.router.Table().ExampleModel(g.options.Now())
			return name
		},
		Turn: turnsOf(g.gateway), Flush: g.ledger.Flush,
		Chat: g.gateway.HandlerAs("POST /accounts/{account}/playground", playground,
			playground.For(llm.OpChat)),
		Tools:        toolsOfPages(g),
		Installation: installationOf(g, g.admin.Now()), Version: g.options.Version, Now: g.admin.Now,
		Log: g.options.Log,
	})
	if err != nil {
		return nil, fmt.Errorf("pages: %w", err)
	}
	return pages, nil
}

// turnsOf returns a function that runs work when it is the account's turn, as in the pipeline.
func turnsOf(s *gateway.Server) func(r *http.Request, account string, size int64, work func() error) error {
	return func(r *http.Request, account string, size int64, work func() error) error {
		held, done := s.ReadCapacity(r, account)
		defer done()
		return held.Turn(size, work)
	}
}

// address returns the address of the gateway on this machine, for links without public_url.
func (g *instance) address() string {
	if base := g.base.Load(); base != nil {
		return *base
	}
	return admin.BaseURL(&g.options.Config, g.options.Config.Listen)
}

// isPlain reports whether browsers reach the gateway over plain http.
func isPlain(g *instance) bool {
	cfg := &g.options.Config
	return !cfg.TLS.On() && !strings.HasPrefix(cfg.PublicURL, "https://") && len(cfg.TrustedProxies) == 0
}
