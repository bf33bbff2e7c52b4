package app

import (
	"net/http"
	"strings"

	"weir/internal/api"
)

// adminPath prefixes all paths of the administration.
const adminPath = "/admin/v1/"

// isAdmin reports whether a path, or the path of a pattern, belongs to the administration, which has its own error
// format.
func isAdmin(path string) bool { return strings.HasPrefix(path+"/", adminPath) }

// openAPI creates the service's own API.
func (g *instance) openAPI() {
	o := g.options
	from := originOf(&o.Config)
	g.api = api.New(api.Options{
		Admin: g.admin, Ledger: g.ledger, Router: g.router, Dialects: g.upstream.Dialects(), Kept: g.kept,
		ReadCapacity: g.gateway.ReadCapacity, Limits: g.limits, Records: g.idempotency, PublicURL: from.base,
		Session: func(r *http.Request) string { return g.dashboard.Session(r) },
		Prices:  g.upstream.Prices().Age, Shortage: g.store.Shortage, Version: o.Version, Now: o.Now, Log: o.Log,
	})
}
