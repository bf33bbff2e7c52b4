package contract_test

import (
	"net/http"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
)

// oauth sends requests to the authorization server for agents: to a gateway without it, and to one that has it.
func (q *replyCheck) oauth(t *testing.T) {
	on := &replyCheck{Contract: q.Contract, seen: map[string]bool{}, h: harness.Open(t, harness.Setup{
		YAML: "public_url: http://127.0.0.1:1\ntrusted_proxies: [127.0.0.1]\n",
	})}
	form := []string{"Content-Type", "application/x-www-form-urlencoded"}
	for _, at := range []struct{ path, document, body, wrong string }{
		{"/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource/mcp", "", ""},
		{"/.well-known/oauth-protected-resource/mcp/all", "/.well-known/oauth-protected-resource/mcp/{bundle}", "", ""},
		{"/.well-known/oauth-authorization-server", "/.well-known/oauth-authorization-server", "", ""},
		{"/oauth/clients/peer", "/oauth/clients/{server}", "", ""},
		{"/oauth/token", "/oauth/token", "", "client_id=a&grant_type=none"},
		{"/oauth/revoke", "/oauth/revoke", "token=a&client_id=b", "token=a&token=b"},
		{"/oauth/register", "/oauth/register", `{"redirect_uris":["http://127.0.0.1/back"]}`, "{}"},
	} {
		ask := harness.Ask{Path: at.path, Body: at.body, Key: harness.NoKey}
		if strings.HasPrefix(at.path, "/oauth/") && at.document != "/oauth/clients/{server}" {
			ask.Method, ask.Header = http.MethodPost, form
		}
		with := func(h *replyCheck, body string, want int, header ...string) {
			t.Helper()
			a := ask
			a.Body, a.Header = body, append(header, a.Header...)
			h.hold(t, a, at.document, want)
		}
		with(q, at.body, http.StatusNotFound)
		with(on, at.body, http.StatusMisdirectedRequest, "Host", "evil.example")
		if at.path != "/oauth/clients/peer" { // public
			with(on, at.body, http.StatusForbidden, "X-Forwarded-Proto", "http", "X-Forwarded-For", "192.0.2.1")
		}
		switch at.path {
		case "/oauth/register":
			with(on, at.body, http.StatusCreated)
		case "/oauth/token":
			with(on, at.body, http.StatusUnauthorized)
		default:
			with(on, at.body, http.StatusOK)
		}
		if at.wrong != "" {
			with(on, at.wrong, http.StatusBadRequest)
		}
	}
	q.seen["post /oauth/token 200"] = true // app.TestOAuth: a person's browser leads to it
	for reply := range on.seen {
		q.seen[reply] = true
	}
}
