// Package charge says what an account is charged for an attempt that has a price list: what the attempt costs with a
// markup, or what it used at prices of the account's own. All of it is integer arithmetic, rounded up once.
package charge

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"weir/internal/llm"
)

// Markup is what is charged beyond a cost, in basis points of it: 1500 for 15 %. It is below 0 for a discount.
type Markup int32

// The bounds of a markup, and what is the whole of a cost.
const (
	MinMarkup Markup = -whole
	MaxMarkup Markup = 100 * whole
	whole            = 10_000
)

var errMarkup = errors.New(`not percent from -100 to 10000 with at most two decimals, such as "15" or "7.25"`)

// ParseMarkup reads percent as a plain decimal: "15", "7.25", "-5".
func ParseMarkup(percent string) (Markup, error) {
	rest, negative := strings.CutPrefix(percent, "-")
	units, decimals, dotted := strings.Cut(rest, ".")
	if units == "" || len(units) > 5 || dotted && decimals == "" || len(decimals) > 2 {
		return 0, fmt.Errorf("markup %q: %w", percent, errMarkup)
	}
	n, err := strconv.ParseUint(units+(decimals + "00")[:2], 10, 32)
	if err != nil || n > uint64(MaxMarkup) || negative && n > whole {
		return 0, fmt.Errorf("markup %q: %w", percent, errMarkup)
	}
	m := Markup(n)
	if negative {
		m = -m
	}
	return m, nil
}

