package budget_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"weir/internal/budget"
	"weir/internal/e2e/harness"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// seller serves a model at a price of its own, in pico-dollars a token.
type seller struct{ input, output int64 }

// market is a provider whose models others serve. It has the dearest of them serve a request within the request's
// highest price, if it obeys that, and records its total charge.
type market struct {
	sellers []seller
	obeys   bool // provider.max_price, as OpenRouter does
	tells   bool // reports its charge
	used    llm.Usage

	mu     sync.Mutex
	truth  llm.Money
	served int
	asked  int
}

func (m *market) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Content-Type", "application/json")
	m.mu.Lock()
	m.asked++
	m.mu.Unlock()
	cost := llm.Money(-1)
	for _, s := range m.sellers {
		if !m.obeys || below(s.input, body, "prompt") && below(s.output, body, "completion") {
			cost = max(cost, llm.Money((s.input*m.used[llm.Input]+s.output*m.used[llm.Output])/1000))
		}
	}
	if cost < 0 {
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"error":{"message":"No endpoints found that satisfy the max price for this request","code":404,`+
			`"metadata":{"failed_routing_step":"Filter by Max Price"}}}`)
		return
	}
	m.mu.Lock()
	m.truth += cost
	m.served++
	m.mu.Unlock()
	told := ""
	if m.tells {
		told = fmt.Sprintf(`,"cost":%s,"is_byok":false`, cost)
	}
	fmt.Fprintf(w, `{"id":"1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],`+
		`"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d%s}}`, m.used[llm.Input], m.used[llm.Output], m.used.TotalTokens(), told)
}

// below reports whether a price is below the highest that a body allows.
func below(pico int64, body []byte, name string) bool {
	highest := rawjson.Get(body, "provider", "max_price", name)
	if highest == nil {
		return true
	}
	rate, err := llm.ParseRate(string(highest))
	return err == nil && pico < rate
}

