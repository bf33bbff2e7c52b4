package app

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"weir"
	"weir/internal/account"
	"weir/internal/admin"
	"weir/internal/admintool"
	"weir/internal/api"
	"weir/internal/dashboard"
	"weir/internal/dialect"
	"weir/internal/gateway"
	"weir/internal/llm"
	"weir/internal/manual"
	"weir/internal/people"
	"weir/internal/realtime"
	"weir/internal/telemetry"
	"weir/internal/toolserver"
	"weir/internal/websocket"
)

// site answers HTTP requests: it has the APIs, the pages, the manual, their guards and the checks before them.
type site struct {
	options    *Options
	admin      *admin.Admin
	dialects   dialect.Set
	gateway    *gateway.Server
	tools      *toolserver.Server
	realtime   *realtime.Server
	metrics    *telemetry.Metrics
	api        *api.Server
	adminTools *admintool.Server
	dashboard  *dashboard.Server
	manual     *manual.Server
	crossing   *http.CrossOriginProtection
	draining   atomic.Bool
	open       *websocket.Open            // WebSockets of clients
	cors       atomic.Pointer[corsPolicy] // nil if no other site may use the client APIs
}

// newSite creates the site over the other parts of the gateway.
func newSite(g *instance) (s *site, err error) {
	o := g.options
	s = &site{
		options: o, admin: g.admin, dialects: g.upstream.Dialects(), gateway: g.gateway, metrics: g.metrics,
		open: websocket.NewOpen(o.Timing.Sockets),
	}
	s.realtime = newRealtime(g, s)
	if s.crossing, err = newCrossOrigin(o.Config.PublicURL); err != nil {
		return nil, err
	}
	if s.dashboard, err = newDashboard(g); err != nil {
		return nil, err
	}
	from := originOf(&o.Config)
	s.api = api.New(api.Options{
		Admin: g.admin, Ledger: g.ledger, Router: g.router, Dialects: s.dialects, Kept: g.kept,
		ReadCapacity: g.gateway.ReadCapacity, Limits: g.limits, Refusals: g.pipeline.Refusals,
		Records:   g.idempotency,
		PublicURL: from.base, Session: s.dashboard.Session,
		Prices: g.upstream.Prices().Age, Shortage: g.store.Shortage, Version: o.Version, Now: o.Now, Log: o.Log,
	})
	s.adminTools = s.newAdminTools()
	s.tools = newToolServer(g, s)
	s.manual, err = manual.New(manual.Options{
		Documents: weir.Documents, API: s.api.Document.JSON,
		StyleSheet: s.dashboard.StyleSheet(), Script: s.dashboard.Script(), Icon: s.dashboard.Icon(),
		Theme: s.dashboard.Theme, Version: o.Version, Log: o.Log,
	})
	if err != nil {
		return nil, fmt.Errorf("manual: %w", err)
	}
	return s, nil
}

// documents returns the routes of the manual. They have no guard: everyone may read it, from any address, also while
// the database is down.
func (s *site) documents() []httpRoute {
	from := originOf(&s.options.Config)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if from.isStrict(r) {
			w.Header().Set("Strict-Transport-Security", strictTransport)
		}
		s.manual.ServeHTTP(w, r)
	})
	return []httpRoute{{pattern: "GET /docs", handler: handler}, {pattern: "GET /docs/{page...}", handler: handler}}
}

// guard returns the guard of the pages.
func (s *site) guard() *guard {
	return &guard{
		origin: originOf(&s.options.Config), tls: &s.options.Config.TLS,
		insecure: s.options.Config.InsecureHTTP, accounts: s.admin.Accounts,
		signIn: s.admin.SignIn, session: s.dashboard.Session, crossing: s.crossing, refuse: s.dashboard.Refuse,
		content: s.options.Config.Content.Operators,
	}
}

// adminGuard returns the guard of the administration, which also accepts an operator's API key.
func (s *site) adminGuard() *guard {
	guard := s.guard()
	guard.keys, guard.refuse = true, s.api.Admin.Refuse
	return guard
}

// guarded holds a route for people and its guard.
type guarded struct {
	route people.Route
	guard *guard
}

// userRoutes returns all routes for people.
func (s *site) userRoutes() []guarded {
	var all []guarded
	pages, admin := s.guard(), s.adminGuard()
	for _, r := range s.dashboard.Routes() {
		all = append(all, guarded{r, pages})
	}
	for _, r := range s.api.Admin.Routes() {
		all = append(all, guarded{r, admin})
	}
	for _, r := range s.adminTools.Routes() {
		all = append(all, guarded{r, admin})
	}
	return all
}

// newAdminTools creates the server of the administration's tools.
func (s *site) newAdminTools() *admintool.Server {
	return admintool.New(admintool.Options{
		Document: s.api.Document.JSON, Routes: s.api.Admin.Routes(), Refuse: s.api.Admin.Refuse,
		Guard: func(route people.Route, tool string) http.Handler {
			guard := s.adminGuard()
			guard.tool = tool
			return guard.handler(route)
		},
		Version: s.options.Version, Log: s.options.Log,
	})
}

// pages returns the routes for people with their guards applied.
func (s *site) pages() []httpRoute {
	var all []httpRoute
	for _, p := range s.userRoutes() {
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
func (s *site) notFound(served []string) http.Handler {
	service, unserved, health := s.api.NotFound(), s.api.NotServed(nil, served), s.api.NoHealth()
	guard := s.guard()
	page := guard.handler(people.Route{Right: people.Open, Serve: func(w http.ResponseWriter, r *http.Request,
		v *people.Visit,
	) {
		s.dashboard.Refuse(w, r, v, llm.Errorf(llm.CodeNotFound, "There is no such page."))
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

// counted counts the requests to a handler under a pattern. Requests to models are counted elsewhere.
func (s *site) counted(pattern string, next http.Handler) http.Handler {
	counters := s.metrics.Route(pattern)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		started := time.Now()
		seen := &witness{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(seen, r)
		counters.Done(seen.status, time.Since(started), "")
	})
}

// witness records the status of an answer.
type witness struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter.
func (w *witness) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap supports http.ResponseController.
func (w *witness) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// routeOf returns the path of a pattern, as in the metrics.
func routeOf(pattern string) string {
	_, path, _ := strings.Cut(pattern, " ")
	return path
}

// otherRoute counts requests that match no pattern.
const otherRoute = "other"
