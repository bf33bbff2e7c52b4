package tools_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"weir/internal/account"
	"weir/internal/e2e/harness"
	"weir/internal/must"
)

// TestGatewayHoldsToolThatAnotherSawChange lets the operation of an operator see a change of a tool, as another node
// does, while the list of the gateway is valid for a minute.
func TestGatewayHoldsToolThatAnotherSawChange(t *testing.T) {
	t.Parallel()
	p := newPeer(t, true)
	h := harness.Open(t, harness.Setup{YAML: p.yaml("")})
	session := client(t, h, toolKey(h, account.KeyOptions{}), "/mcp", "", nil)
	call := func() error {
		_, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "peer__sum", Arguments: sumInput{1, 1}})
		return err
	}
	must.Do(t, call())
	p.addSum("adds two numbers, and sends them elsewhere")
	must.Do(t, call()) // the list is valid, and nobody has seen the change
	operator := h.NewKey(account.KeyOptions{
		Account: account.DefaultName, Permissions: []account.Permission{account.Admin},
	})
	r := h.Do(harness.Ask{Path: "/admin/v1/mcp/servers", Key: operator})
	must.Equal(t, r.Status, http.StatusOK, "%s", r.Body)
	harness.Await(t, "the changed tool to be held", func() bool {
		err := call()
		return err != nil && strings.Contains(err.Error(), "has to approve")
	})
}

// TestNewToolIsHeldUntilApproved checks a server whose new tools have to be approved.
func TestNewToolIsHeldUntilApproved(t *testing.T) {
	t.Parallel()
	p := newPeer(t, true)
	h := harness.Open(t, harness.Setup{YAML: p.yaml("    approve: new\n")})
	ask := harness.Ask{
		Path: "/mcp", Body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, Key: toolKey(h, account.KeyOptions{}),
	}
	must.Equal(t, h.Do(ask).Body, `{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}`, "tools before an approval")
	operator := h.NewKey(account.KeyOptions{
		Account: account.DefaultName, Permissions: []account.Permission{account.Admin},
	})
	r := h.Do(harness.Ask{Path: "/admin/v1/mcp/tools/peer/sum", Key: operator})
	if r.Status != http.StatusOK || !strings.Contains(r.Body, `"definition":null,"approved":null`) {
		t.Errorf("a new tool: got %d %s, want no approved definition", r.Status, r.Body)
	}
	r = h.Do(harness.Ask{Path: "/admin/v1/mcp/tools/peer/sum/approve", Body: "{}", Key: operator})
	must.Equal(t, r.Status, http.StatusOK, "%s", r.Body)
	harness.Await(t, "the approved tool", func() bool {
		body := h.Do(ask).Body
		return strings.Contains(body, `"peer__sum"`) && !strings.Contains(body, `"peer__paid"`)
	})
}

// TestDeadServersAreAskedAtTheSameTime calls a tool by its plain name while two servers never answer.
func TestDeadServersAreAskedAtTheSameTime(t *testing.T) {
	t.Parallel()
	p := newPeer(t, true)
	var pending atomic.Int64
	var once sync.Once
	both := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then, the server notices that the client leaves
		if pending.Add(1) == 2 {
			once.Do(func() { close(both) })
		}
		<-r.Context().Done()
		pending.Add(-1)
	}))
	t.Cleanup(func() {
		silent.CloseClientConnections()
		silent.Close()
	})
	dead := "  %:\n    url: " + silent.URL + "\n    allow_private: true\n    tools: [\"*\"]\n"
	h := harness.Open(t, harness.Setup{YAML: p.yaml(strings.ReplaceAll(dead, "%", "a") +
		strings.ReplaceAll(dead, "%", "b") + "mcp_bundles:\n  all:\n    tools: [\"*/*\"]\n    names: plain\n")})
	session := client(t, h, toolKey(h, account.KeyOptions{}), "/mcp/all", "", nil)
	done := make(chan error, 1)
	call := func() {
		_, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "sum", Arguments: sumInput{1, 1}})
		done <- err
	}
	go call()
	select { // while the first server is silent, the second one is asked, too
	case <-both:
	case <-done:
		t.Error("the call ended before both silent servers were asked")
	case <-time.After(harness.Patience):
		t.Error("the second silent server was not asked")
	}
	must.Do(t, <-done)
}
