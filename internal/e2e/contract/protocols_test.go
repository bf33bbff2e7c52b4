package contract_test

import (
	"net/http"
	"strings"
	"testing"

	"weir/internal/account"
	"weir/internal/e2e/harness"
)

// livePath begins the paths of sessions of Google's Live API.
const livePath = "/ws/google.ai.generativelanguage."

// isSocket reports whether a path opens a WebSocket, or a stream of notifications. The packages e2e/socket,
// e2e/realtime, e2e/live and e2e/tools open them; here are the answers without one. Its providers' failures are those of
// other operations.
func isSocket(method, path string) bool {
	return method == "get" && (path == "/v1/responses" || realtimeQuery(path) != "" ||
		strings.HasPrefix(path, livePath) || strings.HasPrefix(path, "/mcp"))
}

// realtimeQuery returns the name of the model in the query of a Realtime path; empty for other paths.
func realtimeQuery(path string) string {
	switch path {
	case "/v1/realtime", "/openai/v1/realtime":
		return "model"
	case "/openai/realtime":
		return "deployment"
	}
	return ""
}

// sockets requests WebSockets that are refused, and client secrets for them.
func (q *replyCheck) sockets(t *testing.T) {
	onlyUses := q.h.NewKey(account.KeyOptions{Account: "default", Permissions: []account.Permission{account.Uses}})
	upgrade := []string{
		"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13",
		"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==",
	}
	paths := []string{"/v1/responses", "/v1/realtime", "/openai/v1/realtime", "/openai/realtime"}
	for _, version := range []string{"v1", "v1beta", "v1alpha"} {
		paths = append(paths, livePath+version+".GenerativeService.BidiGenerateContent")
	}
	for _, path := range paths {
		of := path
		if name := realtimeQuery(path); name != "" {
			q.hold(t, harness.Ask{Method: http.MethodGet, Path: of + "?" + name + "=nobody/x", Header: upgrade}, path, http.StatusNotFound)
			of += "?" + name + "=openai-house/echo"
		}
		q.hold(t, harness.Ask{Method: http.MethodGet, Path: of}, path, http.StatusUpgradeRequired)
		q.hold(t, harness.Ask{Method: http.MethodGet, Path: of, Header: upgrade[:6]}, path, http.StatusBadRequest)
		q.hold(t, harness.Ask{Method: http.MethodGet, Path: of, Header: upgrade, Key: harness.NoKey}, path, http.StatusUnauthorized)
		q.hold(t, harness.Ask{Method: http.MethodGet, Path: of, Header: upgrade, Key: onlyUses}, path, http.StatusForbidden)
	}
	const secrets, calls = "/v1/realtime/client_secrets", "/v1/realtime/calls"
	q.hold(t, harness.Ask{Path: secrets, Body: "{}"}, secrets, http.StatusOK)
	q.hold(t, harness.Ask{Path: secrets, Body: `{"session":1}`}, secrets, http.StatusBadRequest)
	q.hold(t, harness.Ask{Path: secrets, Body: `{"session":{"model":"nobody/x"}}`}, secrets, http.StatusNotFound)
	q.hold(t, harness.Ask{Path: secrets, Body: strings.Repeat(" ", 65<<10)}, secrets, http.StatusRequestEntityTooLarge)
	q.hold(t, harness.Ask{Path: calls, Body: "{}"}, calls, http.StatusBadRequest)
	for _, path := range []string{secrets, calls} {
		q.hold(t, harness.Ask{Path: path, Body: "{}", Key: "wk_wrong"}, path, http.StatusUnauthorized)
		q.hold(t, harness.Ask{Path: path, Body: "{}", Key: onlyUses}, path, http.StatusForbidden)
	}
}

// tools sends messages of the Model Context Protocol to the tools and to the administration.
func (q *replyCheck) tools(t *testing.T) {
	key := func(p account.Permission) string {
		return q.h.NewKey(account.KeyOptions{Account: "default", Permissions: []account.Permission{p}})
	}
	tools, admin, onlyUses := key(account.Tools), key(account.Admin), key(account.Uses)
	for _, at := range []struct {
		path, document, key string
		most                int
		isAdmin             bool
	}{
		{"/mcp", "/mcp", tools, 5 << 20, false},
		{"/mcp/all", "/mcp/{bundle}", tools, 5 << 20, false},
		{"/admin/mcp", "/admin/mcp", admin, 1 << 20, true},
		{"/admin/mcp/write", "/admin/mcp/write", admin, 1 << 20, true},
	} {
		send := func(body, key string, want int, header ...string) {
			t.Helper()
			header = append([]string{"Accept", "application/json, text/event-stream"}, header...)
			q.hold(t, harness.Ask{Path: at.path, Body: body, Key: key, Header: header}, at.document, want)
		}
		const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
		send(list, at.key, http.StatusOK, "MCP-Protocol-Version", "2025-06-18")
		send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, at.key, http.StatusAccepted)
		send(`{"jsonrpc":`, at.key, http.StatusBadRequest)
		send(list, "wk_wrong", http.StatusUnauthorized)
		send(list, onlyUses, http.StatusForbidden)
		send(strings.Repeat(" ", at.most+1), at.key, http.StatusRequestEntityTooLarge)
		const version = "2026-07-28"
		send(`{"jsonrpc":"2.0","id":1,"method":"nothing","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"`+version+
			`","io.modelcontextprotocol/clientCapabilities":{}}}}`, at.key, http.StatusNotFound,
			"MCP-Protocol-Version", version, "Mcp-Method", "nothing")
		if !at.isAdmin {
			for key, want := range map[string]int{at.key: http.StatusMethodNotAllowed, "wk_wrong": http.StatusUnauthorized, onlyUses: http.StatusForbidden} {
				q.hold(t, harness.Ask{Method: http.MethodGet, Path: at.path, Key: key, Header: []string{"MCP-Protocol-Version", version}}, at.document, want)
			}
			continue
		}
		send(list, at.key, http.StatusUnsupportedMediaType, "Content-Type", "text/plain")
		send(list, at.key, http.StatusMisdirectedRequest, "Host", "evil.example")
	}
}
