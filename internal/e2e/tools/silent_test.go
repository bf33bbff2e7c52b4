package tools_test

import (
	"net/http"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"weir/internal/account"
	"weir/internal/e2e/harness"
	"weir/internal/must"
)

// TestSilentServerIsNamedToItsCallersAlone checks that a call of a tool of a silent server says so, and is in the list
// of refusals; and that other servers, and those that the key may not use, are no reason.
func TestSilentServerIsNamedToItsCallersAlone(t *testing.T) {
	t.Parallel()
	p := newPeer(t, true)
	h := harness.Open(t, harness.Setup{YAML: p.yaml("  gone:\n    url: http://127.0.0.1:9\n    allow_private: true\n" +
		"    tools: [\"*\"]\n  other:\n    url: http://127.0.0.1:9\n    allow_private: true\n    tools: [\"*\"]\n    accounts: [another]\n")})
	for name, want := range map[string]string{
		"gone__sum":  `The MCP server "gone" cannot be reached`,
		"peer__sums": `There is no tool "peer__sums"`,
		"other__sum": `There is no tool "other__sum"`,
	} {
		session := client(t, h, toolKey(h, account.KeyOptions{}), "/mcp", "", nil)
		_, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: name})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
	session := client(t, h, toolKey(h, account.KeyOptions{Models: []string{"mcp.peer/*"}}), "/mcp", "", nil)
	_, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "gone__sum"})
	if err == nil || !strings.Contains(err.Error(), `There is no tool "gone__sum"`) {
		t.Errorf("a key without the server: got %v, want that there is no such tool", err)
	}
	list, err := session.ListTools(t.Context(), nil)
	must.Do(t, err)
	must.Equal(t, names(list.Tools), "peer__paid peer__slow peer__sum", "tools of the other servers")
	admin := h.NewKey(account.KeyOptions{
		Account: account.DefaultName, Permissions: []account.Permission{account.Admin},
	})
	harness.Await(t, "the refusal", func() bool {
		list := h.Do(harness.Ask{Method: http.MethodGet, Path: "/admin/v1/accounts/default/refusals", Key: admin})
		return strings.Contains(list.Body, "PROVIDER_UNAVAILABLE")
	})
}
