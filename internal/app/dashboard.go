package app

import (
	"context"
	"log/slog"
	"net/http"
	"strings"

	"weir"
	"weir/internal/account"
	"weir/internal/admin"
	"weir/internal/config"
	"weir/internal/dashboard"
	"weir/internal/gateway"
	"weir/internal/llm"
	"weir/internal/manual"
	"weir/internal/people"
	"weir/internal/route"
)

// openAdmin creates the operations on the installation.
func (g *instance) openAdmin() (err error) {
	o := g.options
	g.admin, err = admin.New(&admin.Options{
		Config: &o.Config, Store: g.store, Log: o.Log, Files: o.ConfigFrom, Getenv: o.Getenv, BaseURL: g.address,
		People: o.People, Pipeline: func(t *route.Table) admin.CallHandler { return handlerOver(g, t) },
		InForce: func() (*config.Config, *route.Table) { return g.configInForce(), g.router.Table() },
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
	o.Router, o.Log, o.Metrics, o.Refused = route.NewRouter(table), slog.New(slog.DiscardHandler), nil, nil
	d := g.upstream.Dialects().Usual()
	return gateway.New(o).HandlerAs("POST /admin/v1/config/test", d, d.For(llm.OpChat))
}

// openDashboard creates the pages.
func (g *instance) openDashboard() (err error) {
	from := originOf(&g.options.Config)
	g.dashboard, err = dashboard.New(dashboard.Options{
		Admin: g.admin, PublicURL: from.base, Insecure: isPlain(g),
		DefaultModel: func() string { return g.router.Table().DefaultModel() },
		ExampleModel: func() string {
			name, _ := g.router.Table().ExampleModel(g.options.Now())
			return name
		},
		Turn: turnsOf(g.gateway), Flush: g.ledger.Flush, Chat: g.chatAs(),
		Installation: g.installation(g.admin.Now()), Version: g.options.Version, Now: g.admin.Now, Log: g.options.Log,
	})
	return err
}

// turnsOf returns a function that runs work when it is the account's turn, as in the pipeline.
func turnsOf(s *gateway.Server) func(r *http.Request, account string, size int64, work func() error) error {
	return func(r *http.Request, account string, size int64, work func() error) error {
		held, done := s.ReadCapacity(r, account)
		defer done()
		return held.Turn(size, work)
	}
}

// openPages creates the dashboard and the pages of the documents, which share its style.
func (g *instance) openPages() (err error) {
	if err := g.openDashboard(); err != nil {
		return err
	}
	g.manual, err = manual.New(manual.Options{
		Documents: weir.Documents, StyleSheet: g.dashboard.StyleSheet(), Icon: g.dashboard.Icon(),
		Theme: g.dashboard.Theme, Version: g.options.Version, Log: g.options.Log,
	})
	return err
}

// documents returns the routes of the manual. They have no guard: everyone may read it, from any address, also while
// the database is down.
func (g *instance) documents() []httpRoute {
	from := originOf(&g.options.Config)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if from.isStrict(r) {
			w.Header().Set("Strict-Transport-Security", strictTransport)
		}
		g.manual.ServeHTTP(w, r)
	})
	return []httpRoute{{pattern: "GET /docs", handler: handler}, {pattern: "GET /docs/{page...}", handler: handler}}
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

// chatAs returns the handler that sends a request of the playground through the pipeline, for a person who is signed
// in.
func (g *instance) chatAs() func(http.ResponseWriter, *http.Request, *account.Principal) {
	d := g.upstream.Dialects().Usual() // the playground's format
	return g.gateway.HandlerAs("POST /accounts/{account}/playground", d, d.For(llm.OpChat))
}

// guard returns the guard of the pages.
func (g *instance) guard() *guard {
	return &guard{
		origin: originOf(&g.options.Config), tls: &g.options.Config.TLS,
		insecure: g.options.Config.InsecureHTTP, accounts: g.admin.Accounts,
		people: g.admin.People, session: g.dashboard.Session, crossing: g.crossing, refuse: g.dashboard.Refuse,
	}
}

// adminGuard returns the guard of the administration, which also accepts an operator's API key.
func (g *instance) adminGuard() *guard {
	guard := g.guard()
	guard.keys, guard.refuse = true, g.api.Admin.Refuse
	return guard
}

// guarded holds a route for people and its guard.
type guarded struct {
	route people.Route
	guard *guard
}

// userRoutes returns all routes for people.
func (g *instance) userRoutes() []guarded {
	var all []guarded
	pages, admin := g.guard(), g.adminGuard()
	for _, r := range g.dashboard.Routes() {
		all = append(all, guarded{r, pages})
	}
	for _, r := range g.api.Admin.Routes() {
		all = append(all, guarded{r, admin})
	}
	return all
}

// pages returns the routes for people with their guards applied.
func (g *instance) pages() []httpRoute {
	var all []httpRoute
	for _, p := range g.userRoutes() {
		e := httpRoute{pattern: p.route.Pattern, right: p.route.Right, handler: p.guard.handler(p.route)}
		if p.guard.keys {
			e.permission = account.Admin
		}
		all = append(all, e)
	}
	return all
}

// notFound answers unknown paths: a browser gets a page, and a program an error of the service, with the served paths
// if it may have meant one of them.
func (g *instance) notFound(served []string) http.Handler {
	service, unserved, health := g.api.NotFound(), g.api.NotServed(nil, served), g.api.NoHealth()
	guard := g.guard()
	page := guard.handler(people.Route{Right: people.Open, Serve: func(w http.ResponseWriter, r *http.Request,
		v *people.Visit,
	) {
		g.dashboard.Refuse(w, r, v, llm.Errorf(llm.CodeNotFound, "There is no such page."))
	}})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asksHealth(r.URL.Path) {
			health.ServeHTTP(w, r)
			return
		}
		version, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		program := strings.HasPrefix(version, "v1") || version == "admin" || version == "api"
		if !program && takesPage(r) {
			page.ServeHTTP(w, r)
			return
		}
		if isVersioned(r.URL.Path) {
			unserved.ServeHTTP(w, r)
			return
		}
		service.ServeHTTP(w, r)
	})
}
