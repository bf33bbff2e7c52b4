package dashboard

import (
	"slices"

	"weir/internal/connection"
	"weir/internal/oauth"
	"weir/internal/people"
)

// row is a route of the tables below, with its right and its handler.
type row struct {
	pattern string
	right   people.Right
	answer  serve
}

// routes returns all pages.
func (s *site) routes(o *Options, t *tails) []people.Route {
	forms := &once{}
	all := []people.Route{{Pattern: "GET /assets/{hash}/{name}", Right: people.Open, Serve: s.assets.serve}}
	for _, r := range slices.Concat(s.personalRoutes(o), s.accountRoutes(o, forms), s.usageRoutes(o, t),
		s.webhookRoutes(o, forms), s.operatorRoutes(o, forms), s.installationRoutes(o), s.toolRoutes(o)) {
		all = append(all, s.route(r.pattern, r.right, r.answer))
	}
	return append(all, s.playgroundRoutes(o)...)
}

// personalRoutes returns the routes for signing in, and those of the signed-in user.
func (s *site) personalRoutes(o *Options) []row {
	in := &signInHandlers{s, o.Admin.People, o.Admin.SignIn, o.PublicURL}
	me := &profileHandlers{s, o.Admin.People, o.Admin.SignIn, o.PublicURL}
	consent, connections := &consentHandlers{s, o.Admin.OAuth}, &connectionHandlers{s, o.Admin.Connections}
	return []row{
		{"GET " + connection.Path, people.SignedIn, connections.list},
		{"GET " + connection.CallbackPath("{server}"), people.SignedIn, connections.finish},
		{"GET " + connection.Path + "/{server}/start", people.SignedIn, connections.start},
		{"POST " + connection.Path + "/{server}/remove", people.SignedIn, connections.remove},
		{"GET " + oauth.AuthorizePath, people.SignedIn, consent.show},
		{"POST " + oauth.AuthorizePath, people.SignedIn, consent.answer},
		{"GET /{$}", people.Open, in.home},
		{"GET /sign-in", people.Open, in.page},
		{"POST /sign-in", people.Open, in.byPassword},
		{"POST /sign-in/code", people.Open, in.giveCode},
		{"POST /sign-in/passkey", people.Open, in.givePasskey},
		{"POST /sign-out", people.Open, in.signOut},
		{"GET /oidc/start", people.Open, in.startOIDC},
		{"GET /oidc/callback", people.Open, in.finishOIDC},
		{"POST /oidc/logout", people.Open, in.logoutOIDC},
		{"GET /forgot", people.Open, in.forgotForm},
		{"POST /forgot", people.Open, in.forgot},
		{"GET /setup/{token}", people.Open, unsent(in.link(people.SetupLink))},
		{"POST /setup/{token}", people.Open, in.useLink(people.SetupLink)},
		{"GET /invite/{token}", people.Open, unsent(in.link(people.InviteLink))},
		{"POST /invite/{token}", people.Open, in.useLink(people.InviteLink)},
		{"GET /link/{token}", people.Open, unsent(in.link(people.SignInLink))},
		{"POST /link/{token}", people.Open, in.useLink(people.SignInLink)},
		{"GET /reset/{token}", people.Open, unsent(in.link(people.ResetLink))},
		{"POST /reset/{token}", people.Open, in.useLink(people.ResetLink)},
		{"GET /me", people.SignedIn, unsent(me.show)},
		{"POST /me/name/change", people.SignedIn, me.changeName},
		{"POST /me/password/change", people.SignedIn, me.changePassword},
		{"GET /me/second-factor", people.SignedIn, unsent(me.showFactor)},
		{"POST /me/second-factor", people.SignedIn, me.setFactor},
		{"POST /me/second-factor/remove", people.SignedIn, me.removeFactor},
		{"GET /me/passkeys/new", people.SignedIn, unsent(me.showPasskey)},
		{"POST /me/passkeys/new", people.SignedIn, me.addPasskey},
		{"POST /me/passkeys/{passkey}/remove", people.SignedIn, me.removePasskey},
		{"POST /me/sessions/{id}/end", people.SignedIn, me.endSession},
		{"POST /me/sessions/end", people.SignedIn, me.endOtherSessions},
		{"POST /theme", people.Open, s.chooseTheme},
		{"GET /design", people.SignedIn, s.showDesign},
	}
}