// TestSellersStayWithinBudget checks that no budget is exceeded by the true charge of a provider whose models others
// serve, each at a price of its own, or whose price is another seller's.
func TestSellersStayWithinBudget(t *testing.T) {
	t.Parallel()
	const deepseek, glm, azure = "openrouter/deepseek/deepseek-v4-pro", "openrouter/z-ai/glm-5.3-flash", "azure/gpt-5.6-sol"
	peak := []seller{{1_320_000, 3_960_000}}
	for _, tt := range []struct {
		name, model string
		config      string
		market      *market
		budget      llm.Money
		parallel    int
		each        int
		members     string // of the request
		asks        int    // the number of requests to the provider; 0 for any
		messages    bool   // uses Anthropic's format
		resells     bool   // is configured to resell
		serves      bool   // some requests are admitted
	}{
		{
			name: "a dearer seller, 20 at a time", model: deepseek, serves: true, market: &market{sellers: peak, obeys: true, tells: true},
			budget: 400_000_000, parallel: 20, each: 4,
		},
		{
			name: "a dearer seller, one at a time", model: deepseek, serves: true, market: &market{sellers: peak, obeys: true, tells: true},
			budget: 20_000_000, parallel: 1, each: 20,
		},
		{
			name: "a dearer seller, in another format", model: deepseek, serves: true, market: &market{sellers: peak, obeys: true, tells: true},
			budget: 400_000_000, parallel: 20, each: 4, messages: true,
		},
		{
			name: "a dearer seller, without room for its price", model: deepseek, asks: 2,
			market: &market{sellers: peak, obeys: true, tells: true}, budget: 10_000_000, parallel: 1, each: 1,
		},
		{
			name: "a seller beyond all that is tried", model: deepseek, asks: 5,
			market: &market{sellers: []seller{{8_000_000, 16_000_000}}, obeys: true, tells: true}, budget: llm.USD, parallel: 1, each: 1,
		},
		{
			name: "a dearer seller, which the client does not want", model: deepseek, members: `"provider":{"max_price":{"prompt":0.4,"completion":0.8}},`,
			asks: 1, market: &market{sellers: peak, obeys: true, tells: true}, budget: llm.USD, parallel: 1, each: 1,
		},
		{
			name: "a dearer seller beside a cheap one", model: deepseek, serves: true,
			market: &market{sellers: []seller{{435_000, 870_000}, {650_000, 1_300_000}, {1_320_000, 3_960_000}}, obeys: true, tells: true},
			budget: 20_000_000, parallel: 20, each: 2,
		},
		{
			name: "the same in another format", model: deepseek, serves: true, messages: true,
			market: &market{sellers: []seller{{435_000, 870_000}, {650_000, 1_300_000}, {1_320_000, 3_960_000}}, obeys: true, tells: true},
			budget: 20_000_000, parallel: 20, each: 2,
		},
		{
			name: "a dearer seller, as the operator allows", model: deepseek, serves: true, config: "pricing: {margin: 400}\n",
			market: &market{sellers: peak, obeys: true, tells: true}, budget: 100_000_000, parallel: 20, each: 2,
		},
		{
			name: "after a sale", model: glm, serves: true, market: &market{sellers: []seller{{150_000, 500_000}}, obeys: true, tells: true},
			budget: 50_000_000, parallel: 20, each: 4,
		},
		{
			name: "after a sale, as the operator allows", model: glm, serves: true, config: "pricing: {margin: 150}\n",
			market: &market{sellers: []seller{{150_000, 500_000}}, obeys: true, tells: true}, budget: 10_000_000, parallel: 20, each: 2,
		},
		{
			name: "Azure at its own price, one at a time", model: azure, serves: true,
			market: &market{sellers: []seller{{5_000_000, 30_000_000}}}, budget: 500_000_000, parallel: 1, each: 30,
		},
		{
			name: "Azure at its own price, 20 at a time", model: azure, serves: true,
			market: &market{sellers: []seller{{5_000_000, 30_000_000}}}, budget: 500_000_000, parallel: 20, each: 2,
		},
		{
			name: "another reseller, once it has told", model: "house/m", serves: true, config: "prices: {house/m: {input: \"0.435\", output: \"0.87\"}}\n",
			market: &market{sellers: peak, tells: true}, budget: 50_000_000, parallel: 20, each: 2,
		},
		{
			name: "another reseller, named as one", model: "house/m", serves: true, resells: true,
			config: "pricing: {margin: 400}\nprices: {house/m: {input: \"0.435\", output: \"0.87\"}}\n",
			market: &market{sellers: peak, tells: true}, budget: 50_000_000, parallel: 20, each: 2,
		},
		{
			name: "another reseller, named as one, without room for its price", model: "house/m", resells: true,
			config: "pricing: {margin: 400}\nprices: {house/m: {input: \"0.435\", output: \"0.87\"}}\n",
			market: &market{sellers: peak, tells: true}, budget: 5_000_000, parallel: 20, each: 1,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.market.used = llm.Usage{llm.Input: 200, llm.Output: 2000}
			if strings.HasPrefix(tt.model, "azure/") {
				tt.market.used[llm.Input] = 1000
			}
			up := httptest.NewServer(tt.market)
			defer up.Close()
			provider, _, _ := strings.Cut(tt.model, "/")
			yaml := tt.config + "providers:" + harness.ProviderYAML(provider, up.URL)
			if tt.resells {
				yaml += "    resells: true\n"
			}
			h := harness.Open(t, harness.Setup{YAML: yaml})
			a := chatOf(tt.model, tt.messages)
			a.Body = "{" + tt.members + a.Body[1:]
			if provider == "house" && !tt.resells { // its first charge is unbounded
				h.Do(a)
			}
			h.SetBudget(tt.budget, budget.PeriodTotal)
			before := tt.market.served
			refusals := make(chan string, tt.parallel*tt.each)
			var all sync.WaitGroup
			for range tt.parallel {
				all.Go(func() {
					for range tt.each {
						if r := h.Do(a); r.Status != http.StatusOK {
							refusals <- r.Body
						}
					}
				})
			}
			all.Wait()
			served := tt.market.served - before
			t.Logf("%d of %d let through, truly charged $%s of $%s: %.2f", served, tt.parallel*tt.each, tt.market.truth, tt.budget,
				float64(tt.market.truth)/float64(tt.budget))
			if tt.market.truth > tt.budget {
				t.Errorf("the provider charges $%s of a budget of $%s", tt.market.truth, tt.budget)
			}
			if (served > 0) != tt.serves {
				t.Errorf("%d requests were let through, want some: %t", served, tt.serves)
			}
			if tt.asks > 0 && tt.market.asked != tt.asks {
				t.Errorf("the provider got %d requests, want %d", tt.market.asked, tt.asks)
			}
			close(refusals)
			said := false
			for why := range refusals {
				said = said || strings.Contains(why, "under prices")
			}
			if !said && !tt.serves && !tt.resells {
				t.Error("no refusal has the remedy, which is a price of the operator's")
			}
			h.Verify(t)
		})
	}
}

