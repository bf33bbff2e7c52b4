package budget_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"weir/internal/budget"
	"weir/internal/e2e/harness"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// charges holds a provider's charge for a request whose model searches by itself, by its price page.
type charges struct {
	input, output int64     // nano-dollars a token
	fee           llm.Money // for a search
	searches      int64     // if the request has no cap
	found         int64     // tokens that each search brings, which are charged for as input
	reasoned      llm.Money // for unreported thinking
}

// of returns the cost of a request with that cap on its searches, and its input tokens.
func (c *charges) of(searches int64) (cost llm.Money, input int64) {
	for i := range searches + 1 { // after each it reads the maximum
		input += 100 + i*c.found
	}
	return llm.Money(input*c.input+300*c.output) + llm.Money(searches)*c.fee + c.reasoned, input
}

// searches is a provider that records its charges. It obeys the caps that its vendor documents.
type searches struct {
	charges

	mu    sync.Mutex
	truth llm.Money
	asked int
	// searched counts requests with a tool that searches.
	searched int
}

func (s *searches) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	n := s.searches
	if most, ok := rawjson.AsInt(rawjson.Get(body, "max_tool_calls")); ok {
		n = min(n, most)
	}
	for _, tool := range rawjson.Elements(rawjson.Get(body, "tools")) {
		if most, ok := rawjson.AsInt(rawjson.Get(tool, "max_uses")); ok {
			n = min(n, most)
		}
	}
	cost, input := s.of(n)
	s.mu.Lock()
	s.truth += cost
	s.asked++
	if tools := strings.ToLower(string(rawjson.Get(body, "tools"))); strings.Contains(tools, "web_search") || strings.Contains(tools, "search\"") {
		s.searched++
	}
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case strings.HasSuffix(r.URL.Path, "/messages"):
		fmt.Fprintf(w, `{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn",`+
			`"usage":{"input_tokens":%d,"output_tokens":300,"server_tool_use":{"web_search_requests":%d}}}`, input, n)
	case strings.HasSuffix(r.URL.Path, "/responses"):
		call := `{"type":"web_search_call","id":"a","status":"completed","action":{"type":"search","query":"q"}},`
		fmt.Fprintf(w, `{"id":"r","object":"response","created_at":1,"status":"completed","model":"m","output":[%s{"type":"message","id":"m",`+
			`"status":"completed","role":"assistant","content":[{"type":"output_text","annotations":[],"text":"Hi"}]}],`+
			`"usage":{"input_tokens":%d,"output_tokens":300,"total_tokens":%d}}`, strings.Repeat(call, int(n)), input, input+300)
	case strings.HasSuffix(r.URL.Path, ":generateContent"):
		queries := make([]string, n)
		for i := range queries {
			queries[i] = fmt.Sprintf("%q", fmt.Sprint("query ", i))
		}
		fmt.Fprintf(w, `{"candidates":[{"content":{"role":"model","parts":[{"text":"Hi"}]},"finishReason":"STOP","groundingMetadata":{"webSearchQueries":[%s]}}],`+
			`"usageMetadata":{"promptTokenCount":%d,"candidatesTokenCount":300,"totalTokenCount":%d}}`, strings.Join(queries, ","), input, input+300)
	default:
		fmt.Fprintf(w, `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},`+
			`"finish_reason":"stop"}],"usage":{"prompt_tokens":%d,"completion_tokens":300,"total_tokens":%d,"num_search_queries":%d,"cost":{"total_cost":%s}}}`, input, input+300, n, cost)
	}
}

// bodies has requests by wire format, with members of the tool or of the request in place of "%s".
var bodies = map[string]string{
	"responses": `{"model":"MODEL",%s"max_output_tokens":500,"input":"Hi","tools":[{"type":"web_search"}]}`,
	"anthropic": `{"model":"MODEL","max_tokens":500,"tools":[{%s"type":"web_search_20250305","name":"web_search"}],"messages":[{"role":"user","content":"Hi"}]}`,
	"gemini":    `{%s"contents":[{"role":"user","parts":[{"text":"Hi"}]}],"tools":[{"google_search":{}}],"generationConfig":{"maxOutputTokens":500}}`,
	"openai":    `{"model":"MODEL",%s"max_tokens":500,"messages":[{"role":"user","content":"Hi"}]}`,
}

