package ledger

import (
	"testing"

	"weir/internal/llm"
)

// TestDifferenceOfProviderCost compares a provider's own cost with that by the price, if both are known.
func TestDifferenceOfProviderCost(t *testing.T) {
	t.Parallel()
	price := llm.Price{Version: "v", Rates: llm.Rates{llm.Input: 2_000}} // 2 nano-dollars a token
	for _, test := range []struct {
		name       string
		told       *llm.Money
		provenance Provenance
		usage      llm.Usage
		want       llm.Money
		ok         bool
	}{
		{"more", new(llm.Money(250)), Exact, llm.Usage{llm.Input: 100}, 50, true},
		{"less", new(llm.Money(0)), Exact, llm.Usage{llm.Input: 100}, -200, true},
		{"the same", new(llm.Money(200)), Exact, llm.Usage{llm.Input: 100}, 0, true},
		{"nothing told", nil, Exact, llm.Usage{llm.Input: 100}, 0, false},
		{"no cost that anybody charges", new(llm.Money(-1)), Exact, llm.Usage{llm.Input: 100}, 0, false},
		{"without a price", new(llm.Money(250)), Exact, llm.Usage{llm.Input: 100, llm.Searches: 1}, 0, false},
		{"an estimate", new(llm.Money(250)), Estimated, llm.Usage{llm.Input: 100}, 0, false},
	} {
		h := Hold{attempt: Attempt{Price: price}}
		got, _, ok := h.Difference(&Settlement{Provenance: test.provenance, Usage: test.usage, ProviderCost: test.told})
		if got != test.want || ok != test.ok {
			t.Errorf("%s: got %s, %v; want %s, %v", test.name, got, ok, test.want, test.ok)
		}
	}
}
