package tools_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"weir/internal/account"
	"weir/internal/e2e/harness"
	"weir/internal/must"
)

// BenchmarkCall measures a call at the server alone and through the gateway, in turns, and reports the medians.
func BenchmarkCall(b *testing.B) {
	p := newPeer(b, true)
	h := harness.Open(b, harness.Setup{YAML: p.yaml("")})
	key := toolKey(h, account.KeyOptions{})
	var took [2][]time.Duration
	var calls [2]func()
	for i, at := range []struct{ url, tool string }{{p.URL, "sum"}, {h.URL + "/mcp", "peer__sum"}} {
		session := clientAt(b, h, key, at.url, "", nil)
		calls[i] = func() {
			_, err := session.CallTool(b.Context(), &sdk.CallToolParams{Name: at.tool, Arguments: sumInput{1, 2}})
			must.Do(b, err)
		}
		for range 20 {
			calls[i]()
		}
	}
	for b.Loop() {
		for i, call := range calls {
			began := time.Now()
			call()
			took[i] = append(took[i], time.Since(began))
		}
	}
	alone, gateway := median(took[0]), median(took[1])
	b.ReportMetric(float64(alone.Microseconds()), "alone-p50-µs")
	b.ReportMetric(float64(gateway.Microseconds()), "gateway-p50-µs")
	b.ReportMetric(float64((gateway - alone).Microseconds()), "added-p50-µs")
}

func median(took []time.Duration) time.Duration {
	slices.Sort(took)
	return took[len(took)/2]
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
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		if r := h.Do(ask); len(r.Body) < 50_000 {
			b.Fatalf("list: got %d %.200s, want 500 tools", r.Status, r.Body)
		}
		took = append(took, time.Since(began))
	}
	b.ReportMetric(float64(median(took).Microseconds()), "p50-µs")
}