// TestSearchesOfVendors checks by the provider's charge that no budget is exceeded by models that search the web, and
// which budgets permit such a request: with pricing.tools: usual all those of ten times its usual cost do, and a
// refusal without it says so. The rows are those of the table in docs/holds-evidence.md.
func TestSearchesOfVendors(t *testing.T) {
	t.Parallel()
	openai := charges{input: 2000, output: 10_000, fee: 10_000_000, searches: 1, found: 8000}
	older := charges{input: 2500, output: 15_000, fee: 10_000_000, searches: 3, found: 8000}
	sonnet := charges{input: 2000, output: 10_000, fee: 10_000_000, searches: 3, found: 8000}
	haiku := charges{input: 1000, output: 5000, fee: 10_000_000, searches: 1, found: 8000}
	grok := charges{input: 2000, output: 6000, fee: 5_000_000, searches: 1, found: 8000}
	gemini := charges{input: 750, output: 3750, fee: 14_000_000, searches: 2}
	research := charges{input: 2000, output: 8000, fee: 5_000_000, searches: 21, reasoned: 316_000_000}
	for _, tt := range []struct {
		model, wire, members string
		charges              charges
		times                int64 // of its usual cost is the budget
		bound, usual         bool  // some are admitted: by default, and with the setting
	}{
		{"openai/gpt-6.1-sol", "responses", ``, openai, 10, false, true},
		{"openai/gpt-6.1-sol", "responses", ``, openai, 20, true, true},
		{"openai/gpt-5.4", "responses", `"max_tool_calls":3,`, older, 10, false, true},
		{"openai/gpt-5.4", "responses", `"max_tool_calls":3,`, older, 15, true, true},
		{"anthropic/claude-sonnet-5-5", "anthropic", `"max_uses":3,`, sonnet, 10, false, true},
		{"anthropic/claude-sonnet-5-5", "anthropic", ``, sonnet, 10, false, true},
		{"anthropic/claude-haiku-4-5", "anthropic", `"max_uses":1,`, haiku, 10, false, true},
		{"anthropic/claude-haiku-4-5", "anthropic", ``, haiku, 10, false, true},
		{"anthropic/claude-haiku-4-5", "anthropic", ``, haiku, 30, true, true},
		{"xai/grok-4.7", "responses", ``, grok, 10, false, true},
		{"gemini/gemini-3.8-flash", "gemini", ``, gemini, 10, false, true},
		{"perplexity/sonar-deep-research", "openai", ``, research, 1, false, false},
		{"perplexity/sonar-deep-research", "openai", ``, research, 10, true, true},
	} {
		for _, usual := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s %s %d times %t", tt.model, tt.members, tt.times, usual), func(t *testing.T) {
				t.Parallel()
				cost, _ := tt.charges.of(tt.charges.searches)
				limit := llm.Money(tt.times) * cost
				up := &searches{charges: tt.charges}
				server := httptest.NewServer(up)
				defer server.Close()
				h := harness.Open(t, harness.Setup{YAML: searchesYAML(tt.model, tt.wire, server.URL, usual)})
				h.SetBudget(limit, budget.PeriodTotal)
				ask := harness.Ask{Path: searchPaths[tt.wire], Body: strings.Replace(fmt.Sprintf(bodies[tt.wire], tt.members), "MODEL", tt.model, 1)}
				ask.Path = strings.Replace(ask.Path, "MODEL", tt.model, 1)
				refusal := make(chan string, 40)
				var all sync.WaitGroup
				for range 4 {
					all.Go(func() {
						for range 10 {
							if r := h.Do(ask); r.Status != http.StatusOK {
								refusal <- r.Body
							}
						}
					})
				}
				all.Wait()
				close(refusal)
				t.Logf("usual cost $%s, budget $%s: %d of 40, truly $%s, %.2f; first refusal %s", cost, limit, up.asked, up.truth, float64(up.truth)/float64(limit), <-refusal)
				want := tt.bound && !usual || tt.usual && usual
				if (up.asked > 0) != want || up.truth > limit {
					t.Errorf("%d were let through, want some: %t; truly charged $%s of a budget of $%s", up.asked, want, up.truth, limit)
				}
				for why := range refusal {
					if said := strings.Contains(why, "pricing.tools"); said != (!usual && tt.usual) && (said || want != tt.usual) {
						t.Errorf("the refusal has the remedy: %t: %s", said, why)
						break
					}
				}
				h.Verify(t)
			})
		}
	}
}

