package tools_test

import (
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"weir/internal/account"
	"weir/internal/budget"
	"weir/internal/e2e/harness"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/report"
)

// TestCallCostsItsTime checks a price per second: the cost of the call, and that a budget has to have room for the whole
// timeout of the server.
func TestCallCostsItsTime(t *testing.T) {
	t.Parallel()
	p := newPeer(t, true)
	const perSecond = llm.USD / 1000
	h := harness.Open(t, harness.Setup{YAML: p.yaml("    timeout: 20s\nprices:\n  mcp.peer/sum: {request: \"0.5\", second: \"0.001\"}\n")})
	session := client(t, h, toolKey(h, account.KeyOptions{}), "/mcp", "", nil)
	call := func() error {
		_, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "peer__sum", Arguments: sumInput{1, 1}})
		return err
	}
	h.SetBudget(llm.USD/2+20*perSecond-1, budget.PeriodTotal)
	if err := call(); err == nil || !strings.Contains(err.Error(), "budget") {
		t.Errorf("a budget for nearly the timeout: got %v, want a refusal", err)
	}
	h.SetBudget(llm.USD/2+20*perSecond, budget.PeriodTotal)
	must.Do(t, call())
	found := false
	harness.Await(t, "the row", func() bool {
		h.EachEntry(func(e *report.Exported) {
			ms := e.Usage[llm.Milliseconds]
			found = true
			if ms < 1 || e.Usage[llm.Requests] != 1 || e.Cost != llm.USD/2+llm.Money(ms)*perSecond/1000 {
				t.Errorf("got the usage %v and the cost %v, want half a dollar and a thousandth for each second", e.Usage, e.Cost)
			}
		})
		return found
	})
	h.Verify(t)
}