// chatOf requests up to 2,000 tokens about 800 bytes of text.
func chatOf(model string, messages bool) harness.Ask {
	text := strings.Repeat("budget ", 150)
	if messages {
		return harness.Ask{Path: "/v1/messages", Body: `{"model":"` + model + `","max_tokens":2000,"messages":[{"role":"user","content":"` + text + `"}]}`}
	}
	return harness.Ask{Path: "/v1/chat/completions", Body: `{"model":"` + model + `","max_completion_tokens":2000,"messages":[{"role":"user","content":"` + text + `"}]}`}
}

// TestHighestPriceOfTheClient checks the highest price that a reseller receives under a budget: the held one, or the
// client's if that is lower; without a budget the client's unchanged, or none.
func TestHighestPriceOfTheClient(t *testing.T) {
	t.Parallel()
	var last []byte
	var mu sync.Mutex
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		last, _ = io.ReadAll(r.Body)
		mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, harness.Answered(harness.Thousand))
	}))
	defer up.Close()
	const yaml = "prices: {\"openrouter/*\": {input: \"2\", output: \"8\", request: \"0.01\"}}\nproviders:"
	h := harness.Open(t, harness.Setup{YAML: yaml + harness.ProviderYAML("openrouter", up.URL)})
	const ours = `{"prompt":3,"completion":12,"request":0.015}`
	for _, budgeted := range []bool{false, true} {
		if budgeted {
			h.SetBudget(1000*llm.USD, budget.PeriodTotal)
		}
		for _, c := range []struct{ client, want string }{
			{"", ours},
			{`"provider":null,`, ours},
			{`"provider":{},`, ours},
			{`"provider":{"max_price":{}},`, ours},
			{`"provider":{"max_price":{"prompt":1}},`, `{"prompt":1,"completion":12,"request":0.015}`},
			{`"provider":{"max_price":{"prompt":"1e-1","completion":99,"image":2}},`, `{"prompt":"1e-1","completion":12,"request":0.015,"image":2}`},
			{`"provider":{"max_price":{"prompt":"dear"}},`, ""},
			{`"provider":{"max_price":{"prompt":-1}},`, ""},
			{`"provider":{"max_price":{"completion":"0"}},`, ""},
			{`"provider":{"max_price":{"image":-1}},`, ""},
			{`"provider":{"max_price":{"prompt":1},"only":["dear"]},`, ""},
			{`"provider":{"sort":"throughput"},`, ""},
			{`"Provider":{"max_price":{"prompt":1}},`, ""},
		} {
			mu.Lock()
			last = nil
			mu.Unlock()
			r := h.Do(harness.Ask{Path: "/v1/chat/completions", Body: `{` + c.client + `"model":"openrouter/x/y","max_tokens":9,"messages":[{"role":"user","content":"Hi"}]}`})
			mu.Lock()
			got := string(rawjson.Get(last, "provider", "max_price"))
			mu.Unlock()
			switch {
			case !budgeted && c.want != "":
				if sent := string(rawjson.Get([]byte("{"+strings.TrimSuffix(c.client, ",")+"}"), "provider", "max_price")); r.Status != http.StatusOK || got != sent {
					t.Errorf("without a budget, %s: status %d, sent %s, want it unchanged", c.client, r.Status, got)
				}
			case budgeted && (r.Status != http.StatusOK) != (c.want == ""), budgeted && got != c.want:
				t.Errorf("under a budget, %s: status %d, sent %s, want %s", c.client, r.Status, got, c.want)
			}
		}
	}
}

// TestRowsSayMargin checks that the row of each attempt at a reseller has its possible charge, and that those that
// nobody served cost nothing.
func TestRowsSayMargin(t *testing.T) {
	t.Parallel()
	up := httptest.NewServer(&market{
		sellers: []seller{{1_320_000, 3_960_000}}, obeys: true, tells: true, used: llm.Usage{llm.Input: 200, llm.Output: 2000},
	})
	defer up.Close()
	h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("openrouter", up.URL)})
	h.SetBudget(llm.USD, budget.PeriodTotal)
	a := chatOf("openrouter/deepseek/deepseek-v4-pro", false)
	for i, want := range [][]string{{"1500 0", "3000 0", "6000 0.008184"}, {"5000 0.008184"}} {
		r := h.Do(a)
		var got []string
		for _, row := range h.CountedRows(t, r) {
			_, margin, _ := strings.Cut(row.Price, "~")
			got = append(got, margin+" "+row.Cost)
		}
		if !slices.Equal(got, want) {
			t.Errorf("request %d: margins and costs %q, want %q", i, got, want)
		}
	}
	h.Verify(t)
}
