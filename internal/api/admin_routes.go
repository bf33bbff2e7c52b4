package api

import (
	"log/slog"
	"net/http"
	"slices"

	"weir/internal/idempotency"
	"weir/internal/people"
	"weir/internal/report"
)

// Admin implements the administration, /admin/v1. This file has the parts that its groups of calls share: reading a
// request, answering it once per Idempotency-Key, and refusing it.
type Admin struct {
	records idempotency.Store
	session func(*http.Request) string
	log     *slog.Logger
	routes  []people.Route
}

// Routes returns the routes of the administration, each with the right that it requires.
func (ad *Admin) Routes() []people.Route { return ad.routes }

func newAdmin(o *Options) *Admin {
	ad := &Admin{records: o.Records, session: o.Session, log: o.Log}
	ad.routes = slices.Concat(ad.accountRoutes(o), ad.usageRoutes(o), ad.peopleRoutes(o), ad.configRoutes(o),
		ad.contentRoutes(o), ad.answerRoutes(o), ad.mcpRoutes(o), ad.socketRoutes(o),
		ad.webhookRoutes(o, "/accounts/{account}/webhooks", people.Manage),
		ad.webhookRoutes(o, "/webhooks", people.Operate))
	return ad
}

// accountRoutes returns the routes of accounts and their API keys.
func (ad *Admin) accountRoutes(o *Options) []people.Route {
	accounts := &adminAccounts{o.Admin.Accounts, &adminInvitations{o.Admin.People, o.PublicURL}}
	keys := &adminKeys{o.Admin}
	return []people.Route{
		ad.route("GET /accounts", people.Operate, accounts.list, listing...),
		ad.make("POST /accounts", people.Operate, accounts.create),
		ad.route("GET /accounts/{account}", people.Read, accounts.show),
		ad.route("PATCH /accounts/{account}", people.Operate, accounts.change),
		ad.make("POST /accounts/{account}/close", people.Operate, accounts.close),
		ad.make("POST /accounts/{account}/credit", people.Operate, accounts.addCredit),
		ad.route("GET /accounts/{account}/price-lists", people.Operate, accounts.listPriceLists, listing...),
		ad.make("POST /accounts/{account}/price-lists", people.Operate, accounts.addPriceList),
		ad.route("GET /accounts/{account}/keys", people.Read, keys.list, listing...),
		ad.make("POST /accounts/{account}/keys", people.Use, keys.create),
		ad.route("GET /accounts/{account}/keys/{key}", people.Read, keys.show),
		ad.route("PATCH /accounts/{account}/keys/{key}", people.Use, keys.change),
		ad.route("DELETE /accounts/{account}/keys/{key}", people.Use, keys.revoke),
		ad.make("POST /accounts/{account}/keys/{key}/rotate", people.Use, keys.rotate),
	}
}

// peopleRoutes returns the routes of members, users, operators and invitations.
func (ad *Admin) peopleRoutes(o *Options) []people.Route {
	invitations := &adminInvitations{o.Admin.People, o.PublicURL}
	users, members := &adminPeople{o.Admin.People, invitations}, &adminMembers{o.Admin.People}
	return []people.Route{
		ad.route("GET /me", people.SignedIn, users.showMe),
		ad.route("GET /users", people.Operate, users.listUsers, listing...),
		ad.route("PATCH /users/{user}", people.Operate, users.changeUser),
		ad.route("DELETE /users/{user}", people.Operate, users.removeUser),
		ad.route("DELETE /users/{user}/second-factor", people.Operate, users.removeFactor),
		ad.route("GET /operators", people.Operate, users.listOperators, listing...),
		ad.make("POST /operators", people.Operate, users.makeOperator),
		ad.route("DELETE /operators/{user}", people.Operate, users.removeOperator),
		ad.route("GET /operator-invitations", people.Operate, invitations.list, listing...),
		ad.route("DELETE /operator-invitations/{id}", people.Operate, invitations.cancel),
		ad.route("GET /accounts/{account}/members", people.Read, members.list, listing...),
		ad.route("PATCH /accounts/{account}/members/{user}", people.Manage, members.change),
		ad.route("DELETE /accounts/{account}/members/{user}", people.Manage, members.remove),
		ad.route("GET /accounts/{account}/invitations", people.Manage, invitations.list, listing...),
		ad.make("POST /accounts/{account}/invitations", people.Manage, invitations.create),
		ad.route("DELETE /accounts/{account}/invitations/{id}", people.Manage, invitations.cancel),
	}
}