// accountRoutes returns the pages of an account's keys and members.
func (s *site) accountRoutes(o *Options, forms *once) []row {
	keys := &keyHandlers{s, o.Admin, o.PublicURL, o.ExampleModel, forms, o.Installation}
	members := &memberHandlers{s, o.Admin.People, o.Admin.SignIn.SSO, o.PublicURL}
	return []row{
		{"GET /accounts/{account}/keys", people.Read, keys.list},
		{"GET /accounts/{account}/keys/new", people.Use, unsent(keys.showNew)},
		{"POST /accounts/{account}/keys/new", people.Use, keys.create},
		{"GET /accounts/{account}/keys/{id}", people.Read, unsent(keys.showOne)},
		{"POST /accounts/{account}/keys/{id}/change", people.Use, keys.change},
		{"POST /accounts/{account}/keys/{id}/rotate", people.Use, keys.rotate},
		{"POST /accounts/{account}/keys/{id}/revoke", people.Use, keys.revoke},
		{"GET /accounts/{account}/members", people.Read, unsent(members.page)},
		{"POST /accounts/{account}/members/invite", people.Manage, members.invite},
		{"POST /accounts/{account}/members/{user}/role", people.Manage, members.setRole},
		{"POST /accounts/{account}/members/{user}/remove", people.Manage, members.remove},
		{"POST /accounts/{account}/invitations/{id}/cancel", people.Manage, members.cancelInvitation},
	}
}

// usageRoutes returns the pages of an account's usage and requests, and of models.
func (s *site) usageRoutes(o *Options, t *tails) []row {
	flush := flusher(o.Flush, o.Log)
	overview := &overviewHandlers{s, o.Admin, flush, o.PublicURL, firstModel(o)}
	usage := &usageHandlers{s, o.Admin, flush, o.PublicURL, fileSlots(maxUsageFiles, maxUsageFilesOf)}
	requests, statements := &requestHandlers{s, o.Admin, flush, t}, &statementHandlers{s, o.Admin}
	sockets := &socketHandlers{s, o.Admin}
	models := &modelHandlers{s, o.Installation.Models, o.DefaultModel, o.Turn}
	alerts := &alertHandlers{s, o.Admin}
	return []row{
		{"GET /accounts/{account}", people.Read, overview.show},
		{"GET /accounts/{account}/usage", people.Read, usage.show},
		{"GET /accounts/{account}/usage.csv", people.Read, usage.download},
		{"GET " + allUsagePath, people.Operate, usage.show},
		{"GET " + allUsagePath + ".csv", people.Operate, usage.download},
		{"GET /accounts/{account}/requests", people.Read, requests.list},
		{"GET /accounts/{account}/requests/tail", people.Read, requests.follow},
		{"GET /accounts/{account}/requests/{id}", people.Read, unsent(requests.show)},
		{"POST /accounts/{account}/requests/{id}/attempts/{n}/resolve", people.Operate, requests.resolve},
		{"GET /accounts/{account}/requests/{id}/cost", people.Read, requests.cost},
		{"GET /accounts/{account}/requests/{id}/content", people.ReadContent, requests.content},
		{"POST /accounts/{account}/requests/{id}/content/remove", people.Manage, requests.removeContent},
		{"GET /accounts/{account}/sockets", people.Read, sockets.list},
		{"GET /accounts/{account}/sockets/{socket}", people.Read, sockets.show},
		{"POST /accounts/{account}/sockets/{socket}/end", people.Use, sockets.end},
		{"GET " + allSocketsPath, people.Operate, sockets.list},
		{"GET /accounts/{account}/statements", people.Read, unsent(statements.list)},
		{"POST /accounts/{account}/statements/close", people.Operate, statements.close},
		{"GET /accounts/{account}/statements/draft", people.Read, statements.showDraft},
		{"GET /accounts/{account}/statements/draft/csv", people.Read, statements.downloadDraft},
		{"GET " + allStatementsPath, people.Operate, statements.ofMonth},
		{"GET /accounts/{account}/statements/{number}", people.Read, statements.show},
		{"GET /accounts/{account}/statements/{number}/csv", people.Read, statements.download},
		{"GET /accounts/{account}/models", people.Read, models.list},
		{"GET /accounts/{account}/alerts", people.Read, unsent(alerts.ofAccount)},
		{"POST /accounts/{account}/alerts/set", people.Manage, alerts.setLimits},
	}
}