// TestSearchesAcrossFormats checks the same for searches that clients request in another wire format than the
// provider's.
func TestSearchesAcrossFormats(t *testing.T) {
	t.Parallel()
	openai := charges{input: 2000, output: 10_000, fee: 10_000_000, searches: 4, found: 8000}
	haiku := charges{input: 1000, output: 5000, fee: 10_000_000, searches: 3, found: 8000}
	gemini := charges{input: 750, output: 3750, fee: 14_000_000, searches: 2}
	grok := charges{input: 2000, output: 6000, fee: 5_000_000, searches: 1, found: 8000}
	groq := charges{input: 150, output: 600, fee: 5_000_000, searches: 3, found: 8000}
	for _, tt := range []struct {
		client, members string
		model, wire     string
		charges         charges
	}{
		{"anthropic", ``, "openai/gpt-6.1-sol", "responses", openai},
		{"anthropic", `"max_uses":2,`, "openai/gpt-6.1-sol", "responses", openai},
		{"gemini", ``, "openai/gpt-6.1-sol", "responses", openai},
		{"anthropic", ``, "openai/gpt-4.1", "responses", openai}, // all other requests use Chat Completions
		{"gemini", ``, "xai/grok-4.7", "responses", grok},
		{"responses", ``, "anthropic/claude-haiku-4-5", "anthropic", haiku},
		{"responses", `"max_tool_calls":1,`, "anthropic/claude-haiku-4-5", "anthropic", haiku},
		{"gemini", ``, "anthropic/claude-haiku-4-5", "anthropic", haiku},
		{"openai", `"web_search_options":{},`, "anthropic/claude-haiku-4-5", "anthropic", haiku},
		{"openai", `"web_search_options":{},`, "gemini/gemini-3.8-flash", "gemini", gemini},
		{"openai", `"web_search_options":{},`, "openai/gpt-6.1-sol", "responses", openai}, // its chats search only with models of their own
		{"openai", `"search_domain_filter":["-b.example"],`, "openai/gpt-6.1-sol", "responses", openai},
		{"openai", `"search_parameters":{"sources":[{"type":"web","excluded_websites":["b.example"]}]},`, "xai/grok-4.7", "responses", grok},
		{"openai", `"plugins":[{"id":"web","include_domains":["a.example"]}],`, "anthropic/claude-haiku-4-5", "anthropic", haiku},
		{"anthropic", ``, "groq/openai/gpt-oss-120b", "openai", groq},
		{"responses", ``, "gemini/gemini-3.8-flash", "gemini", gemini},
		{"anthropic", ``, "gemini/gemini-3.8-flash", "gemini", gemini},
	} {
		for _, usual := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s to %s %s %t", tt.client, tt.model, tt.members, usual), func(t *testing.T) {
				t.Parallel()
				cost, _ := tt.charges.of(tt.charges.searches)
				limit := 40 * cost
				up := &searches{charges: tt.charges}
				server := httptest.NewServer(up)
				defer server.Close()
				h := harness.Open(t, harness.Setup{YAML: searchesYAML(tt.model, tt.wire, server.URL, usual)})
				h.SetBudget(limit, budget.PeriodTotal)
				ask := harness.Ask{Path: searchPaths[tt.client], Body: strings.Replace(fmt.Sprintf(bodies[tt.client], tt.members), "MODEL", tt.model, 1)}
				ask.Path = strings.Replace(ask.Path, "MODEL", tt.model, 1)
				var last string
				for range 60 {
					last = h.Do(ask).Body
				}
				t.Logf("usual cost $%s, budget $%s: %d of 60, truly $%s; last answer %s", cost, limit, up.asked, up.truth, last)
				if up.truth > limit || usual && up.asked == 0 {
					t.Errorf("%d were let through, truly charged $%s of a budget of $%s", up.asked, up.truth, limit)
				}
				if up.asked > 0 && up.searched == 0 {
					t.Errorf("the provider never got a request for a search")
				}
				h.Verify(t)
			})
		}
	}
}

