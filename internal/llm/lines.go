package llm

import (
	"slices"
	"strings"
)

// PriceLine is the cost of the usage of one class.
type PriceLine struct {
	Class  Class
	Count  int64 // tokens or units, above 0
	Rate   Rate  // per token or unit; not Known if the price is unknown
	Amount Money
}

// Lines returns the arithmetic of Cost: a line for each used class. The amounts add up exactly to the cost, because
// each is the increase of the rounded sum. above is the threshold of the tier that applies, in input tokens; 0 for no
// tier. An unknown price has no lines.
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

// ServedAs returns the modes of the price that apply to an answer, and the names of modes in which the price of
// tokens is unknown.
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