// playgroundRoutes returns the playground and its requests, whose bodies are not forms.
func (s *site) playgroundRoutes(o *Options) []people.Route {
	h := &playgroundHandlers{s, o.Admin.Accounts, o.Installation.Models, o.DefaultModel, o.PublicURL, o.Chat}
	return []people.Route{
		s.route("GET /accounts/{account}/playground", people.Use, h.show),
		{Pattern: "POST /accounts/{account}/playground", Right: people.Use, Ask: true, Serve: h.play},
	}
}

// webhookRoutes returns the pages of endpoints, of accounts and of the installation.
func (s *site) webhookRoutes(o *Options, forms *once) []row {
	h := &webhookHandlers{s, o.Admin.Webhooks, forms}
	return append(h.routes("/accounts/{account}/webhooks", people.Manage), h.routes(webhooksPath, people.Operate)...)
}

func (h *webhookHandlers) routes(list string, right people.Right) []row {
	one := list + "/{webhook}"
	return []row{
		{"GET " + list, right, h.list},
		{"GET " + list + "/new", right, unsent(h.showNew)},
		{"POST " + list + "/new", right, h.create},
		{"GET " + one, right, unsent(h.show)},
		{"POST " + one + "/change", right, h.one(h.change)},
		{"POST " + one + "/test", right, h.one(h.test)},
		{"POST " + one + "/recover", right, h.one(h.recover)},
		{"POST " + one + "/rotate", right, h.one(h.rotate)},
		{"POST " + one + "/enable", right, h.setDisabled(false, "webhook-enabled")},
		{"POST " + one + "/disable", right, h.setDisabled(true, "webhook-disabled")},
		{"POST " + one + "/remove", right, h.one(h.remove)},
		{"GET " + one + "/deliveries/{delivery}", right, unsent(h.showDelivery)},
		{"POST " + one + "/deliveries/{delivery}/redeliver", right, h.redeliver},
	}
}

// operatorRoutes returns the operator's pages of accounts and people.
func (s *site) operatorRoutes(o *Options, forms *once) []row {
	accounts := &accountHandlers{s, o.Admin, o.Installation, forms}
	users := &peopleHandlers{s, o.Admin, o.PublicURL}
	const one, user = accountsPath + "/{account}", usersPath + "/{user}"
	return []row{
		{"GET " + accountsPath, people.Operate, unsent(accounts.list)},
		{"GET /operator/find", people.Operate, accounts.find},
		{"POST " + accountsPath + "/create", people.Operate, accounts.create},
		{"GET " + one, people.Operate, accounts.page},
		{"POST " + one + "/suspend", people.Operate, accounts.change("account-suspended", accounts.suspend)},
		{"POST " + one + "/resume", people.Operate, accounts.change("account-resumed", accounts.resume)},
		{"POST " + one + "/close", people.Operate, accounts.change("account-closed", accounts.close)},
		{"POST " + one + "/limits/set", people.Operate, accounts.change("limits-set", accounts.setLimits)},
		{"POST " + one + "/budget/set", people.Operate, accounts.change("budget-set", accounts.setBudget)},
		{"POST " + one + "/per/set", people.Operate, accounts.change("limits-set", accounts.setPer)},
		{"POST " + one + "/prices/set", people.Operate, accounts.change("price-list-set", accounts.setPriceList)},
		{"POST " + one + "/credit/add", people.Operate, accounts.change("credit-added", accounts.addCredit)},
		{"POST " + one + "/credit/end", people.Operate, accounts.change("credit-ended", accounts.endCredit)},
		{"POST " + one + "/hangup/set", people.Operate, accounts.change("hangup-set", accounts.setOnDisconnect)},
		{"POST " + one + "/content/set", people.Operate, accounts.change("content-set", accounts.setContent)},
		{"POST " + one + "/answers/purge", people.Operate, accounts.change("answers-purged", accounts.purgeAnswers)},
		{"GET " + usersPath, people.Operate, unsent(users.page)},
		{"POST " + usersPath + "/invite", people.Operate, users.invite},
		{"POST " + user + "/reset", people.Operate, users.reset},
		{"POST " + user + "/promote", people.Operate, users.promote},
		{"POST " + user + "/demote", people.Operate, users.demote},
		{"GET " + user, people.Operate, unsent(users.one)},
		{"POST " + user + "/disable", people.Operate, users.change("user-disabled", users.disable)},
		{"POST " + user + "/enable", people.Operate, users.change("user-enabled", users.enable)},
		{
			"POST " + user + "/second-factor/remove", people.Operate,
			users.change("user-factor-removed", o.Admin.People.RemoveFactor),
		},
		{"POST " + user + "/remove", people.Operate, users.remove},
		{"POST " + usersPath + "/invitations/{id}/cancel", people.Operate, users.cancelInvitation},
	}
}

