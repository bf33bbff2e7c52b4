package app

import (
	"net/http"

	"weir/internal/account"
	"weir/internal/dialect"
	"weir/internal/realtime"
)

// newRealtime returns the server of Realtime sessions, over the parts that requests use.
func newRealtime(g *instance, s *site) *realtime.Server {
	return realtime.New(realtime.Options{
		Accounts: g.admin.Accounts, Ledger: g.ledger, Router: g.router, Limits: g.limits,
		Capacity: g.gateway.Capacity(), Dialect: s.dialects.Usual(), Live: s.liveDialect(), Refused: g.noticeRefusal,
		Refusals: g.pipeline.Refusals, Metrics: g.metrics, Sockets: s.open, Refuse: s.refuseOrigin,
		Seal: g.admin.MasterKeys.Sealed, Open: g.admin.MasterKeys.Open, Log: g.options.Log,
		Clock: g.options.Now,
	})
}

// realtimeRoutes returns the routes of the Realtime API.
func (s *site) realtimeRoutes() []httpRoute {
	usual := s.dialects.Usual()
	route := func(pattern string, h http.Handler) httpRoute {
		return httpRoute{pattern: pattern, permission: account.Chat, handler: h, dialect: usual}
	}
	all := []httpRoute{
		route("GET /v1/realtime", s.realtime),
		route("GET /openai/v1/realtime", s.realtime), // Azure's
		route("GET /openai/realtime", s.realtime),    // and that of its dated versions
		route("POST /v1/realtime/client_secrets", s.realtime.CreateSecret()),
		route("POST /v1/realtime/calls", s.realtime.RefuseCalls()),
	}
	live := s.liveDialect()
	for _, pattern := range live.Live.Routes {
		all = append(all, httpRoute{
			pattern: pattern, permission: account.Chat, handler: http.HandlerFunc(s.realtime.ServeLive), dialect: live,
		})
	}
	return all
}

// liveDialect returns the wire format of live sessions.
func (s *site) liveDialect() *dialect.Dialect {
	return s.dialects.Find(func(d *dialect.Dialect) bool { return d.Live != nil })
}
