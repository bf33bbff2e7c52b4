package tools_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"weir/internal/account"
	"weir/internal/e2e/harness"
)

// TestUnreachableServerIsNamed checks that a call of a server without lists says that it does not answer, to those who
// may use it, and that other names do not exist.
func TestUnreachableServerIsNamed(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	const all = `allow_private: true, tools: ["*"], prompts: ["*"], resources: ["*"]`
	h := harness.Open(t, harness.Setup{YAML: `mcp_servers:
  peer: {url: "` + gone.URL + `", ` + all + `}
  secret: {url: "` + gone.URL + `", accounts: [other], ` + all + `}
mcp_bundles:
  plain: {tools: ["peer/*"], prompts: ["peer/*"], resources: ["peer/*"], names: plain}
`})
	key := toolKey(h, account.KeyOptions{})
	for path, names := range map[string]map[string]bool{
		"/mcp":       {"peer__sum": true, "secret__sum": false, "none__sum": false},
		"/mcp/plain": {"sum": true},
	} {
		session := client(t, h, key, path, "", nil)
		for name, is := range names {
			_, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: map[string]int{"a": 1}})
			checkUnreachable(t, path+" "+name, err, is)
		}
		_, err := session.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "peer__p"})
		checkUnreachable(t, path+" prompt", err, true)
		_, err = session.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "none__p"})
		checkUnreachable(t, path+" prompt of another server", err, path == "/mcp/plain")
		_, err = session.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "doc://readme"})
		checkUnreachable(t, path+" resource", err, false) // the server with the only fitting pattern is asked
	}
	session := client(t, h, toolKey(h, account.KeyOptions{Models: []string{"mcp/other/*"}}), "/mcp/plain", "", nil)
	_, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "sum", Arguments: map[string]int{"a": 1}})
	checkUnreachable(t, "a tool that the key may not use", err, false)
	_, err = session.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "p"})
	checkUnreachable(t, "a prompt that the key may not use", err, false)
}

func checkUnreachable(t *testing.T, what string, err error, want bool) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: got no error", what)
		return
	}
	got := strings.Contains(err.Error(), `"peer" cannot be reached`) && strings.Contains(err.Error(), "is asked again in")
	if got != want || strings.Contains(err.Error(), "secret\"") {
		t.Errorf("%s: got %v; want that the server does not answer: %v", what, err, want)
	}
}
