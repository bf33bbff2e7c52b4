package llm

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
)

// anySeller names the mode that holds the margin: its Times is the ratio of the highest charge to the price. No reply
// names it.
const anySeller = "seller:any"

// WithMargin returns the price with a margin in thousandths, for a model that may be charged at up to that many
// thousandths of it because another seller, region or list applies. A smaller margin than the current one changes
// nothing; neither does one for an unknown price.
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

// Margin returns the ratio of the highest charge to the price, in thousandths; 1000 for a price of exactly this
// seller.
func (p *Price) Margin() int64 {
	for i := range p.Modes {
		if p.Modes[i].Name == anySeller {
			return max(thousand, p.Modes[i].Times)
		}
	}
	return thousand
}

// MostMargin is the largest margin: that of a price for which a provider reported a charge that many times as high,
// or any charge if the price is 0.
const MostMargin = 100_000

// MayBeCharged reports whether the provider may charge for classes that are free by the price, because it is another
// seller's price or a charge was reported.
func (p *Price) MayBeCharged() bool { return p.Basis != BasisModel || p.Margin() >= MostMargin }

// Dearest returns the highest charge for an amount by the price.
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

// CostAtMost returns the highest charge for the usage: Cost, with the margin.
func (p *Price) CostAtMost(u *Usage, served string) Money { return p.Dearest(p.Cost(u, served)) }