// usageRoutes returns the routes of accounts' usage and of the installation.
func (ad *Admin) usageRoutes(o *Options) []people.Route {
	const requests = "/accounts/{account}/requests"
	usesFilters := slices.Clip(append(report.UsesFilters(), "first_token", report.TagParameter))
	refusalFilters := []string{"from", "to", "key", "reason", "model", "group_by"}
	statements, refusals := &adminStatements{o.Admin.Statements, o.Admin.Now}, &adminRefusals{o.Admin}
	alerts := &adminAlerts{o.Admin.Alerts}
	usage, whole := &adminUsage{o.Admin, o.Ledger}, &adminInstallation{o.Admin, o.Ledger, o.Router, o.Now}
	return []people.Route{
		ad.route("GET /usage", people.Operate, usage.listGroups,
			named(append(usesFilters, "account")...)...),
		ad.route("GET /accounts/{account}/uses", people.Read, usage.listUses, named(usesFilters...)...),
		ad.route("GET "+requests, people.Read, usage.listRequests,
			named(append(report.RequestFilters(), report.TagParameter)...)...),
		ad.route("GET "+requests+"/{id}", people.Read, usage.showRequest),
		ad.make("POST "+requests+"/{id}/attempts/{n}/corrections", people.Operate, usage.correct),
		ad.make("POST "+requests+"/{id}/attempts/{n}/resolve", people.Operate, usage.resolve),
		ad.route("GET /accounts/{account}/refusals", people.Read, refusals.listOfAccount, refusalFilters...),
		ad.route("GET /refusals", people.Operate, refusals.list, append(refusalFilters, "account")...),
		ad.route("GET /accounts/{account}/alerts", people.Read, alerts.listOfAccount),
		ad.route("PATCH /accounts/{account}/alerts", people.Manage, alerts.setLimits),
		ad.route("GET /alerts", people.Operate, alerts.list),
		ad.make("POST /alerts/{kind}/test", people.Operate, alerts.test),
		ad.route("GET /accounts/{account}/statements", people.Read, statements.list, listing...),
		ad.make("POST /accounts/{account}/statements", people.Operate, statements.close),
		ad.route("GET /accounts/{account}/statements/draft", people.Read, statements.draft, "month"),
		ad.route("GET /accounts/{account}/statements/{number}", people.Read, statements.show),
		ad.route("GET /statements", people.Operate, statements.listOfMonth, named("month")...),
		ad.route("GET /reconciliation", people.Operate, (&adminReconciliation{o.Admin.Reconciliation, o.Now}).show,
			"provider", "start_date", "end_date"),
		ad.exportRoute(o),
		ad.route("GET /audit", people.Operate, whole.listAudit,
			named("account", "actor", "action", "object", "from", "to")...),
		ad.route("GET /providers", people.Operate, whole.listProviders, listing...),
		ad.route("GET /models/unpriced", people.Operate, whole.listUnpriced, named("start_date", "end_date")...),
		ad.route("GET /nodes", people.Operate, whole.listNodes, listing...),
	}
}

// webhookRoutes returns the routes of the webhook endpoints of accounts, or of the installation.
func (ad *Admin) webhookRoutes(o *Options, list string, right people.Right) []people.Route {
	hooks, one := &adminWebhooks{o.Admin.Webhooks}, list+"/{webhook}"
	return []people.Route{
		ad.route("GET "+list, right, hooks.list, listing...),
		ad.make("POST "+list, right, hooks.create),
		ad.route("GET "+one, right, hooks.one(hooks.show)),
		ad.route("PATCH "+one, right, hooks.one(hooks.change)),
		ad.route("DELETE "+one, right, hooks.one(hooks.remove)),
		ad.make("POST "+one+"/test", right, hooks.one(hooks.test)),
		ad.make("POST "+one+"/recover", right, hooks.one(hooks.recover)),
		ad.make("POST "+one+"/rotate-secret", right, hooks.one(hooks.rotate)),
		ad.route("GET "+one+"/deliveries", right, hooks.one(hooks.listDeliveries), named("state")...),
		ad.route("GET "+one+"/deliveries/{delivery}", right, hooks.one(hooks.showDelivery)),
		ad.make("POST "+one+"/deliveries/{delivery}/redeliver", right, hooks.one(hooks.redeliver)),
	}
}
