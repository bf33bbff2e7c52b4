package llm

import (
	"slices"
	"strings"
)

// PriceLine is what the usage of one class costs.
type PriceLine struct {
	Class  Class
	Count  int64 // tokens or units, above 0
	Rate   Rate  // of each; not Known for what nobody knows the price of
	Amount Money
}

// Lines are the arithmetic of Cost: a line for each class that was used, whose
// amounts add up to it exactly, because each is the difference that it makes to
// the rounded sum. Above is what the input had to exceed for these rates, 0
// where no tier holds. An unknown price has no lines.
func (p *Price) Lines(u *Usage, served string) (lines []PriceLine, above int64) {
	if !p.Known() {
		return nil, 0
	}
	rates, above := p.ratesFor(u.InputTokens(), served)
	var part Usage
	var before Money
	for c, n := range u {
		if n <= 0 {
			continue
		}
		part[c] = n
		upTo := rates.cost(&part)
		rate := rates[c]
		if !rate.Known() && rates.covers(Class(c), u) {
			rate = Free
		}
		lines = append(lines, PriceLine{Class(c), n, rate, upTo - before})
		before = upTo
	}
	return lines, above
}

// ServedAs are the modes of the price in which a request was served, and the names of
// those in which nobody knows what tokens cost.
func (p *Price) ServedAs(served string) (modes []Mode, unknown []string) {
	for name := range strings.SplitSeq(served, ",") {
		if name = ModeName(name); name == "" || p.Modes == nil {
			continue
		}
		i := slices.IndexFunc(p.Modes, func(m Mode) bool {
			_, is := m.fits(name)
			return m.Name == name || isUnit(name) && is
		})
		switch {
		case i >= 0:
			modes = append(modes, p.Modes[i])
		case !isUnit(name):
			unknown = append(unknown, name)
		}
	}
	return modes, unknown
}
