package app

import (
	"testing"

	"weir/internal/people"
)

// knownRoutes are the routes that people use, by the right that each is to ask. A
// new one has to be put here, by hand, by somebody who has thought of who may.
var knownRoutes = map[people.Right][]string{
	people.Open: {
		"GET /assets/{hash}/{name}",
		"GET /forgot",
		"POST /forgot",
		"GET /invite/{token}",
		"POST /invite/{token}",
		"GET /oidc/callback",
		"GET /oidc/start",
		"GET /link/{token}",
		"POST /link/{token}",
		"GET /reset/{token}",
		"POST /reset/{token}",
		"GET /setup/{token}",
		"POST /setup/{token}",
		"GET /sign-in",
		"POST /sign-in",
		"POST /sign-in/code",
		"POST /sign-out",
		"POST /theme",
		"GET /{$}",
	},
	people.SignedIn: {
		"GET /admin/v1/me",
		"GET /design",
		"GET /me",
		"GET /me/second-factor",
		"POST /me/second-factor",
		"POST /me/second-factor/remove",
		"POST /me/name/change",
		"POST /me/password/change",
		"POST /me/sessions/end",
		"POST /me/sessions/{id}/end",
	},
	people.Read: {
		"GET /accounts/{account}",
		"GET /accounts/{account}/keys",
		"GET /accounts/{account}/keys/{id}",
		"GET /accounts/{account}/members",
		"GET /accounts/{account}/models",
		"GET /accounts/{account}/requests",
		"GET /accounts/{account}/requests/tail",
		"GET /accounts/{account}/requests/{id}",
		"GET /accounts/{account}/usage",
		"GET /accounts/{account}/usage.csv",
		"GET /admin/v1/accounts/{account}",
		"GET /admin/v1/accounts/{account}/keys",
		"GET /admin/v1/accounts/{account}/keys/{key}",
		"GET /admin/v1/accounts/{account}/members",
		"GET /admin/v1/accounts/{account}/requests",
		"GET /admin/v1/accounts/{account}/requests/{id}",
		"GET /admin/v1/accounts/{account}/uses",
	},
	people.Use: {
		"GET /accounts/{account}/keys/new",
		"POST /accounts/{account}/keys/{id}/change",
		"POST /accounts/{account}/keys/{id}/rotate",
		"POST /accounts/{account}/keys/new",
		"POST /accounts/{account}/keys/{id}/revoke",
		"GET /accounts/{account}/playground",
		"POST /accounts/{account}/playground",
		"POST /admin/v1/accounts/{account}/keys",
		"DELETE /admin/v1/accounts/{account}/keys/{key}",
		"PATCH /admin/v1/accounts/{account}/keys/{key}",
		"POST /admin/v1/accounts/{account}/keys/{key}/rotate",
	},
	people.Manage: {
		"POST /accounts/{account}/invitations/{id}/cancel",
		"POST /accounts/{account}/members/invite",
		"POST /accounts/{account}/members/{user}/remove",
		"POST /accounts/{account}/members/{user}/role",
		"GET /accounts/{account}/webhooks",
		"GET /accounts/{account}/webhooks/new",
		"POST /accounts/{account}/webhooks/new",
		"GET /accounts/{account}/webhooks/{webhook}",
		"POST /accounts/{account}/webhooks/{webhook}/change",
		"GET /accounts/{account}/webhooks/{webhook}/deliveries/{delivery}",
		"POST /accounts/{account}/webhooks/{webhook}/deliveries/{delivery}/redeliver",
		"POST /accounts/{account}/webhooks/{webhook}/disable",
		"POST /accounts/{account}/webhooks/{webhook}/enable",
		"POST /accounts/{account}/webhooks/{webhook}/recover",
		"POST /accounts/{account}/webhooks/{webhook}/remove",
		"POST /accounts/{account}/webhooks/{webhook}/rotate",
		"POST /accounts/{account}/webhooks/{webhook}/test",
		"GET /admin/v1/accounts/{account}/invitations",
		"POST /admin/v1/accounts/{account}/invitations",
		"DELETE /admin/v1/accounts/{account}/invitations/{id}",
		"DELETE /admin/v1/accounts/{account}/members/{user}",
		"PATCH /admin/v1/accounts/{account}/members/{user}",
		"GET /admin/v1/accounts/{account}/webhooks",
		"POST /admin/v1/accounts/{account}/webhooks",
		"DELETE /admin/v1/accounts/{account}/webhooks/{webhook}",
		"GET /admin/v1/accounts/{account}/webhooks/{webhook}",
		"PATCH /admin/v1/accounts/{account}/webhooks/{webhook}",
		"GET /admin/v1/accounts/{account}/webhooks/{webhook}/deliveries",
		"GET /admin/v1/accounts/{account}/webhooks/{webhook}/deliveries/{delivery}",
		"POST /admin/v1/accounts/{account}/webhooks/{webhook}/deliveries/{delivery}/redeliver",
		"POST /admin/v1/accounts/{account}/webhooks/{webhook}/recover",
		"POST /admin/v1/accounts/{account}/webhooks/{webhook}/rotate-secret",
		"POST /admin/v1/accounts/{account}/webhooks/{webhook}/test",
	},
	people.Operate: {
		"GET /admin/v1/accounts",
		"POST /admin/v1/accounts",
		"PATCH /admin/v1/accounts/{account}",
		"POST /admin/v1/accounts/{account}/credit",
		"POST /admin/v1/accounts/{account}/requests/{id}/attempts/{n}/corrections",
		"GET /admin/v1/audit",
		"GET /admin/v1/config",
		"POST /admin/v1/config",
		"POST /admin/v1/config/test",
		"GET /admin/v1/config/versions",
		"POST /admin/v1/config/versions/{seq}/restore",
		"PUT /admin/v1/config/cors",
		"DELETE /admin/v1/config/cors",
		"PUT /admin/v1/config/limits",
		"DELETE /admin/v1/config/limits",
		"PUT /admin/v1/config/{section}/{name}",
		"DELETE /admin/v1/config/{section}/{name}",
		"GET /admin/v1/models/unpriced",
		"GET /admin/v1/nodes",
		"GET /admin/v1/operator-invitations",
		"DELETE /admin/v1/operator-invitations/{id}",
		"GET /admin/v1/operators",
		"POST /admin/v1/operators",
		"DELETE /admin/v1/operators/{user}",
		"GET /admin/v1/providers",
		"GET /admin/v1/users",
		"PATCH /admin/v1/users/{user}",
		"DELETE /admin/v1/users/{user}",
		"DELETE /admin/v1/users/{user}/second-factor",
		"GET /admin/v1/webhooks",
		"POST /admin/v1/webhooks",
		"DELETE /admin/v1/webhooks/{webhook}",
		"GET /admin/v1/webhooks/{webhook}",
		"PATCH /admin/v1/webhooks/{webhook}",
		"GET /admin/v1/webhooks/{webhook}/deliveries",
		"GET /admin/v1/webhooks/{webhook}/deliveries/{delivery}",
		"POST /admin/v1/webhooks/{webhook}/deliveries/{delivery}/redeliver",
		"POST /admin/v1/webhooks/{webhook}/recover",
		"POST /admin/v1/webhooks/{webhook}/rotate-secret",
		"POST /admin/v1/webhooks/{webhook}/test",
		"GET /operator/accounts",
		"POST /operator/accounts/create",
		"GET /operator/accounts/{account}",
		"POST /operator/accounts/{account}/budget/set",
		"POST /operator/accounts/{account}/credit/add",
		"POST /operator/accounts/{account}/credit/end",
		"POST /operator/accounts/{account}/hangup/set",
		"POST /operator/accounts/{account}/limits/set",
		"POST /operator/accounts/{account}/resume",
		"POST /operator/accounts/{account}/suspend",
		"GET /operator/audit",
		"GET /operator/audit/export",
		"POST /operator/audit/verify",
		"GET /operator/people",
		"POST /operator/people/invitations/{id}/cancel",
		"POST /operator/people/invite",
		"GET /operator/people/{user}",
		"POST /operator/people/{user}/demote",
		"POST /operator/people/{user}/disable",
		"POST /operator/people/{user}/enable",
		"POST /operator/people/{user}/remove",
		"POST /operator/people/{user}/second-factor/remove",
		"POST /operator/people/{user}/promote",
		"POST /operator/people/{user}/reset",
		"GET /operator/prices",
		"GET /operator/providers",
		"GET /operator/settings",
		"GET /operator/system",
		"GET /operator/webhooks",
		"GET /operator/webhooks/new",
		"POST /operator/webhooks/new",
		"GET /operator/webhooks/{webhook}",
		"POST /operator/webhooks/{webhook}/change",
		"GET /operator/webhooks/{webhook}/deliveries/{delivery}",
		"POST /operator/webhooks/{webhook}/deliveries/{delivery}/redeliver",
		"POST /operator/webhooks/{webhook}/disable",
		"POST /operator/webhooks/{webhook}/enable",
		"POST /operator/webhooks/{webhook}/recover",
		"POST /operator/webhooks/{webhook}/remove",
		"POST /operator/webhooks/{webhook}/rotate",
		"POST /operator/webhooks/{webhook}/test",
	},
}

// TestWhoMayDoWhatIsKnown is that every route asks for the right that it is known to ask.
func TestWhoMayDoWhatIsKnown(t *testing.T) {
	t.Parallel()
	known := map[string]people.Right{}
	for right, patterns := range knownRoutes {
		for _, p := range patterns {
			if known[p] != "" {
				t.Errorf("%s stands twice in the list", p)
			}
			known[p] = right
		}
	}
	for _, of := range newInstance(t).userRoutes() {
		want, ok := known[of.route.Pattern]
		if !ok {
			t.Errorf("%s: got a route that asks for %q and is not in the list", of.route.Pattern, of.route.Right)
		} else if of.route.Right != want {
			t.Errorf("%s: got the right %q asked for, want %q", of.route.Pattern, of.route.Right, want)
		}
		delete(known, of.route.Pattern)
	}
	for p := range known {
		t.Errorf("%s is in the list, and does not exist", p)
	}
}
