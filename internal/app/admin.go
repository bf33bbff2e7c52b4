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

// adminOptions returns the services that the administration uses.
func (g *instance) adminOptions() api.AdminOptions {
	from := originOf(&g.options.Config)
	return api.AdminOptions{
		People: g.admin.People, Records: g.idempotency, Requests: g.store.Reports, Webhooks: g.admin.Webhooks.Service,
		KeysUsed: g.store.Accounts.KeysUsed, Audit: g.store.Audit.Entries, Unpriced: g.store.Reports.Unpriced,
		Nodes: g.store.Leases.Nodes, Correct: g.store.Ledger.Correct,
		Export:     g.store.Reports.Export,
		Statements: api.Statements{Close: g.store.Ledger.CloseStatement, List: g.store.Reports.Statements},
		PublicURL:  from.base, Config: g.admin.Configuration,
		Plan:      g.admin.Plans.Ask,
		Reconcile: g.admin.Reconciliation.Ask,
		Session:   func(r *http.Request) string { return g.dashboard.Session(r) },
	}
}