// installationRoutes returns the operator's other pages.
func (s *site) installationRoutes(o *Options) []row {
	const provider = providersPath + "/{provider}"
	providers := &providerHandlers{s, o.Admin, o.Installation, o.DefaultModel}
	prices, installation := &priceHandlers{s, o.Admin, o.Installation}, &installationHandlers{s, o.Installation}
	config, alerts := &configurationHandlers{s, o.Admin, o.Installation}, &alertHandlers{s, o.Admin}
	audit := &auditHandlers{s, o.Admin, fileSlots(maxAuditFiles, maxAuditFiles)}
	return []row{
		{"GET " + providersPath, people.Operate, providers.list},
		{"GET " + providersPath + "/new", people.Operate, unsent(providers.showNew)},
		{"POST " + providersPath + "/new", people.Operate, providers.create},
		{"GET " + provider, people.Operate, unsent(providers.show)},
		{"GET " + provider + "/reconciliation", people.Operate, providers.reconciliation},
		{"GET " + provider + "/reconciliation/csv", people.Operate, providers.reconciliationFile},
		{"POST " + provider + "/test", people.Operate, providers.test},
		{"POST " + provider + "/change", people.Operate, providers.change},
		{"POST " + provider + "/models", people.Operate, providers.setModels},
		{"POST " + provider + "/keys/add", people.Operate, providers.addKey},
		{"POST " + provider + "/keys/{n}/remove", people.Operate, providers.removeKey},
		{"POST " + provider + "/remove", people.Operate, providers.remove},
		{"GET " + configurationPath, people.Operate, unsent(config.show)},
		{"GET " + configurationPath + "/edit", people.Operate, unsent(config.showEdit)},
		{"POST " + configurationPath + "/edit", people.Operate, config.edit},
		{"POST " + configurationPath + "/remove", people.Operate, config.remove},
		{"POST " + configurationPath + "/versions/{seq}/restore", people.Operate, config.restore},
		{"GET " + alertsPath, people.Operate, unsent(alerts.list)},
		{"POST " + alertsPath + "/{kind}/test", people.Operate, alerts.test},
		{"GET /operator/prices", people.Operate, prices.show},
		{"GET " + auditPath, people.Operate, audit.page},
		{"GET " + auditPath + "/export", people.Operate, audit.export},
		{"POST " + auditPath + "/verify", people.Operate, audit.verify},
		{"GET /operator/system", people.Operate, installation.system},
		{"GET /operator/settings", people.Operate, installation.settings},
	}
}

// toolRoutes returns the pages of tools: those of an account, and the operators' of their servers.
func (s *site) toolRoutes(o *Options) []row {
	const server, one = toolServersPath + "/{server}", toolServersPath + "/{server}/{tool}"
	tools, servers := &toolHandlers{s, o.Admin.Accounts, o.Tools}, &toolServerHandlers{s, o.Admin}
	return []row{
		{"GET /accounts/{account}/tools", people.Use, tools.list},
		{"GET /accounts/{account}/tools/{tool}", people.Use, unsent(tools.show)},
		{"POST /accounts/{account}/tools/{tool}", people.Use, tools.call},
		{"GET " + toolServersPath, people.Operate, servers.list},
		{"GET " + server, people.Operate, unsent(servers.show)},
		{"POST " + server + "/forget", people.Operate, servers.forget},
		{"GET " + one, people.Operate, unsent(servers.showTool)},
		{"POST " + one + "/approve", people.Operate, servers.approve},
	}
}
