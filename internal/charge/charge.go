// Package charge computes an account's charge for an attempt by its price list: the attempt's cost with a markup, or
// its usage at prices of the account's own. It uses integer arithmetic and rounds up once.
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

// Markup is the surcharge on a cost, in basis points of the cost: 1500 for 15 %. It is negative for a discount.
type Markup int32

// These constants bound a markup. Whole is the cost itself in basis points.
const (
	MinMarkup Markup = -whole
	MaxMarkup Markup = 100 * whole
	whole            = 10_000
)

var errMarkup = errors.New(`it must be -100 to 10000 percent with at most two decimals, such as "15" or "7.25"`)

// ParseMarkup parses percent as a plain decimal: "15", "7.25", "-5", also with a percent sign: "15%", "15 %".
func ParseMarkup(percent string) (Markup, error) {
	number := strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(percent), "%"))
	rest, negative := strings.CutPrefix(number, "-")
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

// String returns the form that ParseMarkup accepts, without trailing zeros.
func (m Markup) String() string {
	const percent = whole / 100
	sign, n := "", int64(m)
	if n < 0 {
		sign, n = "-", -n
	}
	text := fmt.Sprintf("%s%d.%02d", sign, n/percent, n%percent)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// Of returns the charge for a non-negative cost, rounded up to the nano-dollar, at most llm.MaxCost. It is monotonic,
// so the charge for a bound is a bound of the charge.
func (m Markup) Of(cost llm.Money) llm.Money { return Part(cost, whole+llm.Money(m), whole) }

// Part returns amount × of / all, rounded up to the nano-dollar, at most llm.MaxCost. Amount and of must not be
// negative, and all must be positive.
func Part(amount, of, all llm.Money) llm.Money {
	high, low := bits.Mul64(uint64(max(amount, 0)), uint64(max(of, 0)))
	low, carry := bits.Add64(low, uint64(all-1), 0)
	high += carry
	if high >= uint64(all) { // the quotient overflows
		return llm.MaxCost
	}
	n, _ := bits.Div64(high, low, uint64(all))
	return llm.Money(min(n, uint64(llm.MaxCost), math.MaxInt64))
}

// Terms determine an account's charges for the attempts at a model. A nil Terms charges the cost. Attempts share Terms,
// so they must not be changed.
type Terms struct {
	Markup Markup
	// Price is the account's own price for all service tiers; not Known if only the markup applies. Classes without a
	// rate in it are charged with the markup.
	Price llm.Price
}

// Own reports whether the account has a price of its own.
func (t *Terms) Own() bool { return t != nil && t.Price.Known() }

// Charge returns the charge for an attempt with that cost and usage, at its provider's price in those modes.
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

// Bound returns the upper bound of the charge for an attempt with these upper bounds of cost and usage, as
// llm.Price.BoundAsked computes it.
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

// Unpriced returns the classes that the charge excludes, for an attempt with that usage in those modes and these
// classes excluded from its cost. These are the classes without a rate in both the account's own price and its
// provider's.
func (t *Terms) Unpriced(ofCost llm.Classes, price *llm.Price, used *llm.Usage, served string) llm.Classes {
	switch {
	case t == nil:
		return ofCost
	case t.Markup == MinMarkup: // the charge is 0 for any cost
		return 0
	case !t.Own():
		return ofCost
	}
	rest := t.rest(used) // its cost may be the provider's own figure, but its charge is not
	ofCost |= price.Unpriced(&rest, served)
	all := *used
	for class, n := range all {
		if n == 0 && ofCost.Has(llm.Class(class)) {
			all[class] = 1 // may have been used
		}
	}
	return ofCost & t.Price.Unpriced(&all, "")
}

// Unbounded returns the classes that Bound excludes, and those of the other classes, such as audio tokens, that have no
// rate.
func (t *Terms) Unbounded(price *llm.Price, most *llm.Usage, asked string, others llm.Classes) llm.Classes {
	if !t.Own() {
		return price.UnboundedAsked(most, asked) | price.Without(others)
	}
	rest := t.rest(most)
	return (t.Price.UnboundedAsked(most, "") | t.Price.Without(others)) &
		(price.UnboundedAsked(&rest, asked) | price.Without(others))
}

// Covers reports whether the account's own price alone determines the charge for the usage, independent of the
// provider's charge.
func (t *Terms) Covers(price *llm.Price, used *llm.Usage, served string) bool {
	if !t.Own() || t.Price.Unpriced(used, "") != 0 {
		return false
	}
	rest := t.rest(used)
	return price.Cost(&rest, served) == 0
}

// Rates returns the price that the account pays: its own, with the markup on classes without a rate in it, or the
// provider's with the markup. It is for display: each rate is rounded up.
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

// rest returns the usage without a rate in the account's own price.
func (t *Terms) rest(used *llm.Usage) llm.Usage {
	u := *used
	for class, rate := range t.Price.Rates {
		if rate.Known() {
			u[class] = 0
		}
	}
	return u
}

// sum adds two non-negative amounts, at most llm.MaxCost.
func sum(a, b llm.Money) llm.Money { return min(min(a, llm.MaxCost)+min(b, llm.MaxCost), llm.MaxCost) }
