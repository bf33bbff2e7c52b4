package llm_test

import (
	"math"
	"testing"
	"testing/quick"

	"weir/internal/llm"
)

// TestMarginCountsInBoundsOnly checks that the margin of a price counts only in its bounds, under a version of its own,
// and that the larger of two counts.
func TestMarginCountsInBoundsOnly(t *testing.T) {
	t.Parallel()
	var list llm.Price
	list.Version = "list#1"
	list.Rates[llm.Input], list.Rates[llm.Output], list.Rates[llm.Searches] = 3_000_000, 11_000_000, 10_000_000_000
	list.Modes = []llm.Mode{{Name: "priority", Times: 2000}}
	used := llm.Usage{llm.Input: 1000, llm.Output: 100, llm.Searches: 1}
	const cost, most = 14_100_000, 18_200_000 // most: in the dearest mode
	for _, tt := range []struct {
		margins []int64
		version string
		atMost  llm.Money
		bound   llm.Money
	}{
		{nil, "list#1", cost, most},
		{[]int64{0}, "list#1", cost, most},
		{[]int64{1000}, "list#1", cost, most},
		{[]int64{1500}, "list#1~1500", cost * 3 / 2, most * 3 / 2},
		{[]int64{1500, 1250}, "list#1~1500", cost * 3 / 2, most * 3 / 2},
		{[]int64{1500, 3000}, "list#1~3000", cost * 3, most * 3},
	} {
		p := list
		for _, m := range tt.margins {
			p = p.WithMargin(m)
		}
		for _, tier := range []string{"", "seller:any"} {
			if got := p.Cost(&used, tier); got != cost {
				t.Errorf("margins %v, served %q: it costs %s, want %s", tt.margins, tier, got, llm.Money(cost))
			}
		}
		if got, bound := p.CostAtMost(&used, ""), p.Bound(&used); p.Version != tt.version || got != tt.atMost || bound != tt.bound {
			t.Errorf("margins %v: got %s at most %s, a bound of %s; want %s, %s, %s", tt.margins, p.Version, got, bound, tt.version,
				tt.atMost, tt.bound)
		}
		if len(list.Modes) != 1 {
			t.Fatalf("margins %v: the price that had none has %v", tt.margins, list.Modes)
		}
	}
	var unknown llm.Price
	if p := unknown.WithMargin(1500); p.Known() || len(p.Modes) > 0 {
		t.Errorf("an unknown price became %+v", p)
	}
}

// TestMarginIsABound checks that no amount is above its value with the margin, and none overflows.
func TestMarginIsABound(t *testing.T) {
	t.Parallel()
	holds := func(amount int64, margin uint16) bool {
		p := llm.Price{Version: "v", Modes: []llm.Mode{}}.WithMargin(1000 + int64(margin))
		got := p.Dearest(llm.Money(amount))
		exact := float64(amount) * float64(1000+int64(margin)) / 1000
		if amount <= 0 {
			return got == llm.Money(amount)
		}
		return float64(got) >= exact*(1-1e-12) || got == math.MaxInt64 && exact > math.MaxInt64/2
	}
	if err := quick.Check(holds, &quick.Config{MaxCount: 10_000}); err != nil {
		t.Error(err)
	}
}
