package llm_test

import (
	"testing"

	"pgregory.net/rapid"

	"weir/internal/llm"
)

func sumOf(lines []llm.PriceLine) (sum llm.Money) {
	for _, l := range lines {
		sum += l.Amount
	}
	return sum
}

// TestLinesSumToCost checks that the lines of any usage, at any tier, add up to its cost.
func TestLinesSumToCost(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		p, u := prices(false).Draw(rt, "price"), usages().Draw(rt, "usage")
		lines, above := p.Lines(&u, "")
		if got, want := sumOf(lines), exact(&p, &u); got != want {
			rt.Errorf("lines %+v: got %d in all, want %d", lines, got, want)
		}
		tier := p.Rates
		for i := range p.Tiers {
			if p.Tiers[i].Above == above {
				tier = p.Tiers[i].Rates
			}
		}
		for _, l := range lines {
			if l.Amount < 0 || l.Count != u[l.Class] || above > 0 && l.Rate != tier[l.Class] {
				rt.Errorf("line %+v of %v above %d: got an amount below 0, another count or another rate", l, u, above)
			}
		}
	})
}

// TestLinesRounded is the negative control: lines that are rounded one by one do not add up.
func TestLinesRounded(t *testing.T) {
	t.Parallel()
	p := llm.Price{Version: "v", Rates: llm.Rates{llm.Input: 150, llm.CacheRead: 150, llm.Output: 600}}
	u := llm.Usage{llm.Input: 3, llm.CacheRead: 3, llm.Output: 1} // 0.45, 0.45 and 0.6 nano-dollars
	var each llm.Money
	for c, n := range u {
		var alone llm.Usage
		alone[c] = n
		each += p.Cost(&alone, "")
	}
	lines, _ := p.Lines(&u, "")
	if got, want := sumOf(lines), p.Cost(&u, ""); got != want || each == want {
		t.Errorf("got %d in all, and %d rounded one by one; want %d and another sum", got, each, want)
	}
}

// TestServedAs checks the names of the modes that priced a request.
func TestServedAs(t *testing.T) {
	t.Parallel()
	p := llm.Price{Version: "v", Modes: []llm.Mode{{Name: "priority"}, {Name: "geo:us", Times: 1100}}}
	modes, unknown := p.ServedAs("Priority,geo:us,default,turbo")
	if len(modes) != 2 || modes[0].Name != "priority" || modes[1].Times != 1100 || len(unknown) != 1 || unknown[0] != "turbo" {
		t.Errorf("got %+v and %q, want priority and geo:us, and turbo without a price", modes, unknown)
	}
	p.Modes = nil // the same in all
	if modes, unknown := p.ServedAs("priority"); modes != nil || unknown != nil {
		t.Errorf("a price without modes: got %+v and %q, want none", modes, unknown)
	}
}
