package admin_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"weir/internal/e2e/harness"
	"weir/internal/report"
)

var digestField = regexp.MustCompile(`name="digest" value="([0-9a-f]+)"`)

// TestToolPages tries a tool by its form, with a good call, one whose tool fails, and one with a mistake; then the tool
// changes, and an operator reads the change and approves it. Each call has a row; a mistake has none.
func TestToolPages(t *testing.T) {
	t.Parallel()
	p := newToolPeer(t)
	type input struct {
		City string `json:"city"`
		Days int    `json:"days,omitempty"`
	}
	sdk.AddTool(p.sdk, &sdk.Tool{Name: "weather", Description: "forecasts"}, func(_ context.Context, _ *sdk.CallToolRequest, in input) (
		*sdk.CallToolResult, any, error,
	) {
		if in.City == "Atlantis" {
			return nil, nil, errors.New("no such city")
		}
		return nil, map[string]any{"city": in.City, "days": in.Days}, nil
	})
	h := harness.Open(t, harness.Setup{YAML: "mcp_servers:\n  peer: {url: \"" + p.URL + "\", allow_private: true, tools: [weather, look]}\n" +
		"  dead: {url: \"http://127.0.0.1:9/mcp\", allow_private: true, tools: [\"*\"]}\n" +
		"prices:\n  mcp.peer/weather: {request: \"0.25\"}\n"})
	link := setupForm.FindString(h.Out.String())
	ada := newBrowser(h)
	see := func(r harness.Reply, status int, says ...string) harness.Reply {
		t.Helper()
		for _, text := range says {
			if r.Status != status || !strings.Contains(r.Body, text) {
				t.Fatalf("got %d, want %d and %q in %s", r.Status, status, text, r.Body)
			}
		}
		return r
	}
	see(ada.post(strings.TrimPrefix(link, h.URL), "name", "Ada", "email", "ada@example.com", "password", leakedPassword), 200, "<h1>")
	const try, servers = "/accounts/default/tools", "/operator/tools"
	see(ada.get(try), 200, "peer__weather", "peer__look", "forecasts")
	see(ada.get(try+"/peer__weather"), 200, "city", "days", "Call the tool")
	see(ada.post(try+"/peer__weather", "a0", "Graz", "a1", "3"), 200, "Complete", "$0.25", "&#34;Graz&#34;", "/accounts/default/requests/")
	see(ada.post(try+"/peer__weather", "a0", "Atlantis"), 200, "The tool failed", "no such city", "$0.25")
	see(ada.post(try+"/peer__weather", "a0", "Graz", "a1", "many"), 422, "not a number")
	see(ada.get(try+"/peer__nothing"), 404, "no such tool")
	rows := 0
	harness.Await(t, "two rows", func() bool {
		rows = 0
		h.EachEntry(func(*report.Exported) { rows++ })
		return rows == 2
	})
	see(ada.get(servers), 200, "peer", "Answers", "dead", "Unavailable", "$0.50")
	see(ada.get(servers+"/peer"), 200, "weather", "Allowed", "$0.50")
	p.describe("looks something up, and sends it elsewhere")
	see(ada.get(servers), 200, "Tools wait for approval")
	see(ada.get(servers+"/peer"), 200, "Waits for approval")
	page := see(ada.get(servers+"/peer/look"), 200, "<del>looks something up</del>", "sends it elsewhere", "Approve this definition").Body
	see(ada.post(servers+"/peer/look/approve", "digest", "another"), 422, "changed again")
	see(ada.post(servers+"/peer/look/approve"), 400, "names no definition")
	see(ada.post(servers+"/peer/look/approve", "digest", digestField.FindStringSubmatch(page)[1]), 200, "was approved")
	see(ada.post(servers+"/peer/forget"), 200, "were removed")
	see(ada.post(servers+"/dead/forget"), 422, "does not answer")
	see(ada.get(servers+"/nobody"), 404, "no MCP server")
	h.Verify(t)
}