// String is the form that ParseMarkup reads, without trailing zeros.
func (m Markup) String() string {
	const percent = whole / 100
	sign, n := "", int64(m)
	if n < 0 {
		sign, n = "-", -n
	}
	text := fmt.Sprintf("%s%d.%02d", sign, n/percent, n%percent)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// Of is the charge of a cost from 0, rounded up to the nano-dollar, and llm.MaxCost at most. It never falls as the cost
// rises, so that the charge of a bound is a bound.
func (m Markup) Of(cost llm.Money) llm.Money { return Part(cost, whole+llm.Money(m), whole) }

// Part is amount × of / all, rounded up to the nano-dollar, and llm.MaxCost at most. None is below 0, and all is above it.
func Part(amount, of, all llm.Money) llm.Money {
	high, low := bits.Mul64(uint64(max(amount, 0)), uint64(max(of, 0)))
	low, carry := bits.Add64(low, uint64(all-1), 0)
	high += carry
	if high >= uint64(all) { // the quotient does not fit
		return llm.MaxCost
	}
	n, _ := bits.Div64(high, low, uint64(all))
	return llm.Money(min(n, uint64(llm.MaxCost), math.MaxInt64))
}

// Terms are what an account is charged for the attempts at a model. Nil says that it is charged what they cost. Many
// attempts share them: they are read, not changed.
type Terms struct {
	Markup Markup
	// Price is the account's own, which holds whatever service tier served; not Known where the markup alone holds. What
	// it has no rate for is charged with the markup.
	Price llm.Price
}

// Own reports whether the account has a price of its own.
func (t *Terms) Own() bool { return t != nil && t.Price.Known() }

// Charge is the charge of an attempt that used so much and cost so much, at a price of its provider's, in those modes.
func (t *Terms) Charge(cost llm.Money, price *llm.Price, used *llm.Usage, served string) llm.Money {
	switch {
	case t == nil:
		return cost
	case !t.Own():
		return t.Markup.Of(cost)
	}
	rest := t.rest(used)
	return sum(t.Price.Cost(used, ""), t.Markup.Of(price.Cost(&rest, served)))
}

// Bound is the charge at most of an attempt that uses so much at most, and so costs so much at most, as llm.Price.BoundAsked
// has it.
func (t *Terms) Bound(cost llm.Money, price *llm.Price, most *llm.Usage, asked string) llm.Money {
	switch {
	case t == nil:
		return cost
	case !t.Own():
		return t.Markup.Of(cost)
	}
	rest := t.rest(most)
	return sum(t.Price.Bound(most), t.Markup.Of(price.BoundAsked(&rest, asked)))
}

// Unpriced are the classes that the charge is without, of an attempt that used so much in those modes and whose cost is
// without some: those for which neither the account's own price nor its provider's has a rate.
func (t *Terms) Unpriced(ofCost llm.Classes, price *llm.Price, used *llm.Usage, served string) llm.Classes {
	switch {
	case t == nil:
		return ofCost
	case t.Markup == MinMarkup: // nothing is charged of a cost, whatever it is
		return 0
	case !t.Own():
		return ofCost
	}
	rest := t.rest(used) // of which the cost may be the provider's own figure, and the charge is not
	ofCost |= price.Unpriced(&rest, served)
	all := *used
	for class, n := range all {
		if n == 0 && ofCost.Has(llm.Class(class)) {
			all[class] = 1 // what may have been used
		}
	}
	return ofCost & t.Price.Unpriced(&all, "")
}

// Unbounded are the classes that Bound is without, and those of others, such as of tokens of sound, that have no rate.
func (t *Terms) Unbounded(price *llm.Price, most *llm.Usage, asked string, others llm.Classes) llm.Classes {
	if !t.Own() {
		return price.UnboundedAsked(most, asked) | price.Without(others)
	}
	rest := t.rest(most)
	return (t.Price.UnboundedAsked(most, "") | t.Price.Without(others)) &
		(price.UnboundedAsked(&rest, asked) | price.Without(others))
}

// Covers reports whether the account has a price of its own that alone decides what it is charged for what was used,
// whatever the provider charges.
func (t *Terms) Covers(price *llm.Price, used *llm.Usage, served string) bool {
	if !t.Own() || t.Price.Unpriced(used, "") != 0 {
		return false
	}
	rest := t.rest(used)
	return price.Cost(&rest, served) == 0
}

// Rates is a price as the account pays it: its own, with the markup on what that has no rate for, or all with the markup.
// It is for people to read; rates are rounded up each.
func (t *Terms) Rates(p llm.Price) llm.Price {
	if t == nil || !p.Known() && !t.Own() {
		return p
	}
	if t.Own() {
		own := t.Price
		for class, rate := range p.Rates {
			if !own.Rates[class].Known() && rate.Known() {
				own.Rates[class] = t.Markup.rate(rate)
			}
		}
		return own
	}
	p.Rates, p.Tiers, p.Modes = t.Markup.rates(p.Rates), t.Markup.tiers(p.Tiers), slices.Clone(p.Modes)
	for i := range p.Modes {
		m := &p.Modes[i]
		m.Rates, m.Tiers = t.Markup.rates(m.Rates), t.Markup.tiers(m.Tiers)
	}
	return p
}

func (m Markup) rate(r llm.Rate) llm.Rate {
	if !r.Known() {
		return r
	}
	return llm.RateOf(int64(m.Of(llm.Money(r.Pico()))))
}

func (m Markup) rates(r llm.Rates) llm.Rates {
	for class, rate := range r {
		r[class] = m.rate(rate)
	}
	return r
}

func (m Markup) tiers(tiers []llm.Tier) []llm.Tier {
	tiers = slices.Clone(tiers)
	for i := range tiers {
		tiers[i].Rates = m.rates(tiers[i].Rates)
	}
	return tiers
}

// rest is what the account's own price has no rate for.
func (t *Terms) rest(used *llm.Usage) llm.Usage {
	u := *used
	for class, rate := range t.Price.Rates {
		if rate.Known() {
			u[class] = 0
		}
	}
	return u
}

// sum adds two amounts from 0; it is llm.MaxCost at most.
func sum(a, b llm.Money) llm.Money { return min(min(a, llm.MaxCost)+min(b, llm.MaxCost), llm.MaxCost) }
