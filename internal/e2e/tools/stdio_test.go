package tools_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"weir/internal/account"
	"weir/internal/e2e/harness"
	"weir/internal/must"
)

// asServer is the variable that makes the test binary an MCP server by its standard input and output.
const asServer = "WEIR_TEST_MCP_SERVER"

func serveByStdio() {
	p := &peer{sdk: sdk.NewServer(&sdk.Implementation{Name: "peer", Version: "1"}, nil)}
	p.addSum("adds two numbers")
	_ = p.sdk.Run(context.Background(), &sdk.StdioTransport{})
}

// processYAML configures the test binary as a server.
func processYAML(t *testing.T) string {
	t.Helper()
	return fmt.Sprintf("mcp_servers:\n  peer: {command: [%q], env: [%q], tools: [\"*\"]}\n", must.Get(os.Executable())(t), asServer+"=1")
}

// TestCallsOfProcessAreRows checks that tools of a process are listed, called and metered as any other, by several
// clients at once in each revision. The harness finds a process that outlives its gateway.
func TestCallsOfProcessAreRows(t *testing.T) {
	t.Parallel()
	h := harness.Open(t, harness.Setup{YAML: processYAML(t) + prices})
	key := toolKey(h, account.KeyOptions{})
	var running sync.WaitGroup
	for i, revision := range []string{"2026-07-28", "2025-11-25", "2025-03-26", "2025-03-26"} {
		session := client(t, h, key, "/mcp", revision, nil)
		running.Go(func() {
			r, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "peer__sum", Arguments: map[string]int{"a": i, "b": 10}})
			if err != nil || fmt.Sprint(r.StructuredContent) != fmt.Sprintf("map[sum:%d]", i+10) {
				t.Errorf("%s: got %v, %v; want the sum %d", revision, r, err, i+10)
			}
		})
	}
	running.Wait()
	harness.Await(t, "four rows", func() bool { return h.Uses("").Total.Requests == "4" })
	h.Verify(t)
	if got := h.Uses("").Total.Cost; got != "2" {
		t.Errorf("got the cost %s of four calls, want 2", got)
	}
}

// TestNobodyManagesCommands checks that an operator's key cannot make the gateway run a program.
func TestNobodyManagesCommands(t *testing.T) {
	t.Parallel()
	h := harness.Open(t, harness.Setup{YAML: processYAML(t)})
	operator := h.NewKey(account.KeyOptions{Account: account.DefaultName, Permissions: []account.Permission{account.Admin}})
	for name, body := range map[string]string{
		"other": `{"command": ["/bin/sh", "-c", "id"], "tools": ["*"]}`,
		"third": `{"url": "https://example.com", "env": ["LD_PRELOAD=/tmp/x"]}`,
		"peer":  `{"command": ["/bin/sh"]}`,
	} {
		r := h.Do(harness.Ask{Method: http.MethodPut, Path: "/admin/v1/config/mcp_servers/" + name, Key: operator, Body: body})
		if r.Status < http.StatusBadRequest || r.Status >= http.StatusInternalServerError {
			t.Errorf("%s: got %d %s, want a refusal", name, r.Status, r.Body)
		}
	}
	if r := h.Do(harness.Ask{Path: "/admin/v1/mcp/servers", Key: operator}); r.Status != http.StatusOK || !strings.Contains(r.Body, `"url":"stdio:/`) {
		t.Errorf("got %d %s, want the file's server", r.Status, r.Body)
	}
}
