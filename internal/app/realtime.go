package app

import (
	"net/http"

	"weir/internal/account"
	"weir/internal/realtime"
)

// newRealtime returns the server of Realtime sessions, over the parts that requests use.
func newRealtime(g *instance, s *site) *realtime.Server {
	return realtime.New(realtime.Options{
		Accounts: g.admin.Accounts, Ledger: g.ledger, Router: g.router, Limits: g.limits,
		Capacity: g.gateway.Capacity(), Dialect: s.dialects.Usual(), Refused: g.noticeRefusal,
		Refusals: g.pipeline.Refusals, Metrics: g.metrics, Sockets: s.open, Refuse: s.refuseOrigin,
		Seal: g.admin.MasterKeys.Sealed, Open: g.admin.MasterKeys.Open, Log: g.options.Log,
	})
}

// realtimeRoutes returns the routes of the Realtime API.
func (s *site) realtimeRoutes() []httpRoute {
	usual := s.dialects.Usual()
	route := func(pattern string, h http.Handler) httpRoute {
		return httpRoute{pattern: pattern, permission: account.Chat, handler: h, dialect: usual}
	}
	return []httpRoute{
		route("GET /v1/realtime", s.realtime),
		route("POST /v1/realtime/client_secrets", s.realtime.CreateSecret()),
		route("POST /v1/realtime/calls", s.realtime.RefuseCalls()),
	}
}
