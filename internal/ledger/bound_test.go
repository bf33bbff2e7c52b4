package ledger

import (
	"testing"

	"weir/internal/llm"
)

// TestUpperBound checks that an attempt has an upper bound if, and only if, it may have cost more than its cost.
func TestUpperBound(t *testing.T) {
	t.Parallel()
	price := llm.Price{Version: "v1", Rates: llm.Rates{llm.Input: llm.RateOf(1_000_000)}} // 1000 nano-dollars a token
	used := llm.Usage{llm.Input: 5}
	for name, test := range map[string]struct {
		settled Settlement
		hold    llm.Money
		want    llm.Money
	}{
		"exact":                       {Settlement{Provenance: Exact, Usage: used, AtMost: 9000}, 9000, 0},
		"estimated, above its cost":   {Settlement{Provenance: Estimated, Usage: used, AtMost: 9000}, 9000, 9000},
		"estimated, its cost":         {Settlement{Provenance: Estimated, Usage: used, AtMost: 5000}, 9000, 0},
		"estimated, below its cost":   {Settlement{Provenance: Estimated, Usage: used, AtMost: 1}, 9000, 0},
		"estimated, beyond all costs": {Settlement{Provenance: Estimated, Usage: used, AtMost: 2 * llm.MaxCost}, 9000, llm.MaxCost},
		"unpriced, above its cost":    {Settlement{Provenance: Exact, Usage: llm.Usage{llm.Input: 5, llm.Maps: 1}}, 9000, 9000},
		"unpriced, its cost":          {Settlement{Provenance: Exact, Usage: llm.Usage{llm.Input: 5, llm.Maps: 1}}, 5000, 0},
	} {
		h := &Hold{attempt: Attempt{Price: price, Hold: test.hold}}
		h.price(&test.settled)
		if test.settled.Cost != 5000 || test.settled.AtMost != test.want {
			t.Errorf("%s: got %d, at most %d; want 5000, at most %d", name, test.settled.Cost, test.settled.AtMost, test.want)
		}
	}
}