// TestSearchesOfRouterNeedPrice checks that a search at OpenRouter, which no list prices, is made without a budget,
// refused under one, and permitted if the operator sets a price, which then bounds the budget.
func TestSearchesOfRouterNeedPrice(t *testing.T) {
	t.Parallel()
	router := charges{input: 250, output: 2000, fee: 7_000_000, searches: 2}
	for _, tt := range []struct {
		name, search string // in the price
		budgeted     bool
		asked        bool
	}{
		{"no price, no budget", ``, false, true},
		{"no price", ``, true, false},
		{"a price", `, search: "0.007"`, true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cost, _ := router.of(router.searches)
			up := &searches{charges: router}
			server := httptest.NewServer(up)
			defer server.Close()
			const model = "openrouter/deepseek/deepseek-chat"
			h := harness.Open(t, harness.Setup{YAML: searchesYAML(model, "openai", server.URL, false) +
				"prices:\n  openrouter/*: {input: \"0.25\", output: \"2\"" + tt.search + "}\n"})
			limit := 200 * cost
			if tt.budgeted {
				h.SetBudget(limit, budget.PeriodTotal)
			}
			ask := harness.Ask{Path: "/v1/messages", Body: strings.Replace(fmt.Sprintf(bodies["anthropic"], `"max_uses":2,`), "MODEL", model, 1)}
			var last string
			for range 250 {
				last = h.Do(ask).Body
			}
			t.Logf("%d of 250, truly $%s of $%s; last answer %s", up.asked, up.truth, limit, last)
			if (up.asked > 0) != tt.asked || up.searched != up.asked || tt.budgeted && up.truth > limit {
				t.Errorf("%d requests, %d of them with a search, truly $%s of $%s; want some: %t", up.asked, up.searched, up.truth, limit, tt.asked)
			}
			h.Verify(t)
		})
	}
}

// searchPaths has the paths of requests by wire format.
var searchPaths = map[string]string{
	"responses": "/v1/responses", "anthropic": "/v1/messages", "gemini": "/v1beta/models/MODEL:generateContent", "openai": "/v1/chat/completions",
}

// searchesYAML configures a provider of the catalogue at an address of the test's, with its own wire format.
func searchesYAML(model, wire, url string, usual bool) string {
	name, _, _ := strings.Cut(model, "/")
	provider := harness.ProviderYAML(name, url)
	switch wire {
	case "responses":
		provider = strings.Replace(provider, "dialect: openai", "dialect: openai\n    also: [responses]", 1)
	case "gemini":
		provider = strings.Replace(strings.Replace(provider, "dialect: openai", "dialect: gemini", 1), "/v1\n", "/v1beta\n", 1)
	default:
		provider = strings.Replace(provider, "dialect: openai", "dialect: "+wire, 1)
	}
	if usual {
		provider += "pricing: {tools: usual}\n"
	}
	return "providers:" + provider
}
