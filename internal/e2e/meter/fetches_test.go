package meter_test

import (
	"net/http"
	"strings"
	"testing"

	"weir/internal/budget"
	"weir/internal/e2e/harness"
	"weir/internal/ledger"
	"weir/internal/llm"
)

// Replies of a model that searched once and opened two pages. A page that failed to open and a text search in a page
// are no fetches.
const (
	chatFetched = `{"id":"1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],` +
		`"usage":{"prompt_tokens":30,"completion_tokens":10,"total_tokens":40,"server_tool_use":{"web_search_requests":1,"web_fetch_requests":2}}}`
	responsesFetched = `{"id":"r","object":"response","created_at":1,"status":"completed","model":"m","output":[` +
		`{"type":"web_search_call","id":"a","status":"completed","action":{"type":"search","query":"q"}},` +
		`{"type":"web_search_call","id":"b","status":"completed","action":{"type":"open_page","url":"https://example.com/1"}},` +
		`{"type":"web_search_call","id":"c","status":"completed","action":{"type":"open_page","url":"https://example.com/2"}},` +
		`{"type":"web_search_call","id":"d","status":"failed","action":{"type":"open_page","url":"https://example.com/3"}},` +
		`{"type":"web_search_call","id":"e","status":"completed","action":{"type":"find_in_page","pattern":"p"}},` +
		`{"type":"message","id":"m","status":"completed","role":"assistant","content":[{"type":"output_text","annotations":[],"text":"Hi"}]}],` +
		`"usage":{"input_tokens":30,"output_tokens":10,"total_tokens":40}}`
	messagesFetched = `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn",` +
		`"usage":{"input_tokens":30,"output_tokens":10,"server_tool_use":{"web_search_requests":1,"web_fetch_requests":2}}}`
)

// TestFetchesAreCharged checks that fetched pages are charged if, and only if, the provider charges for them, in each
// of its wire formats.
func TestFetchesAreCharged(t *testing.T) {
	t.Parallel()
	const tokens = 200_000 // nano-dollars of 30 tokens in and 10 out, at $3 and $11 a million
	for _, c := range []struct {
		name, provider, dialect, path, reply, price string
		fetches                                     int64
		cost                                        llm.Money
		unpriced                                    bool
	}{
		{"chat", "deepseek", "openai", "/v1/chat/completions", chatFetched, `search: "0.01", other_tool: "0.02"`, 2, tokens + 50_000_000, false},
		{"responses beside chat", "deepseek", "openai", "/v1/responses", responsesFetched, `search: "0.01", other_tool: "0.02"`, 2, tokens + 50_000_000, false},
		{"responses", "deepseek", "responses", "/v1/responses", responsesFetched, `search: "0.01", other_tool: "0.02"`, 2, tokens + 50_000_000, false},
		{"messages", "deepseek", "anthropic", "/v1/messages", messagesFetched, `search: "0.01", other_tool: "0.02"`, 2, tokens + 50_000_000, false},
		{"without a price", "deepseek", "openai", "/v1/responses", responsesFetched, `search: "0.01"`, 2, tokens + 10_000_000, true},
		{"free of charge, chat", "house", "openai", "/v1/chat/completions", chatFetched, `search: "0.01", other_tool: "0.02"`, 0, tokens + 10_000_000, false},
		{"free of charge, responses", "house", "openai", "/v1/responses", responsesFetched, `search: "0.01", other_tool: "0.02"`, 0, tokens + 10_000_000, false},
		{"free of charge, messages", "house", "anthropic", "/v1/messages", messagesFetched, `search: "0.01", other_tool: "0.02"`, 0, tokens + 10_000_000, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			provider := harness.ProviderYAML(c.provider, answering(t, http.StatusOK, c.reply).URL)
			provider = strings.Replace(provider, "dialect: openai", "dialect: "+c.dialect, 1)
			if c.dialect == "openai" {
				provider += "    also: [responses]\n"
			}
			h := harness.Open(t, harness.Setup{YAML: "providers:" + provider + "prices:\n  " + c.provider + `/*: {input: "3", output: "11", ` + c.price + "}\n"})
			r := h.Do(harness.Ask{Path: c.path, Body: fetching(c.provider+"/m", c.path)})
			e := h.Entry(t, r.Header.Get("X-Request-Id"))
			if r.Status != http.StatusOK || e.Usage[llm.Searches] != 1 || e.Usage[llm.OtherTools] != c.fetches || e.Cost != c.cost || e.Unpriced.Has(llm.OtherTools) != c.unpriced {
				t.Errorf("status %d, %d searches and %d fetches for $%s, without a price %v; want 1 and %d for $%s, without a price: %t\n%s",
					r.Status, e.Usage[llm.Searches], e.Usage[llm.OtherTools], e.Cost, e.Unpriced.Names(), c.fetches, c.cost, c.unpriced, r.Body)
			}
			if e.Provenance != ledger.Exact {
				t.Errorf("the row is %s", e.Provenance)
			}
			h.SetBudget(1000*llm.USD, budget.PeriodTotal)
			if r := h.Do(harness.Ask{Path: c.path, Body: fetching(c.provider+"/m", c.path)}); (r.Status != http.StatusOK) != c.unpriced {
				t.Errorf("under a budget the status is %d, refused: %t\n%s", r.Status, c.unpriced, r.Body)
			}
		})
	}
}

// fetching builds a request whose provider may search the web.
func fetching(model, path string) string {
	switch path {
	case "/v1/responses":
		return `{"model":"` + model + `","input":"Hi","tools":[{"type":"web_search"}]}`
	case "/v1/messages":
		return `{"model":"` + model + `","max_tokens":99,"messages":[{"role":"user","content":"Hi"}],"tools":[{"type":"web_search_20250305","name":"web_search"}]}`
	}
	return `{"model":"` + model + `","messages":[{"role":"user","content":"Hi"}],"tools":[{"type":"web_search"}]}`
}
