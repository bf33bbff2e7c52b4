package llm

import (
	"fmt"
	"math"
	"math/bits"
	"strings"
)

// multiply multiplies the price of tokens by a number of thousandths; 0 changes nothing.
func (r *Rates) multiply(times int64) {
	if times == 0 || times == thousand {
		return
	}
	for c := range NumTokens {
		if pico := r[c].Pico(); pico > 0 {
			hi, lo := bits.Mul64(uint64(pico), uint64(times))
			q := uint64(math.MaxInt64)
			if hi < thousand {
				q, _ = bits.Div64(hi, lo, thousand)
			}
			r[c] = Rate(min(q, math.MaxInt64))
		}
	}
}

// dearestOf returns the usage with all input tokens in the most expensive input class and all output tokens in the
// most expensive output class.
func (r *Rates) dearestOf(most *Usage) Usage {
	u := *most
	clear(u[:NumTokens])
	u[r.dearest(Input, firstOutput)] = most.InputTokens()
	u[r.dearest(firstOutput, Class(NumTokens))] = most.OutputTokens()
	return u
}

func (r *Rates) dearest(from, to Class) Class {
	best := from
	for c := from; c < to; c++ {
		if r[c].Pico() > r[best].Pico() || !r[best].Known() && r[c].Known() {
			best = c
		}
	}
	return best
}

// picoPerNano is the only conversion between rates and Money.
const picoPerNano = 1000

// cost returns the cost of the usage; a class without a rate adds nothing.
func (r *Rates) cost(u *Usage) Money {
	var hi, lo uint64 // 128 bits, so that products of counts and rates do not overflow
	for c, n := range u {
		if n <= 0 || r[c] <= 0 {
			continue
		}
		h, l := bits.Mul64(uint64(n), uint64(r[c]))
		if Class(c) == Milliseconds { // a fraction of a pico-dollar cannot change a sum that is rounded half up
			rest := h % thousand
			h /= thousand
			l, _ = bits.Div64(rest, l, thousand)
		}
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

// missing returns the classes of a usage that have no rate and cost something.
func (r *Rates) missing(u *Usage) (unknown Classes) {
	for c, n := range u {
		if n > 0 && !r[c].Known() && !r.covers(Class(c), u) {
			unknown = unknown.With(Class(c))
		}
	}
	return unknown
}

// covers reports whether a class without a rate costs nothing given the other usage. A request has a fee only if its
// price names one. A price by tokens also covers images, characters and seconds, and a price by these covers tokens.
func (r *Rates) covers(c Class, u *Usage) bool {
	byTokens, byUnits := r.has(u, 0, Class(NumTokens)), r.has(u, Images, Milliseconds+1)
	switch {
	case c == Requests:
		return true
	case c >= Images && c <= Milliseconds:
		return byTokens
	case int(c) < NumTokens:
		return byUnits && !byTokens
	}
	return false
}

// has reports whether any of the classes was used and has a rate.
func (r *Rates) has(u *Usage, from, to Class) bool {
	for c := from; c < to; c++ {
		if u[c] > 0 && r[c].Known() {
			return true
		}
	}
	return false
}

// ParseRate parses a price in US dollars per million tokens, a plain decimal, and returns pico-dollars per token. It
// accepts at most six decimals.
func ParseRate(perMillion string) (int64, error) {
	return parseRate(perMillion, 6)
}

// ParseUnitRate parses a price in US dollars per unit (a request, a search, an image, a character), a plain decimal,
// and returns pico-dollars per unit.
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

// FormatRate formats pico-dollars per token as US dollars per million tokens: the reverse of ParseRate.
func FormatRate(pico int64) string {
	return Money(pico * 1000).String() // a million tokens at one pico-dollar cost a thousand nano-dollars
}

// FormatUnitRate formats pico-dollars per unit as US dollars per unit: the reverse of ParseUnitRate.
func FormatUnitRate(pico int64) string { return trimmed(pico, 12) }

// FormatOne formats the rate of a class as US dollars for one unit.
func FormatOne(c Class, rate Rate) string {
	if c == Milliseconds {
		return trimmed(rate.Pico(), 15)
	}
	return FormatUnitRate(rate.Pico())
}

// trimmed formats n divided by that power of ten, without zeros at the end.
func trimmed(n int64, places int) string {
	digits := fmt.Sprintf("%0*d", places+1, n)
	point := len(digits) - places
	return strings.TrimRight(strings.TrimRight(digits[:point]+"."+digits[point:], "0"), ".")
}

// Decimals returns the known rates under the names and in the units of the configuration: US dollars per million
// tokens, and, for other classes that are not free, per request, search, image, character, and second of audio.
func (r *Rates) Decimals() map[string]string {
	m := make(map[string]string, NumTokens)
	for c, rate := range r {
		pico := rate.Pico()
		switch {
		case !rate.Known():
		case c < NumTokens:
			m[Class(c).String()] = FormatRate(pico)
		case Class(c) == Milliseconds:
			m["second"] = FormatUnitRate(pico)
		default:
			m[Class(c).String()] = FormatUnitRate(pico)
		}
	}
	return m
}
