package llm

import (
	"fmt"
	"math"
	"math/bits"
	"strings"
)

// Rates are prices by class in pico-dollars (10^-12 USD) a token, or a unit
// for the classes that are not tokens. One dollar per million tokens is
// 1,000,000 pico-dollars a token.
type Rates [NumClasses]int64

// Tier is a set of rates that holds for a whole request once its input tokens
// exceed Above.
type Tier struct {
	Above int64 `json:"above"`
	Rates Rates `json:"rates"`
}

// Price is what one model of one provider costs at one moment. It is resolved
// once, when an attempt is opened, and never again.
type Price struct {
	// Version names these exact rates for ever; it stands on every attempt
	// that was priced with them. Empty when the model is unpriced.
	Version string
	// Rates hold where no tier does. Absent classes are already filled with
	// the input or the output rate.
	Rates Rates
	// Tiers are ordered by Above, ascending.
	Tiers []Tier
}

// Known reports whether the model has a price. Unknown is a state of its own:
// such a request costs "unpriced", which is not zero.
func (p *Price) Known() bool { return p != nil && p.Version != "" }

// Cost is what the usage costs, rounded once, half up, to the nano-dollar. It
// is 0 for an unknown price and saturates at the largest Money.
func (p *Price) Cost(u *Usage) Money {
	if !p.Known() {
		return 0
	}
	return p.ratesFor(u.InputTokens()).cost(u)
}

// Bound is an upper bound of what a request can cost that has at most so many
// tokens of input and of output, whichever class and tier they fall in, and of
// every other class no more than is given.
func (p *Price) Bound(most *Usage) Money {
	if !p.Known() {
		return 0
	}
	input, output := most.InputTokens(), most.OutputTokens()
	var bound Money
	for i := -1; i < len(p.Tiers); i++ {
		r := &p.Rates
		if i >= 0 {
			if p.Tiers[i].Above >= input {
				break
			}
			r = &p.Tiers[i].Rates
		}
		u := *most
		clear(u[:NumTokens])
		u[r.dearest(Input, firstOutput)] = input
		u[r.dearest(firstOutput, Class(NumTokens))] = output
		bound = max(bound, r.cost(&u))
	}
	return bound
}

func (p *Price) ratesFor(input int64) *Rates {
	r := &p.Rates
	for i := range p.Tiers {
		if input > p.Tiers[i].Above {
			r = &p.Tiers[i].Rates
		}
	}
	return r
}

func (r *Rates) dearest(from, to Class) Class {
	best := from
	for c := from; c < to; c++ {
		if r[c] > r[best] {
			best = c
		}
	}
	return best
}

// picoPerNano is the one rounding step between rates and Money.
const picoPerNano = 1000

func (r *Rates) cost(u *Usage) Money {
	var hi, lo uint64 // 128 bits, so that no product of a count and a rate overflows
	for c, n := range u {
		if n <= 0 || r[c] <= 0 {
			continue
		}
		h, l := bits.Mul64(uint64(n), uint64(r[c]))
		var carry uint64
		lo, carry = bits.Add64(lo, l, 0)
		hi, carry = bits.Add64(hi, h, carry)
		if carry != 0 {
			return math.MaxInt64
		}
	}
	if hi >= picoPerNano {
		return math.MaxInt64
	}
	lo, carry := bits.Add64(lo, picoPerNano/2, 0)
	hi += carry
	if hi >= picoPerNano {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, picoPerNano)
	return Money(min(q, math.MaxInt64))
}

// ParseRate reads a price as a plain decimal of US dollars per million tokens
// and returns pico-dollars a token. At most six decimals are exact.
func ParseRate(perMillion string) (int64, error) {
	return parseRate(perMillion, 6)
}

// ParseUnitRate reads a price as a plain decimal of US dollars per unit (a
// request, a search, an image, a character) and returns pico-dollars a unit.
func ParseUnitRate(perUnit string) (int64, error) {
	return parseRate(perUnit, 12)
}

func parseRate(s string, places int) (int64, error) {
	v, err := parseDecimal(s, places)
	if err != nil {
		return 0, fmt.Errorf("price %q: %w", s, err)
	}
	if v < 0 {
		return 0, fmt.Errorf("price %q: negative", s)
	}
	return v, nil
}

// FormatRate writes pico-dollars a token as a plain decimal of US dollars per
// million tokens: the reverse of ParseRate.
func FormatRate(pico int64) string {
	return Money(pico * 1000).String() // a million tokens at one pico-dollar cost a thousand nano-dollars
}

// FormatUnitRate writes pico-dollars a unit as a plain decimal of US dollars
// per unit: the reverse of ParseUnitRate.
func FormatUnitRate(pico int64) string {
	const dollar = 1_000_000_000_000
	s := fmt.Sprintf("%d.%012d", pico/dollar, pico%dollar)
	return strings.TrimRight(strings.TrimRight(s, "0"), ".")
}

// Decimals are the rates as the configuration writes them, by its words: US
// dollars per million tokens, and of the classes that are not tokens those that
// cost something, per request, search, image, character, and second of audio.
func (r *Rates) Decimals() map[string]string {
	m := make(map[string]string, NumTokens)
	for c, pico := range r {
		switch {
		case c < NumTokens:
			m[Class(c).String()] = FormatRate(pico)
		case pico == 0:
		case Class(c) == Milliseconds:
			m["second"] = FormatUnitRate(pico * 1000)
		default:
			m[Class(c).String()] = FormatUnitRate(pico)
		}
	}
	return m
}
