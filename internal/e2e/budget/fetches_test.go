package budget_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"weir/internal/budget"
	"weir/internal/e2e/harness"
	"weir/internal/llm"
)

// TestFetchesStayInBudget uses a provider that charges for each page that its search opens, and ignores caps on calls:
// its charge stays within the budget.
func TestFetchesStayInBudget(t *testing.T) {
	t.Parallel()
	const calls = 10 // of searches, and as many pages; at $0.01 and $0.02
	items := strings.Repeat(`{"type":"web_search_call","id":"a","status":"completed","action":{"type":"search","query":"q"}},`+
		`{"type":"web_search_call","id":"b","status":"completed","action":{"type":"open_page","url":"https://example.com"}},`, calls)
	for _, members := range []string{``, `"max_tool_calls":0,`, `"max_turns":1,`} {
		var asked atomic.Int64
		up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"id":"r","object":"response","created_at":1,"status":"completed","model":"m","output":[%s`+
				`{"type":"message","id":"m","status":"completed","role":"assistant","content":[{"type":"output_text","annotations":[],"text":"Hi"}]}],`+
				`"usage":{"input_tokens":30,"output_tokens":10,"total_tokens":40}}`, items)
		}))
		t.Cleanup(up.Close)
		h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("deepseek", up.URL) + "    also: [responses]\n" +
			"prices:\n  deepseek/*: {input: \"0.001\", output: \"0.001\", search: \"0.01\", other_tool: \"0.02\"}\n"})
		const limit = 22 * llm.USD / 10
		h.SetBudget(limit, budget.PeriodTotal)
		ask := harness.Ask{Path: "/v1/responses", Body: `{"model":"deepseek/m",` + members + `"input":"Hi","tools":[{"type":"web_search"}]}`}
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range 4 {
					try(h, ask, 0)
				}
			})
		}
		all.Wait()
		truth := llm.Money(asked.Load()) * calls * 3 * llm.USD / 100
		t.Logf("%s asked %d times, the provider charges $%s of a budget of $%s", members, asked.Load(), truth, limit)
		if truth > limit || asked.Load() == 0 {
			t.Errorf("%s got %d requests, the provider charges $%s of a budget of $%s", members, asked.Load(), truth, limit)
		}
	}
}
