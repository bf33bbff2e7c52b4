package app

import (
	"weir/internal/dialect"
	"weir/internal/realtime"
)

// newRealtime returns the server of Realtime sessions, over the parts that requests use.
func newRealtime(g *instance, dialects dialect.Set) *realtime.Server {
	return realtime.New(realtime.Options{
		Accounts: g.admin.Accounts, Ledger: g.ledger, Router: g.router, Limits: g.limits,
		Capacity: g.gateway.Capacity(), Dialect: dialects.Usual(), Refused: g.noticeRefusal,
		Refusals: g.pipeline.Refusals, Metrics: g.metrics, Stopping: g.gateway.Base(),
		Seal: g.admin.MasterKeys.Sealed, Open: g.admin.MasterKeys.Open, Log: g.options.Log,
	})
}
