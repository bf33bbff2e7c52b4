package budget_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"weir/internal/budget"
	"weir/internal/e2e/harness"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// TestFreeModelNeedsNoRoom checks that a free model works when the budget is spent, and that one with a price for a
// class, or an unknown one, does not.
func TestFreeModelNeedsNoRoom(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("house", up.URL) + `prices:
  house/chat: {input: "0", output: "0"}
  house/chat:tokens=3: {input: "0", output: "0.001"}
  house/chat:tokens=4: {input: "0", output: "0", request: "0.01"}
  house/chat:tokens=1: {input: "0", output: "0", request: "1"}
default_model: house/chat
`})
	h.SetBudget(llm.USD, budget.PeriodTotal)
	if r := h.Chat("house/chat:tokens=1"); r.Status != 200 {
		t.Fatalf("the request that spends the budget: %d %s", r.Status, r.Body)
	}
	for _, tt := range []struct {
		name, model, members string
		want                 int
	}{
		{"free", "house/chat", ``, 200},
		{"free, with a cap", "house/chat", `"max_tokens":5,`, 200},
		{"free, as a stream", "house/chat", `"stream":true,`, 200},
		{"free, with a search that has no price", "house/chat", `"web_search_options":{},`, 403},
		{"free input alone", "house/chat:tokens=3", ``, 429},
		{"free tokens and a fee", "house/chat:tokens=4", ``, 429},
		{"a price", "house/chat:tokens=1", ``, 429},
	} {
		body := `{"model":"` + tt.model + `",` + tt.members + `"messages":[{"role":"user","content":"Hi"}]}`
		if r := h.Do(harness.Ask{Path: "/v1/chat/completions", Body: body}); r.Status != tt.want {
			t.Errorf("%s: got %d %s, want %d", tt.name, r.Status, r.Body, tt.want)
		}
	}
	if err := h.Stop(); err != nil {
		t.Fatal(err)
	}
	h.Verify(t)
	if got := spent(h, t); got != llm.USD {
		t.Errorf("spent $%s of a budget of $1, want $1", got)
	}
}

// TestSonarInBudget checks that Perplexity's models with a fee for each request that includes its search are served
// under a budget, for any amount of web pages, and that the provider's charge stays within it; and that searches with
// separate charges are held.
func TestSonarInBudget(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		model, members string
		budget, fee    llm.Money // the true cost of each request
		want           bool      // some are served
	}{
		{"sonar", ``, llm.USD / 10, 12 * llm.USD / 1000, true},
		{"sonar", `"web_search_options":{"search_context_size":"high"},`, llm.USD / 10, 12 * llm.USD / 1000, true},
		{"sonar-pro", `"web_search_options":{"search_type":"fast"},`, llm.USD / 5, 14 * llm.USD / 1000, true},
		{"sonar-reasoning-pro", ``, llm.USD / 5, 14 * llm.USD / 1000, true},
		{"sonar-pro", `"web_search_options":{"search_type":"pro"},`, 1000 * llm.USD, 0, false},
		{"sonar-deep-research", ``, llm.USD / 2, 0, false},
	} {
		var asked atomic.Int64
		up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"id":"c","object":"chat.completion","created":1,"model":"`+tt.model+`","choices":[{"index":0,"message":`+
				`{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":100,`+
				`"total_tokens":105,"search_context_size":"high"}}`)
		}))
		t.Cleanup(up.Close)
		h := harness.Open(t, harness.Setup{YAML: "providers:" + strings.Replace(harness.ProviderYAML("perplexity", up.URL), "/v1\n", "\n", 1)})
		h.SetBudget(tt.budget, budget.PeriodTotal)
		ask := harness.Ask{Path: "/v1/chat/completions", Body: `{"model":"perplexity/` + tt.model + `",` + tt.members + `"max_tokens":100,"messages":[{"role":"user","content":"Hi"}]}`}
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range 5 {
					try(h, ask, 0)
				}
			})
		}
		all.Wait()
		truth := llm.Money(asked.Load()) * tt.fee
		t.Logf("%s %s: %d of 40, fees of $%s of a budget of $%s", tt.model, tt.members, asked.Load(), truth, tt.budget)
		if (asked.Load() > 0) != tt.want || truth > tt.budget {
			t.Errorf("%s %s: %d of 40, fees of $%s of a budget of $%s, served at all: want %t", tt.model, tt.members, asked.Load(), truth, tt.budget, tt.want)
		}
	}
}

