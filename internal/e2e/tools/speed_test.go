package tools_test

import (
	"context"
	"fmt"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"weir/internal/account"
	"weir/internal/e2e/harness"
	"weir/internal/must"
)

// BenchmarkCall measures a call at the server alone, and through the gateway.
func BenchmarkCall(b *testing.B) {
	p := newPeer(b, true)
	h := harness.Open(b, harness.Setup{YAML: p.yaml("")})
	key := toolKey(h, account.KeyOptions{})
	for _, at := range []struct{ name, url, tool string }{{"alone", p.URL, "sum"}, {"gateway", h.URL + "/mcp", "peer__sum"}} {
		session := clientAt(b, h, key, at.url, "", nil)
		b.Run(at.name, func(b *testing.B) {
			for b.Loop() {
				_, err := session.CallTool(b.Context(), &sdk.CallToolParams{Name: at.tool, Arguments: sumInput{1, 2}})
				must.Do(b, err)
			}
		})
	}
}

// BenchmarkListOf500Tools measures a list from the gateway's cache.
func BenchmarkListOf500Tools(b *testing.B) {
	p := newPeer(b, true)
	for i := range 500 {
		sdk.AddTool(p.sdk, &sdk.Tool{Name: fmt.Sprintf("sum-%d", i), Description: "adds two numbers"},
			func(context.Context, *sdk.CallToolRequest, sumInput) (*sdk.CallToolResult, any, error) {
				return nil, nil, nil
			})
	}
	h := harness.Open(b, harness.Setup{YAML: p.yaml("  all:\n    url: " + p.URL +
		"\n    allow_private: true\n    tools: [\"sum-*\"]\n")})
	ask := harness.Ask{Path: "/mcp", Body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, Key: toolKey(h,
		account.KeyOptions{})}
	h.Do(ask)
	for b.Loop() {
		if r := h.Do(ask); len(r.Body) < 50_000 {
			b.Fatalf("list: got %d %.200s, want 500 tools", r.Status, r.Body)
		}
	}
}
