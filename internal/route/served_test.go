package route_test

import (
	"testing"
	"time"

	"weir/internal/dialect/registry/registrytest"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/pricing"
	"weir/internal/provider"
	"weir/internal/route"
)

// TestDowngradedAnswerHasPriceOfServedModel compares the price of an answer by a cheaper model with that model's own, at
// vendors with their embedded prices. The controls are a dated name of the requested model, and a model without a price.
func TestDowngradedAnswerHasPriceOfServedModel(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	book := must.Get(pricing.NewBook(pricing.Overrides{}))(t)
	for _, test := range []struct{ vendor, asked, served, dated string }{
		{"openai", "gpt-5", "gpt-5-mini-2025-08-07", "gpt-5-2025-08-07"},
		{"anthropic", "claude-opus-4-1", "claude-haiku-4-5-20251001", "claude-opus-4-1-20250805"},
		{"gemini", "gemini-2.5-pro", "gemini-2.5-flash", "models/gemini-2.5-pro"},
		{"deepseek", "deepseek-v4-pro", "deepseek-v4-flash", "deepseek-v4-pro"},
		{"mistral", "mistral-large-latest", "mistral-small-2603", "mistral-large-2512"},
		{"xai", "grok-4.7", "grok-4.3", "grok-4.7"},
		{"groq", "llama-3.3-70b-versatile", "llama-3.1-8b-instant", "llama-3.3-70b-versatile"},
		{"openrouter", "anthropic/claude-sonnet-4.5", "anthropic/claude-4.5-haiku-20251001", "anthropic/claude-4.5-sonnet-20250929"},
	} {
		p := must.Get(provider.New(provider.Options{
			Name: test.vendor, Dialect: registrytest.All()[1], BaseURL: "https://api.example.com/v1",
		}))(t)
		t.Cleanup(p.Close)
		table := must.Get(route.NewTable(route.Options{Providers: []*provider.Provider{p}, Book: book}))(t)
		target := must.Get(table.Targets(nil, test.vendor+"/"+test.asked, ""))(t)[0]
		own, want := book.Price(test.vendor, test.asked, now), book.Price(test.vendor, test.served, now)
		if !own.Known() || !want.Known() || cost(&want) >= cost(&own) {
			t.Errorf("%s: %s costs %s and %s %s for a million tokens, want two prices, and the second lower", test.vendor,
				test.asked, cost(&own), test.served, cost(&want))
		}
		other, got := target.Served(table, test.served, now)
		if !other || got == nil || got.Version != want.Version {
			t.Errorf("%s: %s for %s is another model %t, at %+v, want true and %s", test.vendor, test.served, test.asked, other,
				got, want.Version)
		}
		if other, got := target.Served(table, test.dated, now); other || got != nil && own.Basis == llm.BasisModel {
			t.Errorf("%s: %s for %s is another model %t, at %+v, want false and its own price", test.vendor, test.dated,
				test.asked, other, got)
		}
		if other, got := target.Served(table, "unheard-of", now); !other || got != nil {
			t.Errorf("%s: an unknown model is another one %t, at %+v, want true and no price", test.vendor, other, got)
		}
	}
}

// cost returns the cost of a million tokens of input.
func cost(p *llm.Price) llm.Money { return p.Cost(&llm.Usage{llm.Input: 1_000_000}, "") }

// TestSelfHostedServerNamesItsModelItself checks that no name in an answer of the operator's own server is of another
// model, and that its price counts only if the requested name has none. The control is the same server of a vendor.
func TestSelfHostedServerNamesItsModelItself(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	book := must.Get(pricing.NewBook(pricing.Overrides{Prices: map[string]pricing.PriceOverride{
		"vllm/first": {"input": "3"}, "vllm/priced": {"input": "5"},
	}}))(t)
	for _, test := range []struct {
		asked      string
		selfHosted bool
		other      bool
		price      string // per million tokens; empty to keep that of the requested model
	}{
		{"priced", true, false, ""},
		{"second", true, false, "3"},
		{"priced", false, true, "3"},
		{"second", false, true, "3"},
	} {
		p := must.Get(provider.New(provider.Options{
			Name: "vllm", Dialect: registrytest.All()[1], BaseURL: "https://api.example.com/v1", SelfHosted: test.selfHosted,
		}))(t)
		t.Cleanup(p.Close)
		table := must.Get(route.NewTable(route.Options{Providers: []*provider.Provider{p}, Book: book}))(t)
		target := must.Get(table.Targets(nil, "vllm/"+test.asked, ""))(t)[0]
		other, got := target.Served(table, "first", now)
		price := ""
		if got != nil {
			price = cost(got).String()
		}
		if other != test.other || price != test.price {
			t.Errorf("%+v: another model %t, at %q", test, other, price)
		}
	}
}