// searcher is a provider that searches the web as often as a request permits, and reads the same amount for each
// search.
type searcher struct {
	asked  atomic.Int64
	caps   atomic.Int64 // requests with a cap on calls
	charge atomic.Int64 // nano-dollars: $2.50 a million tokens, $0.01 a search
	most   int64        // searches of a request without a cap
	found  int64        // tokens for each
}

func (s *searcher) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.asked.Add(1)
	body, _ := io.ReadAll(r.Body)
	calls := s.most
	if n, ok := rawjson.AsInt(rawjson.Get(body, "max_tool_calls")); ok {
		s.caps.Add(1)
		calls = min(calls, n)
	}
	input := int64(0)
	for i := range calls + 1 { // each reads the maximum
		input += 100 + i*s.found
	}
	s.charge.Add(input*2500 + calls*10_000_000)
	w.Header().Set("Content-Type", "application/json")
	call := `{"type":"web_search_call","id":"a","status":"completed","action":{"type":"search","query":"q"}},`
	fmt.Fprintf(w, `{"id":"r","object":"response","created_at":1,"status":"completed","model":"m","output":[%s`+
		`{"type":"message","id":"m","status":"completed","role":"assistant","content":[{"type":"output_text","annotations":[],"text":"Hi"}]}],`+
		`"usage":{"input_tokens":%d,"output_tokens":10,"total_tokens":%d}}`, strings.Repeat(call, int(calls)), input, input+10)
}

// TestSearchesInBudget checks that web searches with a usual cost below a tenth of the budget are served, and that the
// provider's charge stays within it: with a cap of the gateway's own if the client set none.
func TestSearchesInBudget(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, members, more string
		budget              llm.Money
		most, found         int64
		capped              bool // by the gateway
	}{
		{"three searches at most", `"max_tool_calls":3,`, ``, 2 * llm.USD, 9, 8000, false},
		{"no number", ``, ``, 2 * llm.USD, 30, 8000, true},
		{"all that fits", ``, ``, 3 * llm.USD, 30, 12_000, true},
		{"the usual", ``, "pricing: {tools: usual}\n", llm.USD, 3, 8000, true},
	} {
		up := &searcher{most: tt.most, found: tt.found}
		server := httptest.NewServer(up)
		t.Cleanup(server.Close)
		h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("openai", server.URL) + "    also: [responses]\n" + tt.more +
			"models:\n  openai/gpt-x: {context: 1050000, max_output: 128000}\nprices:\n  openai/gpt-x: {input: \"2.5\", output: \"15\", search: \"0.01\"}\n"})
		h.SetBudget(tt.budget, budget.PeriodTotal)
		ask := harness.Ask{Path: "/v1/responses", Body: `{"model":"openai/gpt-x",` + tt.members + `"max_output_tokens":500,"input":"Hi","tools":[{"type":"web_search"}]}`}
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for range 5 {
					try(h, ask, 0)
				}
			})
		}
		all.Wait()
		asked, truth := up.asked.Load(), llm.Money(up.charge.Load())
		t.Logf("%s: asked %d times, $%s of a budget of $%s", tt.name, asked, truth, tt.budget)
		if asked == 0 || truth > tt.budget || (up.caps.Load() == asked) != (tt.capped || tt.members != "") {
			t.Errorf("%s: got %d requests, %d with a cap, $%s of a budget of $%s", tt.name, asked, up.caps.Load(), truth, tt.budget)
		}
	}
}
