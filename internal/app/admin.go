package app

import (
	"net/http"
	"strings"

	"weir/internal/api"
)

// adminPath is where all of the administration is.
const adminPath = "/admin/v1/"

// isAdmin reports whether a path, or a pattern's, is one of the administration,
// whose errors are told in its own words.
func isAdmin(path string) bool { return strings.HasPrefix(path+"/", adminPath) }

// adminOptions is what the administration works with.
func (g *instance) adminOptions() api.AdminOptions {
	from := originOf(&g.options.Config)
	return api.AdminOptions{
		People: g.people, Records: g.idempotency, Requests: g.store.Reports, Webhooks: g.webhooks,
		KeysUsed: g.store.Accounts.KeysUsed, Audit: g.store.Audit.Entries, Unpriced: g.store.Reports.Unpriced,
		Nodes: g.store.Leases.Nodes, Correct: g.store.Ledger.Correct,
		Export:     g.store.Reports.Export,
		Statements: api.Statements{Close: g.store.Ledger.CloseStatement, List: g.store.Reports.Statements}, PublicURL: from.base, Config: g.managed,
		Plan:      newPlanner(g.managed, g.accounts, g.store).Ask,
		Reconcile: reconcileAsked(g),
		Session:   func(r *http.Request) string { return g.dashboard.Session(r) },
	}
}
