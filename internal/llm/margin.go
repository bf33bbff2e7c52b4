package llm

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
)

// anySeller names the mode that says how far what is charged may lie above a price: its Times. No reply tells it.
const anySeller = "seller:any"

// WithMargin is the price of a model that may be charged at up to so many thousandths of it, since another seller, region
// or list decides. A margin that is not larger than the price's own, and one of an unknown price, change nothing.
func (p Price) WithMargin(thousandths int64) Price {
	if !p.Known() || thousandths <= p.Margin() {
		return p
	}
	modes := slices.DeleteFunc(slices.Clone(p.Modes), func(m Mode) bool { return m.Name == anySeller })
	p.Modes = append(modes, Mode{Name: anySeller, Times: thousandths})
	version, _, _ := strings.Cut(p.Version, "~")
	p.Version = fmt.Sprintf("%s~%d", version, thousandths)
	return p
}

// Margin is up to how many thousandths of the price are charged; 1000 for a price of exactly this seller.
func (p *Price) Margin() int64 {
	for i := range p.Modes {
		if p.Modes[i].Name == anySeller {
			return max(thousand, p.Modes[i].Times)
		}
	}
	return thousand
}

// MostMargin is the largest margin: that of a price below which a charge was told that is many times as much, or any where
// the price is 0.
const MostMargin = 100_000

// MayBeCharged reports whether what is free by the price may be charged for: the price is another's, or a charge was told.
func (p *Price) MayBeCharged() bool { return p.Basis != BasisModel || p.Margin() >= MostMargin }

// Dearest is the most that is charged for what comes to that amount by the price.
func (p *Price) Dearest(amount Money) Money {
	margin := p.Margin()
	if margin == thousand || amount <= 0 {
		return amount
	}
	hi, lo := bits.Mul64(uint64(amount), uint64(margin))
	lo, carry := bits.Add64(lo, thousand-1, 0)
	if hi += carry; hi >= thousand {
		return math.MaxInt64
	}
	most, _ := bits.Div64(hi, lo, thousand)
	return Money(min(most, math.MaxInt64))
}

// CostAtMost is the most that is charged for the usage: Cost, with the margin.
func (p *Price) CostAtMost(u *Usage, served string) Money { return p.Dearest(p.Cost(u, served)) }
